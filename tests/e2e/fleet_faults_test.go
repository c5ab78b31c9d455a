package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// KEDA's answers, polled every second, and the replicas during faults on three nodes: no replica is
// removed. tests/fleet has the faults that need no HPA: a cut cable, a node with two agents, a
// clock that is an hour wrong, a GPU that the driver no longer lists.

// Each of three replicas is near its target, 80: near enough for the HPA to keep the replicas, and
// far enough to see that an unreadable one counts as the target.
const nearTarget = 76

// with returns KEDA's value when that many of the three replicas are unreadable.
func with(unreadable int) string {
	return fmt.Sprint(nodeCount*nearTarget + unreadable*(80-nearTarget))
}

var (
	whole         = with(0)
	oneUnreadable = with(1)
	twoUnreadable = with(2)
)

// All on the same three nodes at once, each workload with its own agents.
func TestReplicasStayDuringFaultsOnThreeNodes(t *testing.T) {
	t.Parallel()
	nodes := startRealKubelets(t, "faulty")
	for _, one := range []struct {
		fault     string
		namespace string
		stand     func(*testing.T, *gpuNodes)
	}{
		{"agent of one node gone", "lost", stayWithoutAnAgent},
		{"agent of one node hangs", "hanging", stayWhileAnAgentHangs},
		{"aggregator restarts", "restarted", stayWhileTheAggregatorRestarts},
		{"all agents gone", "silent", stayWithoutAgents},
		{"fleet empty from the start", "empty", isUnknownAndThenZero},
		{"no agent in DNS", "unlisted", stayWhileDNSIsEmpty},
		{"agent of one node at another address", "moving", stayWhileAnAgentMoves},
		{"GPUs of one node lost", "broken", holdWithoutGPUs},
	} {
		t.Run(one.fault, func(t *testing.T) {
			t.Parallel()
			one.stand(t, nodes.withAgents(t, one.namespace))
		})
	}
}

// newLoadedWorkload has one replica on each of three nodes, near its target. A lower value would
// remove one.
func newLoadedWorkload(t *testing.T, nodes *gpuNodes, aggregators []*scaler) (*workload, *answers) {
	t.Helper()
	w := newUnscaledWorkload(t, nodes, aggregators)
	w.scale(scaledObject{min: 1, max: 6, behavior: calm, triggers: []any{w.gpus()}})
	return w, w.settles()
}

func newUnscaledWorkload(t *testing.T, nodes *gpuNodes, aggregators []*scaler) *workload {
	t.Helper()
	w := nodes.newWorkload(t, nodes.name, nodes.object("Deployment", "llm", nodeCount, 1), aggregators...)
	w.line.reaches(nodeCount, timeout)
	w.isOnSeveralNodes()
	w.load(nodeCount * nearTarget)
	return w
}

// settles waits until the value is that of three replicas, which stay.
func (w *workload) settles() *answers {
	w.t.Helper()
	w.holds(3 * time.Second)
	polled := w.pollKEDA()
	polled.becomes(whole)
	polled.forget() // the value is held until an agent has seen that its pods are Ready
	return polled
}

// stillScales scales up to the maximum and back. Fails if a replica was removed since the mark.
func (w *workload) stillScales(mark int) {
	w.t.Helper()
	w.load(6 * 80)
	w.line.reaches(6, timeout)
	w.line.risesOnly(mark)
	down := w.load(0)
	w.line.reaches(1, timeout)
	w.line.fallsOnly(down)
}

