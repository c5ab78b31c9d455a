package contract

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	v2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/scale"
	"k8s.io/metrics/pkg/apis/external_metrics"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/fallback"
)

// cluster is the part of a cluster that KEDA's fallback reads: a Deployment with that many
// replicas, all of them ready.
type cluster struct {
	runtimeclient.Client
	replicas int32
}

func (c *cluster) Get(_ context.Context, _ runtimeclient.ObjectKey, object runtimeclient.Object,
	_ ...runtimeclient.GetOption) error {
	object.(*appsv1.Deployment).Spec.Replicas = &c.replicas
	return nil
}

func (c *cluster) List(_ context.Context, list runtimeclient.ObjectList, _ ...runtimeclient.ListOption) error {
	ready := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	for range c.replicas {
		list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, corev1.Pod{Status: ready})
	}
	return nil
}

func (c *cluster) Scales(string) scale.ScaleInterface { return scales{} }

// scales has a selector that matches all pods.
type scales struct{ scale.ScaleInterface }

func (scales) Get(context.Context, schema.GroupResource, string, metav1.GetOptions) (
	*autoscalingv1.Scale, error) {
	return &autoscalingv1.Scale{}, nil
}

func (c *cluster) Status() runtimeclient.SubResourceWriter { return statusWriter{} }

type statusWriter struct {
	runtimeclient.SubResourceWriter
}

func (statusWriter) Patch(context.Context, runtimeclient.Object, runtimeclient.Patch,
	...runtimeclient.SubResourcePatchOption) error {
	return nil
}

// falling is a ScaledObject with a fallback and one trigger.
type falling struct {
	*client
	handler fallback.ScaledObjectHandler
	spec    v2.MetricSpec
}

func withFallback(c *client, replicas int32, how kedav1alpha1.Fallback) *falling {
	object := &kedav1alpha1.ScaledObject{
		ObjectMeta: metav1.ObjectMeta{Name: c.config.ScalableObjectName, Namespace: "prod"},
		Spec: kedav1alpha1.ScaledObjectSpec{
			ScaleTargetRef: &kedav1alpha1.ScaleTarget{Name: "llm"},
			Fallback:       &how,
		},
		Status: kedav1alpha1.ScaledObjectStatus{
			ScaleTargetGVKR: &kedav1alpha1.GroupVersionKindResource{
				Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments"},
		},
	}
	kubernetes := &cluster{replicas: replicas}
	return &falling{client: c, spec: c.specs()[0],
		handler: fallback.ScaledObjectHandler{Ctx: context.Background(), KubeClient: kubernetes,
			ScaleClient: kubernetes, UpdateLock: &sync.RWMutex{}, ScaledObject: object}}
}

// poll returns what the HPA gets: the scaler's value, the fallback's, or an error.
func (f *falling) poll() (value float64, fellBack bool, err error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	name := f.metricName()
	values, _, asked := f.GetMetricsAndActivity(ctx, name)
	var got []external_metrics.ExternalMetricValue
	got, fellBack, err = fallback.GetMetricsWithFallback(f.handler, values, asked, name, f.spec)
	if err != nil {
		return 0, fellBack, err
	}
	return got[0].Value.AsApproximateFloat64(), fellBack, nil
}

// Fallbacks work for a scaler that answers. If a scaler is unreachable, KEDA gets no spec from it
// and has no fallback.
func TestFallbackAppliesWithoutReadings(t *testing.T) {
	t.Parallel()
	const byAverage, byValue = v2.AverageValueMetricType, v2.ValueMetricType
	for _, test := range []struct {
		behavior   string
		targetType v2.MetricTargetType
		replicas   int32 // now
		want       int   // with a fallback of 3
	}{
		{kedav1alpha1.FallbackBehaviorStatic, byAverage, 1, 3},
		{kedav1alpha1.FallbackBehaviorStatic, byAverage, 5, 3}, // shrinks a busy workload
		{kedav1alpha1.FallbackBehaviorStatic, byValue, 1, 3},
		{kedav1alpha1.FallbackBehaviorCurrentReplicas, byAverage, 5, 5},
		{kedav1alpha1.FallbackBehaviorCurrentReplicasIfHigher, byAverage, 5, 5},
		{kedav1alpha1.FallbackBehaviorCurrentReplicasIfHigher, byAverage, 0, 3}, // scales from 0
		{kedav1alpha1.FallbackBehaviorCurrentReplicasIfHigher, byValue, 5, 5},
	} {
		t.Run(fmt.Sprintf("%s by %s from %d", test.behavior, test.targetType, test.replicas), func(t *testing.T) {
			t.Parallel()
			gpus := newGpuFile(t, busyAt(90))
			s := startScaler(t, gpus, "--stale-after=300ms")
			config := trigger(s, map[string]string{"targetType": string(test.targetType)})
			config.MetricType = test.targetType
			c := external(t, config)
			c.comesTo(answer{90, true})
			f := withFallback(c, test.replicas, kedav1alpha1.Fallback{
				FailureThreshold: 2, Replicas: 3, Behavior: test.behavior})
			if value, fellBack, err := f.poll(); value != 90 || fellBack || err != nil {
				t.Fatalf("%v %v %v, want the scaler's own 90", value, fellBack, err)
			}

			if err := os.Remove(gpus.path); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the last reading is too old", func() bool {
				_, err := c.ask()
				return err != nil
			})
			for failure := range 2 {
				if value, _, err := f.poll(); err == nil {
					t.Errorf("failure %d gave %v; the HPA is to hold", failure+1, value)
				}
			}
			value, fellBack, err := f.poll()
			if err != nil || !fellBack {
				t.Fatalf("%v %v: no fallback after the threshold", fellBack, err)
			}
			if got := f.desired(value, int(test.replicas)); got != test.want {
				t.Errorf("falls back to %v, which is %d replicas, want %d", value, got, test.want)
			}

			gpus.show(busyAt(90))
			eventually(t, "the scaler's value counts again", func() bool {
				value, fellBack, err := f.poll()
				return value == 90 && !fellBack && err == nil
			})
		})
	}
}

func (f *falling) desired(value float64, replicas int) int {
	target := f.spec.External.Target
	if target.Type == v2.ValueMetricType {
		return desiredByValue(value, target.Value.AsApproximateFloat64(), replicas)
	}
	return desiredByAverageValue(value, target.AverageValue.AsApproximateFloat64(), replicas)
}

// With type Value KEDA divides a fallback by the ready replicas: without any, it has none.
func TestNoFallbackByValueScalesFromZero(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)), "--gpu-source=none")
	config := trigger(s, map[string]string{"targetType": "Value"})
	config.MetricType = v2.ValueMetricType
	f := withFallback(external(t, config), 0, kedav1alpha1.Fallback{FailureThreshold: 0, Replicas: 3,
		Behavior: kedav1alpha1.FallbackBehaviorStatic})
	if value, fellBack, err := f.poll(); err == nil || fellBack {
		t.Errorf("%v %v, want an error", value, fellBack)
	}
}

// An invalid trigger falls back too, though the scaler is up: the spec is answered.
func TestFallbackAppliesToBadMetadata(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	c := external(t, trigger(s, map[string]string{"targetValeu": "50"}))
	f := withFallback(c, 2, kedav1alpha1.Fallback{FailureThreshold: 0, Replicas: 1,
		Behavior: kedav1alpha1.FallbackBehaviorCurrentReplicasIfHigher})
	value, fellBack, err := f.poll()
	if err != nil || !fellBack || f.desired(value, 2) != 2 {
		t.Errorf("%v %v %v, want 2 replicas' worth", value, fellBack, err)
	}
}
