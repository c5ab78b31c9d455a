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

// workload is a Deployment "llm" in its own namespace, with its own GPUs and scaler: without
// attribution, a scaler counts every GPU in use as a replica. A workload on gpuNodes shares GPUs
// with others and may be of another kind.
type workload struct {
	t         *testing.T
	namespace string
	object    string         // the ScaledObject's name; llm if empty
	target    map[string]any // a ScaledObject's scaleTargetRef
	demand    *demand
	fleet     *fleet    // nil on gpuNodes
	scaler    *scaler   // nil on gpuNodes
	scalers   []*scaler // all that KEDA may use
	line      *timeline
}

// start is the initial state of a workload; zero values fit most tests.
type start struct {
	gpus     int     // 8 if 0
	signals  int     // further GPUs, with the first indices; see workload.signals
	shows    replica // engine if nil
	replicas int
	// The time from a pod's node to its readiness: loading a model.
	warmup time.Duration
	flags  []string // the scaler's
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
	w.useScalers(w.scaler)
	w.watch()
	create(t, name, deployment(how.replicas, how.warmup))
	return w
}

// useScalers makes KEDA use these scalers for the workload, and starts its timeline.
func (w *workload) useScalers(scalers ...*scaler) {
	w.t.Helper()
	w.scalers = scalers
	// Before the scalers end: otherwise KEDA would keep polling them and be slow for the running
	// tests.
	w.t.Cleanup(w.deleteScaledObjects)
	giveName(w.t, "keda-gpu-scaler."+w.namespace, scalers...)
	w.line = newTimeline(w.t, w.namespace)
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("ScaledObject of %s\n%s", w.namespace, describe(w.t, w.namespace, w.scaledObject()))
		}
	})
}

// watch makes the fleet follow the pods, and the timeline the Deployment, until the test ends.
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

// follow starts the factory's informers, and stops them when the test ends.
func follow[Kind comparable](t *testing.T, factory informerFactory[Kind]) {
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
}

// lastKnown returns the object that an informer reports as deleted. If the watch was interrupted,
// the informer reports a tombstone with the object's last state.
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

// load records the load in the timeline and returns its mark.
func (w *workload) load(percentOfAGpu float64) int {
	mark := w.line.mark("load %g", percentOfAGpu)
	w.demand.setLoad(percentOfAGpu)
	return mark
}

// signals sets the utilization of the GPUs without a pod: values to scale on that the replicas do
// not change. Returns its mark in the timeline.
func (w *workload) signals(percents ...float64) int {
	mark := w.line.mark("signals %v", percents)
	w.fleet.setSignals(percents...)
	return mark
}

// holds is the timeline's stays, and checks that the scaler's values are the reason: KEDA polls
// meanwhile, and each request gets a value.
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

// values returns how many requests of KEDA's got a value; failures returns how many got an error.
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

// waitForValue waits for more values than `given`.
func (w *workload) waitForValue(given float64) {
	w.t.Helper()
	eventually(w.t, timeout, "KEDA is given a value", func() bool { return w.values() > given })
}

// varyGPUs keeps changing the GPUs, for replicas that show something else each time.
func (w *workload) varyGPUs() {
	ticker := time.NewTicker(100 * time.Millisecond)
	stop := make(chan struct{})
	var varying sync.WaitGroup
	varying.Go(func() {
		for {
			select {
			case <-ticker.C:
				w.fleet.varyGPUs()
			case <-stop:
				return
			}
		}
	})
	w.t.Cleanup(func() {
		ticker.Stop()
		close(stop)
		varying.Wait() // the file's folder is deleted next
	})
}
