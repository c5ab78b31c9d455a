package e2e

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// workload is a Deployment "llm" in a namespace of its own, with GPUs and a scaler that sees these
// alone: without attribution, every GPU in use that a scaler sees is taken for a replica. One on
// gpuNodes shares them with others and may be of another kind.
type workload struct {
	t         *testing.T
	namespace string
	object    string         // the ScaledObject's name; llm if empty
	target    map[string]any // what a ScaledObject's scaleTargetRef says
	demand    *demand
	fleet     *fleet    // nil on gpuNodes
	scaler    *scaler   // likewise
	scalers   []*scaler // all that KEDA may ask
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
	w := &workload{t: t, namespace: name, target: map[string]any{"name": "llm"}}
	makeNamespace(t, name)
	gpuFile := filepath.Join(t.TempDir(), "gpus.json")
	w.fleet = newFleet(t, gpuFile, how.gpus, how.signals, how.shows)
	w.demand = w.fleet.demand
	w.scaler = startScaler(t, name, gpuFile, how.flags...)
	w.isAskedOf(w.scaler)
	w.watch()
	create(t, name, deployment(how.replicas, how.warmup))
	return w
}

// isAskedOf has KEDA ask these scalers about it, and begins its timeline.
func (w *workload) isAskedOf(scalers ...*scaler) {
	w.t.Helper()
	w.scalers = scalers
	// Before the scalers end: KEDA would go on asking them, and be slow for the tests that still run.
	w.t.Cleanup(w.deleteScaledObjects)
	giveName(w.t, "keda-gpu-scaler."+w.namespace, scalers...)
	w.line = newTimeline(w.t, w.namespace)
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("ScaledObject of %s\n%s", w.namespace, describe(w.t, w.namespace, w.scaledObject()))
		}
	})
}

// watch has the fleet follow the pods, and the timeline the Deployment, until the test ends.
func (w *workload) watch() {
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(w.namespace))
	factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { w.fleet.podChanged(now.(*corev1.Pod)) },
		UpdateFunc: func(_, now any) { w.fleet.podChanged(now.(*corev1.Pod)) },
		DeleteFunc: func(last any) { w.fleet.podGone(lastKnown[*corev1.Pod](last)) },
	})
	note := func(now any) {
		if object := now.(*appsv1.Deployment); object.Name == "llm" {
			w.line.add(int(*object.Spec.Replicas), int(object.Status.ReadyReplicas))
		}
	}
	factory.Apps().V1().Deployments().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, now any) { note(now) },
	})
	follow(w.t, factory)
}

type informerFactory[Kind comparable] interface {
	Start(stop <-chan struct{})
	WaitForCacheSync(stop <-chan struct{}) map[Kind]bool
	Shutdown()
}

// follow starts its informers, and stops them when the test ends.
func follow[Kind comparable](t *testing.T, factory informerFactory[Kind]) {
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
}

// lastKnown is the object that an informer says was deleted: where the watch was interrupted meanwhile,
// it tells of a tombstone that has the object as it was before.
func lastKnown[Object any](deleted any) Object {
	if tombstone, ok := deleted.(cache.DeletedFinalStateUnknown); ok {
		deleted = tombstone.Obj
	}
	return deleted.(Object)
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
	w.demand.setLoad(percentOfAGpu)
	return mark
}

// signals sets the utilisation of the GPUs that no pod holds: values to scale on that the replicas
// do not change. Its place in the timeline is returned.
func (w *workload) signals(percents ...float64) int {
	mark := w.line.mark("signals %v", percents)
	w.fleet.setSignals(percents...)
	return mark
}

// holds is the timeline's stays for replicas that stand because the scaler says so: KEDA asks
// meanwhile, and each question gets a value.
func (w *workload) holds(duration time.Duration) {
	w.t.Helper()
	want, failed := w.line.replicas(), w.failures()
	given := w.values()
	w.line.stays(duration)
	w.waitForValue(given)
	if got := w.line.replicas(); got != want {
		w.t.Errorf("%d replicas became %d", want, got)
	}
	if count := w.failures() - failed; count > 0 {
		w.t.Errorf("%g questions got an error", count)
	}
}

// values is how many KEDA was given, failures how many questions got an error instead.
func (w *workload) values() float64 {
	w.t.Helper()
	answers := 0.0
	for _, s := range w.scalers {
		answers += s.answers("GetMetrics")
	}
	return answers - w.failures()
}

func (w *workload) failures() float64 {
	w.t.Helper()
	failures := 0.0
	for _, s := range w.scalers {
		failures += s.errors("GetMetrics")
	}
	return failures
}

// waitForValue waits until they are more than so many.
func (w *workload) waitForValue(given float64) {
	w.t.Helper()
	eventually(w.t, patience, "KEDA is given a value", func() bool { return w.values() > given })
}

// stir has the GPUs change all the time, where their replicas do.
func (w *workload) stir() {
	ticker := time.NewTicker(100 * time.Millisecond)
	stop := make(chan struct{})
	var stirring sync.WaitGroup
	stirring.Go(func() {
		for {
			select {
			case <-ticker.C:
				w.fleet.stir()
			case <-stop:
				return
			}
		}
	})
	w.t.Cleanup(func() {
		ticker.Stop()
		close(stop)
		stirring.Wait() // its file's folder goes next
	})
}
