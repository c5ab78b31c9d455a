package e2e

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podChange is a change of a workload's pods under a constant load. Zero values fit most cases.
type podChange struct {
	name     string
	kind     string            // Deployment if empty
	spec     string            // a line of YAML in the object's spec
	start    time.Duration     // from a pod's node to its readiness; 6 s if 0
	drain    time.Duration     // from the deletion of a pod to its end
	gpus     int               // per replica; 1 if 0
	replicas int               // 4 if 0
	ready    int               // replicas that become ready; all if 0
	idle     bool              // minReplicaCount keeps it
	load     float64           // in targets; 3.75 if 0
	slack    int               // replicas that the test adds itself
	metadata map[string]string // added to the trigger's
	object   string            // the ScaledObject's name; llm if empty
	more     string            // added to the pods' spec; spread over all nodes alike if empty

	// happens makes the change, and returns the pods that are gone when it is over.
	happens func(w *workload) []types.UID
	lasts   time.Duration // the change never ends; replicas are checked for this long
}

const loadTarget = 50 // percent of a GPU: two replicas can carry the load of four

// withoutNoise has windows that cover the time in which an agent learns about a pod.
var withoutNoise = map[string]string{"targetValue": fmt.Sprint(loadTarget), "window": "5s",
	"activationWindow": "10s", "preallocationWindow": "10s", "warmupSeconds": "30"}

func (c podChange) run(t *testing.T, nodes *gpuNodes, aggregators []*scaler) {
	t.Parallel()
	kind, replicas := orElse(c.kind, "Deployment"), orElse(c.replicas, 4)
	load := orElse(c.load, 3.75)
	need := int(math.Ceil(load))
	w := nodes.newWorkload(t, namespaceOf(nodes.name+" "+c.name),
		nodes.objectOf(kind, c.spec, replicas, orElse(c.gpus, 1), orElse(c.start, 6*time.Second), c.drain,
			orElse(c.more, spread("{app: llm}"))),
		aggregators...)
	w.object, w.scaler = c.object, aggregators[0]
	if c.idle {
		need, load = replicas, 0
	}
	ready := orElse(c.ready, replicas)
	eventually(t, timeout, fmt.Sprintf("%d replicas are ready", ready), func() bool { return w.line.ready() == ready })
	trigger := w.gpus(withoutNoise, c.metadata)
	if kind := c.metadata["targetType"]; kind != "" {
		trigger["metricType"] = kind
	}
	w.load(load * loadTarget)
	want := load * loadTarget
	if c.metadata["targetType"] == "Value" {
		want /= float64(ready)
	}
	eventually(t, timeout, fmt.Sprintf("the value is %g", want), func() bool {
		value, ok := w.valueOf(trigger)
		return ok && math.Abs(value-want) < 1
	})
	least := 1
	if c.idle {
		least = need
	}
	w.scale(scaledObject{min: least, max: 20, behavior: calm, triggers: []any{trigger}})
	began := w.line.mark("%s", c.name)
	gone := c.happens(w)
	if c.lasts > 0 {
		time.Sleep(c.lasts) // a wrong change would come within it
	} else {
		eventually(t, 6*time.Minute, "it is over", func() bool { return w.isWholeWithout(gone) })
	}
	w.line.mark("over")
	time.Sleep(20 * time.Second) // a wrong change would come within the HPA's stabilization, 12 s
	w.line.isWithin(began, need, need+max(1, need/10)+c.slack)
}

// namespaceOf replaces characters that a namespace may not have.
func namespaceOf(name string) string {
	letters := []rune(name)
	for i, letter := range letters {
		if letter == ' ' || letter == ',' || letter == '%' {
			letters[i] = '-'
		}
	}
	return string(letters)
}

