package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// calm delays an HPA's decisions for longer than an agent takes to learn about a new pod. Until
// then the node's GPU shows the load that the pod takes from the others, without its holder.
var calm = map[string]any{
	"scaleUp":   map[string]any{"stabilizationWindowSeconds": 4, "policies": without["policies"]},
	"scaleDown": map[string]any{"stabilizationWindowSeconds": 12, "policies": without["policies"]},
}

// loadOfThree is a load at which three replicas settle: two would have 95 each, above a
// ScaledObject's default target, 80. For a moment a third has its share while the two still show
// 95, which is within the HPA's tolerance of 10 %.
const loadOfThree = 190

// scaleOnNodes makes KEDA scale it from zero to `most`, on its GPUs of all nodes.
func (w *workload) scaleOnNodes(most int, metadata ...map[string]string) {
	w.t.Helper()
	// The HPA comes to 1 before KEDA scales to zero: see workload.make.
	w.scale(scaledObject{min: 0, max: most, cooldown: 16, behavior: calm,
		triggers: []any{w.gpus(metadata...), w.queue()}})
}

// comesToThree returns the mark of its load.
func (w *workload) comesToThree() int {
	w.t.Helper()
	mark := w.load(loadOfThree)
	w.line.reaches(3, 2*timeout)
	return mark
}

// All on the same three nodes at once: each counts the GPUs of its own pods, wherever they are.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	nodes := newNodes(t, "three")

	t.Run("Deployments of two namespaces with the same name scale on their own load", func(t *testing.T) {
		t.Parallel()
		aggregators := nodes.startAggregators(t, "same-name", 2)
		deployment := nodes.object("Deployment", "llm", 0, 1)
		a := nodes.newWorkload(t, "same-name-a", deployment, aggregators...)
		b := nodes.newWorkload(t, "same-name-b", deployment, aggregators...)
		a.scaleOnNodes(6)
		b.scaleOnNodes(6)

		up := a.load(6 * 100)
		a.line.reaches(6, timeout)
		b.line.neverAbove(0)
		b.line.risesOnly(b.comesToThree())
		b.holds(4 * time.Second)
		a.line.risesOnly(up)

		down := a.load(0)
		a.line.reaches(0, timeout)
		a.line.fallsOnly(down)
		b.holds(time.Second)
		b.line.neverAbove(3)
		up = b.load(6 * 100)
		b.line.reaches(6, timeout)
		b.line.risesOnly(up)
		down = b.load(0)
		b.line.reaches(0, timeout)
		b.line.fallsOnly(down)
	})

	t.Run("StatefulSet", func(t *testing.T) {
		t.Parallel()
		w := nodes.newWorkload(t, "stateful", nodes.object("StatefulSet", "llm", 0, 1),
			nodes.startAggregators(t, "stateful", 1)...)
		w.goesUpAndDown()
	})

	t.Run("Replicas of two GPUs beside another busy workload", func(t *testing.T) {
		t.Parallel()
		w := nodes.newWorkload(t, "pairs", nodes.object("Deployment", "llm", 0, 2),
			nodes.startAggregators(t, "pairs", 1)...)
		nodes.newDemand(t, "pairs", "batch").setLoad(300)
		create(t, "pairs", nodes.object("Deployment", "batch", 3, 1))
		// While the workload has no replica the other one is the only owner of GPUs, so the trigger
		// must name it.
		w.goesUpAndDown(map[string]string{"workload": "Deployment/llm"})
	})

	t.Run("LeaderWorkerSet with groups on two nodes each", func(t *testing.T) {
		t.Parallel()
		defineGroups(t)
		w := newGroups(t, nodes, "groups", nodes.startAggregators(t, "groups", 1)...)
		w.goesUpAndDown()
	})
}

// goesUpAndDown scales from zero to three replicas, to the maximum, and back.
func (w *workload) goesUpAndDown(metadata ...map[string]string) {
	w.t.Helper()
	w.scaleOnNodes(6, metadata...)
	w.holds(2 * time.Second)
	up := w.comesToThree()
	w.holds(4 * time.Second)
	w.line.risesOnly(up)
	w.isOnSeveralNodes()

	up = w.load(6 * 100)
	w.line.reaches(6, timeout)
	w.line.risesOnly(up)

	down := w.load(0)
	w.line.reaches(0, timeout)
	w.line.fallsOnly(down)
	w.holds(2 * time.Second)
}

// isOnSeveralNodes checks that its pods, and those of each replica with several, are on different
// nodes.
func (w *workload) isOnSeveralNodes() {
	w.t.Helper()
	pods, err := kube.CoreV1().Pods(w.namespace).List(w.t.Context(),
		metav1.ListOptions{LabelSelector: "app=llm"})
	if err != nil {
		w.t.Fatal(err)
	}
	all, ofReplica := map[string]bool{}, map[string]map[string]bool{}
	for _, pod := range pods.Items {
		replica := replicaOf(&pod)
		if ofReplica[replica] == nil {
			ofReplica[replica] = map[string]bool{}
		}
		all[pod.Spec.NodeName], ofReplica[replica][pod.Spec.NodeName] = true, true
	}
	if len(all) < nodeCount {
		w.t.Errorf("its pods are on %d nodes", len(all))
	}
	for replica, nodes := range ofReplica {
		if len(nodes) != w.demand.podsOfReplica {
			w.t.Errorf("replica %s of %d pods is on %d nodes", replica, w.demand.podsOfReplica, len(nodes))
		}
	}
}