// An unreadable replica counts as the target until it is known to be gone; the others decide.
func stayWithoutAnAgent(t *testing.T, nodes *gpuNodes) {
	w := newUnscaledWorkload(t, nodes, nodes.startAggregators(t, "lost", 2, "--grace=10s"))
	w.scaleOnNodes(6)
	polled := w.settles()

	killed := w.line.mark("agent of one node killed")
	nodes.all[1].agent.kill()
	polled.becomes(oneUnreadable)
	w.holds(8 * time.Second)
	polled.areAmong(whole, oneUnreadable)
	w.load(6 * 80)
	eventually(t, timeout, "more replicas, on the word of two nodes", func() bool {
		return w.line.replicas() > nodeCount
	})
	w.line.mark("agent back")
	nodes.all[1].agent.start()
	polled.recovers("agent killed; meanwhile the load doubles", fmt.Sprint(6*80))
	polled.neverBelow(nodeCount * nearTarget)
	w.line.reaches(6, timeout)
	w.line.risesOnly(killed)

	down := w.load(0)
	w.line.reaches(0, timeout)
	w.line.fallsOnly(down)
}

// A stopped agent neither answers nor closes its connections.
func stayWhileAnAgentHangs(t *testing.T, nodes *gpuNodes) {
	w, polled := newLoadedWorkload(t, nodes, nodes.startAggregators(t, "hanging", 1, "--grace=10s"))

	stopped := w.line.mark("agent of one node stopped")
	nodes.all[1].agent.process.Signal(syscall.SIGSTOP)
	polled.becomes(oneUnreadable)
	w.holds(5 * time.Second)
	w.line.mark("agent goes on")
	nodes.all[1].agent.process.Signal(syscall.SIGCONT)
	polled.recovers("agent slow: stopped for longer than its grace", whole)
	polled.areAmong(whole, oneUnreadable)
	w.stillScales(stopped)
}

// The only aggregator: KEDA gets no answers meanwhile.
func stayWhileTheAggregatorRestarts(t *testing.T, nodes *gpuNodes) {
	aggregators := nodes.startAggregators(t, "restarted", 1)
	w, polled := newLoadedWorkload(t, nodes, aggregators)

	killed := w.line.mark("aggregator killed")
	aggregators[0].kill()
	polled.becomes(noValue)
	eventually(t, timeout, "the HPA gets no value", func() bool { return !w.is("HPAActive") })
	w.line.stays(3 * time.Second)
	w.line.mark("aggregator back")
	aggregators[0].start()
	polled.recovers("aggregator restarted", whole)
	w.holds(15 * time.Second) // longer than the HPA's scale-down stabilization
	polled.areAmong(whole, noValue)
	w.stillScales(killed)
}

// Their nodes may still exist, but there are no readings of their pods.
func stayWithoutAgents(t *testing.T, nodes *gpuNodes) {
	w, polled := newLoadedWorkload(t, nodes, nodes.startAggregators(t, "silent", 1, "--grace=10s"))

	killed := w.line.mark("all agents killed")
	for _, agent := range nodes.agents() {
		agent.kill()
	}
	polled.becomes(noValue)
	eventually(t, timeout, "the HPA gets no value", func() bool { return !w.is("HPAActive") })
	w.line.stays(6 * time.Second)
	w.line.mark("agents back")
	for _, agent := range nodes.agents() {
		agent.start()
	}
	polled.recovers("all agents killed", whole)
	w.holds(15 * time.Second) // longer than the HPA's scale-down stabilization
	polled.areAmong(whole, oneUnreadable, twoUnreadable, noValue)
	w.stillScales(killed)
}

// A fleet without agents keeps its workloads until it counts as empty; then they have no GPU.
func isUnknownAndThenZero(t *testing.T, nodes *gpuNodes) {
	nodes.areListed()
	aggregators := nodes.startAggregators(t, "empty", 1, "--empty-after=15s")
	w := nodes.newWorkload(t, "empty", nodes.object("Deployment", "llm", 1, 1), aggregators...)
	aggregators[0].kill() // longer than a pod takes to become ready
	w.line.reaches(1, timeout)
	aggregators[0].start()
	w.scale(scaledObject{min: 0, max: 6, cooldown: 1, triggers: []any{w.gpus()}})
	polled := w.pollKEDA()
	polled.becomes(noValue)
	polled.areAmong(noValue)
	polled.becomes("0")
	w.line.reaches(0, 2*timeout)

	grown := w.line.mark("the nodes come")
	nodes.areListed(nodes.agents()...)
	waitForListedAgents(aggregators[0], nodeCount)
	polled.recovers("no GPU node from the start", "0")
	polled.areAmong(noValue, "0")
	w.line.neverAbove(1)
	w.line.risesOnly(grown)
}

