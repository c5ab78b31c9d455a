package contract

import (
	"context"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/metrics/pkg/apis/external_metrics"
	runtimeclient "sigs.k8s.io/controller-runtime/pkg/client"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/fallback"
)

// cluster is what KEDA's fallback asks of one: a Deployment with so many replicas.
type cluster struct {
	runtimeclient.Client
	replicas int32
}

func (c *cluster) Get(_ context.Context, _ runtimeclient.ObjectKey, object runtimeclient.Object,
	_ ...runtimeclient.GetOption) error {
	object.(*appsv1.Deployment).Spec.Replicas = &c.replicas
	return nil
}

func (c *cluster) Status() runtimeclient.SubResourceWriter { return statusWriter{} }

type statusWriter struct {
	runtimeclient.SubResourceWriter
}

func (statusWriter) Patch(context.Context, runtimeclient.Object, runtimeclient.Patch,
	...runtimeclient.SubResourcePatchOption) error {
	return nil
}

// falling is a ScaledObject with a fallback, and its one trigger.
type falling struct {
	*client
	handler fallback.ScaledObjectHandler
	cluster *cluster
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
	return &falling{client: c, cluster: kubernetes, spec: c.specs()[0],
		handler: fallback.ScaledObjectHandler{Ctx: context.Background(), KubeClient: kubernetes,
			UpdateLock: &sync.RWMutex{}, ScaledObject: object}}
}

// poll is what the HPA gets: the scaler's value, the fallback's, or an error.
func (f *falling) poll() (value float64, fellBack bool, err error) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longestAsk)
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

func TestFallbackAppliesWhenNothingIsKnown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		behavior string
		replicas int32 // now
		want     int   // of a fallback that says 3
	}{
		{kedav1alpha1.FallbackBehaviorStatic, 1, 3},
		{kedav1alpha1.FallbackBehaviorStatic, 5, 3}, // shrinks a busy one
		{kedav1alpha1.FallbackBehaviorCurrentReplicas, 5, 5},
		{kedav1alpha1.FallbackBehaviorCurrentReplicasIfHigher, 5, 5},
		{kedav1alpha1.FallbackBehaviorCurrentReplicasIfHigher, 0, 3}, // wakes a sleeper
	} {
		t.Run(test.behavior, func(t *testing.T) {
			t.Parallel()
			gpus := newGpuFile(t, busyAt(90))
			s := startScaler(t, gpus, "--stale-after=300ms")
			c := external(t, trigger(s, nil))
			c.comesTo(answer{90, true})
			f := withFallback(c, test.replicas, kedav1alpha1.Fallback{
				FailureThreshold: 2, Replicas: 3, Behavior: test.behavior})
			if value, fellBack, err := f.poll(); value != 90 || fellBack || err != nil {
				t.Fatalf("%v %v %v, want the scaler's own 90", value, fellBack, err)
			}

			s.kill()
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

			s.start()
			eventually(t, "the scaler's value counts again", func() bool {
				value, fellBack, err := f.poll()
				return value == 90 && !fellBack && err == nil
			})
		})
	}
}

func (f *falling) desired(value float64, replicas int) int {
	return desiredByAverageValue(value, f.spec.External.Target.AverageValue.AsApproximateFloat64(), replicas)
}

// A trigger that is wrong falls back too, though no scaler is down: the spec answers.
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
