package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// scaledObject is the spec of a ScaledObject; zero values are KEDA's defaults or the fastest.
type scaledObject struct {
	min, max int
	polling  int // seconds, 1 if 0
	cooldown int // seconds, 8 if 0
	triggers []any
	behavior any // the HPA's; nil: no delay
	spec     map[string]any
	advanced map[string]any
}

var atOnce = map[string]any{"scaleUp": without, "scaleDown": without}

var without = map[string]any{
	"stabilizationWindowSeconds": 0,
	"policies":                   []any{map[string]any{"type": "Pods", "value": 100, "periodSeconds": 1}},
}

// scale creates the ScaledObject and waits until KEDA acts on it.
func (w *workload) scale(how scaledObject) {
	w.t.Helper()
	w.make(how)
	w.waitUntilReady()
	w.line.mark("ScaledObject is ready")
}

// becomesActive waits until KEDA reports it active. A workload that never was goes to zero without
// the cooldown.
func (w *workload) becomesActive() {
	w.t.Helper()
	eventually(w.t, timeout, "KEDA sees it active", func() bool { return w.is("Active") })
}

func (w *workload) make(how scaledObject) {
	w.t.Helper()
	advanced := map[string]any{"horizontalPodAutoscalerConfig": map[string]any{
		"behavior": orElse[any](how.behavior, atOnce)}}
	maps.Copy(advanced, how.advanced)
	spec := map[string]any{
		"scaleTargetRef":  w.target,
		"minReplicaCount": how.min,
		"maxReplicaCount": how.max,
		"pollingInterval": orElse(how.polling, 1),
		// Long enough for the HPA to come down to 1 before KEDA scales to zero. An HPA that is
		// about to write still writes after KEDA wrote in between (since Kubernetes 1.36 it retries
		// after a conflict): 3, 0, 1, 0.
		"cooldownPeriod": orElse(how.cooldown, 8),
		"triggers":       how.triggers,
		"advanced":       advanced,
	}
	maps.Copy(spec, how.spec)
	text := must(json.Marshal(map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
		"metadata": map[string]any{"name": w.scaledObject()}, "spec": spec}))
	create(w.t, w.namespace, string(text))
}

// waitUntilReady waits until KEDA has built the ScaledObject's triggers.
func (w *workload) waitUntilReady() {
	w.t.Helper()
	eventually(w.t, timeout, "the ScaledObject is ready", func() bool { return w.is("Ready") })
}

// is returns whether a condition of the ScaledObject is true.
func (w *workload) is(condition string) bool {
	return conditionOf(w.t, w.namespace, w.scaledObject(), condition) == "True"
}

func (w *workload) scaledObject() string { return orElse(w.object, "llm") }

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// deleteScaledObjects waits until KEDA has deleted all of them in the namespace, and ScaledJobs.
func (w *workload) deleteScaledObjects() {
	w.t.Helper()
	ctx := context.Background() // the test's context has ended at cleanup
	for _, kind := range []schema.GroupVersionKind{scaledObjectKind, scaledJobKind} {
		client := resource(w.t, w.namespace, kind)
		if err := client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			w.t.Error(err)
		}
		eventually(w.t, timeout, "no "+kind.Kind+" is left", func() bool {
			left, err := client.List(ctx, metav1.ListOptions{})
			return err == nil && len(left.Items) == 0
		})
	}
}

// quick shortens windows that take minutes in a profile.
var quick = map[string]string{
	"window": "1s", "activationWindow": "3s", "preallocationWindow": "1s", "warmupSeconds": "0",
}

// gpus returns a trigger on the workload's GPUs with the windows of quick. Later maps override
// earlier ones.
func (w *workload) gpus(metadata ...map[string]string) map[string]any {
	all := map[string]string{"scalerAddress": "keda-gpu-scaler." + w.namespace + ":6000"}
	maps.Copy(all, quick)
	for _, some := range metadata {
		maps.Copy(all, some)
	}
	return map[string]any{"type": "external", "metadata": all}
}

// queue returns a trigger that wakes the workload if there is load, and needs one replica then.
func (w *workload) queue() map[string]any {
	return map[string]any{"type": "metrics-api", "metadata": map[string]string{
		"url": w.demand.queue.URL, "valueLocation": "load", "targetValue": "1000000"}}
}

// signal returns a trigger on one of the GPUs without a pod (signals), without smoothing.
func (w *workload) signal(index int, metadata ...map[string]string) map[string]any {
	own := map[string]string{"gpuIndex": fmt.Sprint(index), "window": "0s"}
	trigger := w.gpus(append([]map[string]string{own}, metadata...)...)
	trigger["name"] = fmt.Sprintf("signal%d", index)
	return trigger
}

func target(percent int) map[string]string {
	return map[string]string{"targetValue": fmt.Sprint(percent)}
}