// As when a Service loses its endpoints for a while: connected agents count as present.
func stayWhileDNSIsEmpty(t *testing.T, nodes *gpuNodes) {
	aggregators := nodes.startAggregators(t, "unlisted", 1, "--forget-after=1s", "--empty-after=1s")
	w, polled := newLoadedWorkload(t, nodes, aggregators)

	emptied := w.line.mark("DNS knows no agent")
	nodes.areListed()
	waitForListedAgents(aggregators[0], 0)
	w.holds(15 * time.Second) // DNS is queried every 10 s
	w.line.mark("DNS knows the agents")
	nodes.areListed(nodes.agents()...)
	waitForListedAgents(aggregators[0], nodeCount)
	polled.recovers("DNS empty", whole)
	polled.areAmong(whole)
	w.stillScales(emptied)
}

// As when a pod of a DaemonSet is replaced, and DNS lists its address late.
func stayWhileAnAgentMoves(t *testing.T, nodes *gpuNodes) {
	w, polled := newLoadedWorkload(t, nodes, nodes.startAggregators(t, "moving", 1, "--grace=10s"))

	moved := w.line.mark("agent of one node has another address")
	nodes.all[1].agent.move()
	polled.becomes(oneUnreadable)
	w.holds(5 * time.Second)
	w.line.mark("DNS knows the new address")
	nodes.areListed(nodes.agents()...)
	polled.recovers("DNS changes, late: an agent has another address", whole)
	polled.areAmong(whole, oneUnreadable)
	w.stillScales(moved)
}

func waitForListedAgents(aggregator *scaler, want int) {
	aggregator.t.Helper()
	eventually(aggregator.t, timeout, fmt.Sprintf("DNS lists %d agents", want), func() bool {
		listed, err := aggregator.metric("keda_gpu_scaler_agents_listed ")
		return err == nil && listed == float64(want)
	})
}

// A kubelet that starts without the API server has none of its node's pods, however long that
// takes. The GPU holders stay as they were, and an agent that starts meanwhile has none.
func TestReplicasStayWhileTheKubeletOfOneOfThreeNodesRestarts(t *testing.T) {
	t.Parallel()
	nodes := newFakeNodes(t, "forgetful", true)
	w, polled := newLoadedWorkload(t, nodes, nodes.startAggregators(t, "forgetful", 1, "--grace=10s"))
	node := nodes.all[1]
	kubelet := node.kubelet.(*fakeKubelet)

	stopped := w.line.mark("kubelet of one node restarts")
	kubelet.stop()
	node.agent.waitForLog("event=kubelet_lost")
	kubelet.setHasPods(false)
	kubelet.start()
	kubelet.waitForLists(5) // every 5 s: past the time for which a list without pods alone is not trusted
	polled.areAmong(whole)
	w.line.mark("agent of that node restarts")
	node.agent.kill()
	node.agent.start()
	polled.becomes(oneUnreadable)
	w.line.mark("kubelet knows its pods")
	kubelet.setHasPods(true)
	polled.recovers("kubelet restarted, and knows no pod for 20 s; then its agent restarted, too", whole)
	polled.areAmong(whole, oneUnreadable)
	w.stillScales(stopped)
}

func holdWithoutGPUs(t *testing.T, nodes *gpuNodes) {
	w, polled := newLoadedWorkload(t, nodes, nodes.startAggregators(t, "broken", 1))

	lost := w.line.mark("GPUs of one node lost")
	nodes.loseGPUs(nodes.all[1], true)
	polled.becomes(oneUnreadable)
	w.holds(5 * time.Second)
	w.line.mark("GPUs back")
	nodes.loseGPUs(nodes.all[1], false)
	polled.recovers("GPUs of one node lost", whole)
	polled.areAmong(whole, oneUnreadable)
	w.stillScales(lost)
}
