package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// workload is a Deployment "llm" in a namespace of its own, with GPUs and a scaler that sees these
// alone: without attribution, every GPU in use that a scaler sees is taken for a replica.
type workload struct {
	t         *testing.T
	namespace string
	fleet     *fleet
	scaler    *scaler
	line      *timeline
}

// start says how a workload begins; zero values are what most tests want.
type start struct {
	gpus     int     // 8 if 0
	signals  int     // GPUs besides, with the first indices; see workload.signals
	shows    replica // engine if nil
	replicas int
	// How long a pod takes from its node to being ready: loading a model.
	warmup time.Duration
	flags  []string // of the scaler
}

func newWorkload(t *testing.T, name string, how start) *workload {
	t.Helper()
	if how.gpus == 0 {
		how.gpus = 8
	}
	if how.shows == nil {
		how.shows = engine
	}
	w := &workload{t: t, namespace: name}
	makeNamespace(t, name)
	gpuFile := filepath.Join(t.TempDir(), "gpus.json")
	w.fleet = newFleet(t, gpuFile, how.gpus, how.signals, how.shows)
	w.scaler = startScaler(t, name, gpuFile, how.flags...)
	giveName(t, "keda-gpu-scaler."+name, w.scaler)
	w.line = newTimeline(t, name)
	w.watch()
	create(t, name, deployment(how.replicas, how.warmup))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("ScaledObject llm of %s\n%s", name, describe(t, name, "llm"))
		}
	})
	return w
}

// watch has the fleet follow the pods, and the timeline the Deployment, until the test ends.
func (w *workload) watch() {
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(w.namespace))
	factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { w.fleet.podChanged(now.(*corev1.Pod)) },
		UpdateFunc: func(_, now any) { w.fleet.podChanged(now.(*corev1.Pod)) },
		DeleteFunc: func(last any) {
			if pod, ok := last.(*corev1.Pod); ok {
				w.fleet.podGone(pod)
			}
		},
	})
	note := func(now any) {
		if object := now.(*appsv1.Deployment); object.Name == "llm" {
			w.line.add(int(*object.Spec.Replicas), int(object.Status.ReadyReplicas))
		}
	}
	factory.Apps().V1().Deployments().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, now any) { note(now) },
	})
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	w.t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
}

func deployment(replicas int, warmup time.Duration) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  replicas: %d
  selector: {matchLabels: {app: llm}}
  template:
    metadata:
      labels: {app: llm}
      annotations: {pod-ready.stage.kwok.x-k8s.io/delay: %v}
    spec:
      containers: [{name: llm, image: llm, resources: {limits: {nvidia.com/gpu: 1}}}]
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
`, replicas, warmup)
}

// load marks it in the timeline; the place there is returned.
func (w *workload) load(percentOfAGpu float64) int {
	mark := w.line.mark("load %g", percentOfAGpu)
	w.fleet.setLoad(percentOfAGpu)
	return mark
}

// stir has the GPUs change all the time, where their replicas do.
func (w *workload) stir() {
	ticker := time.NewTicker(100 * time.Millisecond)
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-ticker.C:
				w.fleet.stir()
			case <-stop:
				return
			}
		}
	}()
	w.t.Cleanup(func() {
		ticker.Stop()
		close(stop)
	})
}

// scaledObject is the spec of one for the workload; zero values are KEDA's or the fastest.
type scaledObject struct {
	min, max int
	polling  int // seconds, 1 if 0
	cooldown int // seconds, 3 if 0
	triggers []any
	behavior any // of the HPA; none: without any delay
	spec     map[string]any
	advanced map[string]any
}

var atOnce = map[string]any{"scaleUp": without, "scaleDown": without}

var without = map[string]any{
	"stabilizationWindowSeconds": 0,
	"policies":                   []any{map[string]any{"type": "Pods", "value": 100, "periodSeconds": 1}},
}

// scale makes it and waits until KEDA acts on it.
func (w *workload) scale(how scaledObject) {
	w.t.Helper()
	w.make(how)
	w.waitUntilReady()
	w.line.mark("ScaledObject is ready")
}

func (w *workload) make(how scaledObject) {
	w.t.Helper()
	advanced := map[string]any{"horizontalPodAutoscalerConfig": map[string]any{
		"behavior": orElse[any](how.behavior, atOnce)}}
	maps.Copy(advanced, how.advanced)
	spec := map[string]any{
		"scaleTargetRef":  map[string]any{"name": "llm"},
		"minReplicaCount": how.min,
		"maxReplicaCount": how.max,
		"pollingInterval": orElse(how.polling, 1),
		// Long enough for the HPA to come down to 1 before KEDA goes to zero. An HPA that is about to
		// write then, does so even though KEDA wrote in between (since Kubernetes 1.36 it tries again
		// after a conflict): 3, 0, 1, 0.
		"cooldownPeriod": orElse(how.cooldown, 8),
		"triggers":       how.triggers,
		"advanced":       advanced,
	}
	maps.Copy(spec, how.spec)
	text := must(json.Marshal(map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"metadata": map[string]any{"name": "llm"}, "spec": spec}))
	create(w.t, w.namespace, string(text))
}

// waitUntilReady waits until KEDA has built the ScaledObject's triggers.
func (w *workload) waitUntilReady() {
	w.t.Helper()
	eventually(w.t, patience, "the ScaledObject is ready", func() bool { return w.is("Ready") })
}

// is says whether a condition of the ScaledObject is true.
func (w *workload) is(condition string) bool {
	return conditionOf(w.t, w.namespace, "llm", condition) == "True"
}

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// deleteScaledObjects waits until KEDA has let go of all of them in the namespace.
func (w *workload) deleteScaledObjects() {
	w.t.Helper()
	ctx := context.Background() // a test's own has ended when it cleans up
	client := resource(w.t, w.namespace, scaledObjectKind)
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		w.t.Error(err)
	}
	eventually(w.t, patience, "all ScaledObjects are gone", func() bool {
		left, err := client.List(ctx, metav1.ListOptions{})
		return err == nil && len(left.Items) == 0
	})
}

// quick shortens what a profile would take minutes for.
var quick = map[string]string{
	"window": "1s", "activationWindow": "3s", "preallocationWindow": "1s", "warmupSeconds": "0",
}

// gpus is a trigger on the workload's GPUs: quick, with metadata that comes in maps, the later
// winning.
func (w *workload) gpus(metadata ...map[string]string) map[string]any {
	all := map[string]string{"scalerAddress": "keda-gpu-scaler." + w.namespace + ":6000"}
	maps.Copy(all, quick)
	for _, some := range metadata {
		maps.Copy(all, some)
	}
	return map[string]any{"type": "external", "metadata": all}
}

// queue is a trigger that wakes the workload while there is load, and asks for one replica then.
func (w *workload) queue() map[string]any {
	return map[string]any{"type": "metrics-api", "metadata": map[string]string{
		"url": w.fleet.queue.URL, "valueLocation": "load", "targetValue": "1000000"}}
}