// objectOf returns an object llm with pods that take that long to start and to end.
func (n *gpuNodes) objectOf(kind, spec string, replicas, gpus int, start, drain time.Duration, more string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: %s
metadata: {name: llm}
spec:
  replicas: %d
  selector: {matchLabels: {app: llm}}
  %s
  template:
    metadata:
      labels: {app: llm}
      annotations: {%s: %v, %s: %v}
    spec: %s
`, kind, replicas, spec, startDelay, start, drainDelay, drain, n.podSpec("llm", gpus, more))
}

const (
	startDelay = "pod-ready.stage.kwok.x-k8s.io/delay"
	drainDelay = "pod-delete.stage.kwok.x-k8s.io/delay"
)

// pods returns the pods of the workload, including those being deleted.
func (w *workload) pods() []corev1.Pod {
	w.t.Helper()
	list, err := kube.CoreV1().Pods(w.namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: "app=llm"})
	if err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}

// isWholeWithout returns whether these pods are gone and all replicas of the spec are ready.
func (w *workload) isWholeWithout(gone []types.UID) bool {
	w.t.Helper()
	pods := w.pods()
	for _, pod := range pods {
		if slices.Contains(gone, pod.UID) || !isReady(&pod) || pod.DeletionTimestamp != nil {
			return false
		}
	}
	return len(pods) == w.line.replicas()
}

// rollsOut changes the pod template by these annotations.
func (w *workload) rollsOut(annotations string) []types.UID {
	w.t.Helper()
	var old []types.UID
	for _, pod := range w.pods() {
		old = append(old, pod.UID)
	}
	patch(w.t, w.namespace, fmt.Sprintf(`
apiVersion: %v
kind: %v
metadata: {name: llm}
spec: {template: {metadata: {annotations: {%s}}}}
`, w.target["apiVersion"], w.target["kind"], annotations))
	return old
}

// restarts is `kubectl rollout restart`.
func restarts(w *workload) []types.UID { return w.rollsOut("restarted: now") }

// breaks makes new pods never ready.
func breaks(w *workload) []types.UID { return w.rollsOut(startDelay + ": 1h") }

// breaksBeforeItsImageIsPulled is breaks with new pods that take no VRAM.
func breaksBeforeItsImageIsPulled(w *workload) []types.UID {
	w.demand.setShows(func(share float64, ready bool, gpu *device) {
		if ready {
			engine(share, true, gpu)
		}
	})
	return breaks(w)
}

const surgeOfOne = "strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"

// losesPods deletes that many pods.
func losesPods(count int) func(*workload) []types.UID {
	return func(w *workload) []types.UID {
		w.t.Helper()
		var deleted []types.UID
		for _, pod := range w.pods()[:count] {
			if err := kube.CoreV1().Pods(w.namespace).Delete(w.t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
				w.t.Fatal(err)
			}
			deleted = append(deleted, pod.UID)
		}
		return deleted
	}
}

// losesANode is `kubectl drain` of the node with most of its pods.
func losesANode(w *workload) []types.UID {
	w.t.Helper()
	on := map[string][]corev1.Pod{}
	var drained string
	for _, pod := range w.pods() {
		node := pod.Spec.NodeName
		if on[node] = append(on[node], pod); len(on[node]) > len(on[drained]) {
			drained = node
		}
	}
	cordon := []byte(`{"spec": {"unschedulable": true}}`)
	if _, err := kube.CoreV1().Nodes().Patch(w.t.Context(), drained, types.StrategicMergePatchType, cordon,
		metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
	var evicted []types.UID
	for _, pod := range on[drained] {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: w.namespace}}
		if err := kube.CoreV1().Pods(w.namespace).EvictV1(w.t.Context(), eviction); err != nil {
			w.t.Fatal(err)
		}
		evicted = append(evicted, pod.UID)
	}
	return evicted
}

// crashes makes two pods ready for 2 s of every 8, without load in between.
func crashes(w *workload) []types.UID {
	w.t.Helper()
	crashing := w.pods()[:2]
	for range 4 {
		for _, status := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue} {
			for _, pod := range crashing {
				w.setReady(pod.Name, status)
			}
			if status == corev1.ConditionFalse {
				time.Sleep(6 * time.Second)
			} else {
				time.Sleep(2 * time.Second)
			}
		}
	}
	return nil
}

func (w *workload) setReady(pod string, status corev1.ConditionStatus) {
	w.t.Helper()
	change := fmt.Appendf(nil, `{"status": {"conditions": [{"type": "Ready", "status": %q}]}}`, status)
	_, err := kube.CoreV1().Pods(w.namespace).Patch(w.t.Context(), pod, types.StrategicMergePatchType, change,
		metav1.PatchOptions{}, "status")
	if err != nil {
		w.t.Fatal(err)
	}
}

// isScaledTo is `kubectl scale`.
func isScaledTo(replicas int) func(*workload) []types.UID {
	return func(w *workload) []types.UID {
		w.t.Helper()
		patch(w.t, w.namespace, fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {name: llm}, "+
			"spec: {replicas: %d}}", replicas))
		eventually(w.t, timeout, "it is scaled", func() bool { return w.line.replicas() == replicas })
		w.line.reaches(int(math.Ceil(w.demand.load/loadTarget)), timeout)
		return nil
	}
}

// isWithin fails if the number of replicas was ever outside this range since the mark.
func (line *timeline) isWithin(mark, least, most int) {
	line.t.Helper()
	for _, one := range line.since(mark) {
		if one.replicas < least || one.replicas > most {
			line.t.Errorf("%d replicas at %.2f s, not %d to %d", one.replicas, one.at.Seconds(), least, most)
		}
	}
}

// The load is constant, and so must be the replicas.
func TestReplicasThatComeAndGo(t *testing.T) {
	t.Parallel()
	nodes := newFakeNodes(t, "pods-api", true)
	aggregators := nodes.startAggregators(t, "pods-api", 1)
	for _, one := range []podChange{
		// The longest cases first: the HPA must have dropped all earlier recommendations.
		{name: "recreate", spec: "strategy: {type: Recreate}", drain: 20 * time.Second,
			happens: func(w *workload) []types.UID { return w.rollsOut(startDelay + ": 310s") }},
		{name: "rolling", happens: restarts},
		{name: "rolling idle", idle: true, happens: restarts},
		{name: "rolling by value", metadata: map[string]string{"targetType": "Value"}, happens: restarts},
		{name: "surge of one", spec: surgeOfOne, start: 12 * time.Second, happens: restarts},
		{name: "surge of one idle", spec: surgeOfOne, start: 12 * time.Second, idle: true, happens: restarts},
		{name: "recreate by value", spec: "strategy: {type: Recreate}", start: 20 * time.Second,
			metadata: map[string]string{"targetType": "Value"}, happens: restarts},
		{name: "broken image", lasts: 40 * time.Second, happens: breaks},
		{name: "broken image idle", lasts: 40 * time.Second, idle: true, happens: breaks},
		{name: "broken image, surge of one", spec: surgeOfOne, lasts: 40 * time.Second, happens: breaks},
		{name: "ordered", kind: "StatefulSet", happens: losesPods(4)},
		{name: "drain", drain: 30 * time.Second, happens: losesPods(2)},
		{name: "pod deleted", happens: losesPods(1)},
		{name: "crash loop", replicas: 5, load: 4.6, happens: func(w *workload) []types.UID {
			w.demand.setShows(func(share float64, _ bool, gpu *device) {
				engine(share, true, gpu) // a crashed container leaves its GPU idle
			})
			return crashes(w)
		}},
		{name: "scaled by hand", slack: 1, happens: isScaledTo(6)},
		{name: "another workload", object: "autoscale", happens: func(w *workload) []types.UID {
			nodes.newDemand(t, w.namespace, "batch").setLoad(300)
			create(t, w.namespace, nodes.object("Deployment", "batch", 3, 1))
			eventually(t, timeout, "it runs", func() bool {
				other, err := kube.AppsV1().Deployments(w.namespace).Get(t.Context(), "batch", metav1.GetOptions{})
				return err == nil && other.Status.ReadyReplicas == 3
			})
			return nil
		}},
	} {
		t.Run(one.name, func(t *testing.T) { one.run(t, nodes, aggregators) })
	}
}

// Before Kubernetes 1.37 an agent cannot see that a pod starts or ends.
func TestReplicasThatComeAndGoWithoutPodsAPI(t *testing.T) {
	t.Parallel()
	nodes := newFakeNodes(t, "no-pods-api", false)
	aggregators := nodes.startAggregators(t, "no-pods-api", 1)
	for _, one := range []podChange{
		{name: "rolling", drain: 15 * time.Second, happens: restarts},
		{name: "rolling idle", idle: true, happens: restarts},
		{name: "surge of one", spec: surgeOfOne, start: 12 * time.Second, happens: restarts},
		{name: "surge of one idle", spec: surgeOfOne, start: 12 * time.Second, idle: true, happens: restarts},
		{name: "broken image", lasts: 40 * time.Second, happens: breaksBeforeItsImageIsPulled},
		{name: "broken image idle", lasts: 40 * time.Second, idle: true, happens: breaksBeforeItsImageIsPulled},
		// A start longer than the HPA's stabilization, and shorter than warmupSeconds.
		{name: "recreate", spec: "strategy: {type: Recreate}", start: 20 * time.Second, happens: restarts},
		{name: "ordered", kind: "StatefulSet", happens: losesPods(4)},
		{name: "drain", drain: 30 * time.Second, happens: losesPods(2)},
		{name: "pod deleted", happens: losesPods(1)},
	} {
		t.Run(one.name, func(t *testing.T) { one.run(t, nodes, aggregators) })
	}
}

// Evicted pods have a grace period of minutes, and use one of them.
func TestNodeIsDrainedWithALongGrace(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name       string
		hasPodsAPI bool
	}{{"drained", true}, {"drained-no-pods-api", false}} {
		t.Run(one.name, func(t *testing.T) {
			nodes := newFakeNodes(t, one.name, one.hasPodsAPI)
			aggregators := nodes.startAggregators(t, one.name, 1)
			podChange{name: "node", drain: time.Minute, happens: losesANode,
				more: "terminationGracePeriodSeconds: 300"}.run(t, nodes, aggregators)
		})
	}
}

// Three replicas fit on the nodes: the fourth is Pending.
func TestPendingReplicaChangesNothing(t *testing.T) {
	t.Parallel()
	nodes := newFakeNodes(t, "full", true)
	aggregators := nodes.startAggregators(t, "full", 1)
	t.Run("pending", func(t *testing.T) {
		podChange{name: "pending", gpus: 16, ready: 3, lasts: 30 * time.Second,
			happens: func(*workload) []types.UID { return nil }}.run(t, nodes, aggregators)
	})
}
