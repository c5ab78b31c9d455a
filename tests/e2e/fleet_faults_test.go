package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// What real KEDA is told, second by second, while something goes wrong on three nodes, and what becomes
// of the replicas: none is taken away. tests/fleet has what needs no HPA to be seen: a cable that is cut,
// a node with two agents, a clock that is an hour wrong, a GPU that the driver no longer counts.

// Each of three replicas is near its target, 80: so near that the HPA leaves them alone, and not so near
// that one which cannot be read, and stands for the target, would look the same.
const nearTarget = 76

// with is what KEDA is told when so many of the three replicas cannot be read.
func with(unreadable int) string {
	return fmt.Sprint(nodeCount*nearTarget + unreadable*(80-nearTarget))
}

var (
	whole   = with(0)
	oneMute = with(1)
	twoMute = with(2)
)

// All on the same three nodes at once, each with agents of its own.
func TestReplicasStandWhileAFaultIsOnThreeNodes(t *testing.T) {
	t.Parallel()
	nodes := startRealKubelets(t, "faulty")
	for _, one := range []struct {
		fault     string
		namespace string
		stand     func(*testing.T, *gpuNodes)
	}{
		{"agent of one node gone", "lost", standWithoutAnAgent},
		{"agent of one node hangs", "hanging", standWhileAnAgentHangs},
		{"aggregator restarts", "restarted", standWhileTheAggregatorRestarts},
		{"all agents gone", "silent", standWithoutAgents},
		{"fleet empty from the start", "empty", isUnknownAndThenZero},
		{"no agent in DNS", "unlisted", standWhileDNSIsEmpty},
		{"agent of one node at another address", "moving", standWhileAnAgentMoves},
		{"GPUs of one node lost", "broken", standWithoutGPUs},
	} {
		t.Run(one.fault, func(t *testing.T) {
			t.Parallel()
			one.stand(t, nodes.withAgents(t, one.namespace))
		})
	}
}

// newLoadedWorkload is one replica on each of three nodes, near its target, which a scaler that says less
// would take away.
func newLoadedWorkload(t *testing.T, nodes *gpuNodes, aggregators []*scaler) (*workload, *answers) {
	t.Helper()
	w := newUnscaledWorkload(t, nodes, aggregators)
	w.scale(scaledObject{min: 1, max: 6, behavior: calm, triggers: []any{w.gpus()}})
	return w, w.settles()
}

func newUnscaledWorkload(t *testing.T, nodes *gpuNodes, aggregators []*scaler) *workload {
	t.Helper()
	w := nodes.newWorkload(t, nodes.name, nodes.object("Deployment", "llm", nodeCount, 1), aggregators...)
	w.line.reaches(nodeCount, patience)
	w.isOnSeveralNodes()
	w.load(nodeCount * nearTarget)
	return w
}

// settles where it was made, and KEDA says so.
func (w *workload) settles() *answers {
	w.t.Helper()
	w.holds(3 * time.Second)
	heard := w.hearsKEDA()
	heard.becomes(whole)
	heard.forget() // until an agent knows that its pods are Ready the value is held
	return heard
}

// goesOn to the most and back; since the mark no replica was taken away that was there.
func (w *workload) goesOn(mark int) {
	w.t.Helper()
	w.load(6 * 80)
	w.line.reaches(6, patience)
	w.line.risesOnly(mark)
	down := w.load(0)
	w.line.reaches(1, patience)
	w.line.fallsOnly(down)
}

// A replica that nobody can read counts as much as the target for as long as it is not known to be gone;
// the others decide.
func standWithoutAnAgent(t *testing.T, nodes *gpuNodes) {
	w := newUnscaledWorkload(t, nodes, nodes.startAggregators(t, "lost", 2, "--grace=10s"))
	w.scaleOnNodes(6)
	heard := w.settles()

	killed := w.line.mark("agent of one node killed")
	nodes.all[1].agent.kill()
	heard.becomes(oneMute)
	w.holds(8 * time.Second)
	heard.are(whole, oneMute)
	w.load(6 * 80)
	eventually(t, patience, "more replicas, on the word of two nodes", func() bool {
		return w.line.replicas() > nodeCount
	})
	w.line.mark("agent back")
	nodes.all[1].agent.start()
	heard.recovers("agent killed; meanwhile the load doubles", fmt.Sprint(6*80))
	heard.neverBelow(nodeCount * nearTarget)
	w.line.reaches(6, patience)
	w.line.risesOnly(killed)

	down := w.load(0)
	w.line.reaches(0, patience)
	w.line.fallsOnly(down)
}

// Stopped, it neither answers nor ends its connections.
func standWhileAnAgentHangs(t *testing.T, nodes *gpuNodes) {
	w, heard := newLoadedWorkload(t, nodes, nodes.startAggregators(t, "hanging", 1, "--grace=10s"))

	stopped := w.line.mark("agent of one node stopped")
	nodes.all[1].agent.process.Signal(syscall.SIGSTOP)
	heard.becomes(oneMute)
	w.holds(5 * time.Second)
	w.line.mark("agent goes on")
	nodes.all[1].agent.process.Signal(syscall.SIGCONT)
	heard.recovers("agent slow: stopped for longer than its grace", whole)
	heard.are(whole, oneMute)
	w.goesOn(stopped)
}

// The only one: meanwhile nobody answers KEDA.
func standWhileTheAggregatorRestarts(t *testing.T, nodes *gpuNodes) {
	aggregators := nodes.startAggregators(t, "restarted", 1)
	w, heard := newLoadedWorkload(t, nodes, aggregators)

	killed := w.line.mark("aggregator killed")
	aggregators[0].kill()
	heard.becomes(noValue)
	eventually(t, patience, "the HPA gets no value", func() bool { return !w.is("HPAActive") })
	w.line.stays(3 * time.Second)
	w.line.mark("aggregator back")
	aggregators[0].start()
	heard.recovers("aggregator restarted", whole)
	w.holds(15 * time.Second) // longer than its scale-down is stabilized
	heard.are(whole, noValue)
	w.goesOn(killed)
}

// Their nodes are there for all that is known, and nobody says what the pods do.
func standWithoutAgents(t *testing.T, nodes *gpuNodes) {
	w, heard := newLoadedWorkload(t, nodes, nodes.startAggregators(t, "silent", 1, "--grace=10s"))

	killed := w.line.mark("all agents killed")
	for _, agent := range nodes.agents() {
		agent.kill()
	}
	heard.becomes(noValue)
	eventually(t, patience, "the HPA gets no value", func() bool { return !w.is("HPAActive") })
	w.line.stays(6 * time.Second)
	w.line.mark("agents back")
	for _, agent := range nodes.agents() {
		agent.start()
	}
	heard.recovers("all agents killed", whole)
	w.holds(15 * time.Second) // longer than its scale-down is stabilized
	heard.are(whole, oneMute, twoMute, noValue)
	w.goesOn(killed)
}

// Until a fleet without agents is known to be empty its workloads stay; then they have no GPU.
func isUnknownAndThenZero(t *testing.T, nodes *gpuNodes) {
	nodes.areListed()
	aggregators := nodes.startAggregators(t, "empty", 1, "--empty-after=15s")
	w := nodes.newWorkload(t, "empty", nodes.object("Deployment", "llm", 1, 1), aggregators...)
	aggregators[0].kill() // a pod may take longer to be ready
	w.line.reaches(1, patience)
	aggregators[0].start()
	w.scale(scaledObject{min: 0, max: 6, cooldown: 1, triggers: []any{w.gpus()}})
	heard := w.hearsKEDA()
	heard.becomes(noValue)
	heard.are(noValue)
	heard.becomes("0")
	w.line.reaches(0, 2*patience)

	grown := w.line.mark("the nodes come")
	nodes.areListed(nodes.agents()...)
	waitForListedAgents(aggregators[0], nodeCount)
	heard.recovers("no GPU node from the start", "0")
	heard.are(noValue, "0")
	w.line.neverAbove(1)
	w.line.risesOnly(grown)
}

// As when the Service's endpoints are lost for a while: who is heard is there.
func standWhileDNSIsEmpty(t *testing.T, nodes *gpuNodes) {
	aggregators := nodes.startAggregators(t, "unlisted", 1, "--forget-after=1s", "--empty-after=1s")
	w, heard := newLoadedWorkload(t, nodes, aggregators)

	emptied := w.line.mark("DNS knows no agent")
	nodes.areListed()
	waitForListedAgents(aggregators[0], 0)
	w.holds(15 * time.Second) // DNS is asked every 10 s
	w.line.mark("DNS knows the agents")
	nodes.areListed(nodes.agents()...)
	waitForListedAgents(aggregators[0], nodeCount)
	heard.recovers("DNS empty", whole)
	heard.are(whole)
	w.goesOn(emptied)
}

// As a pod of a DaemonSet that is replaced, and of which DNS tells late.
func standWhileAnAgentMoves(t *testing.T, nodes *gpuNodes) {
	w, heard := newLoadedWorkload(t, nodes, nodes.startAggregators(t, "moving", 1, "--grace=10s"))

	moved := w.line.mark("agent of one node has another address")
	nodes.all[1].agent.move()
	heard.becomes(oneMute)
	w.holds(5 * time.Second)
	w.line.mark("DNS knows the new address")
	nodes.areListed(nodes.agents()...)
	heard.recovers("DNS changes, late: an agent has another address", whole)
	heard.are(whole, oneMute)
	w.goesOn(moved)
}

func waitForListedAgents(aggregator *scaler, want int) {
	aggregator.t.Helper()
	eventually(aggregator.t, patience, fmt.Sprintf("DNS lists %d agents", want), func() bool {
		listed, err := aggregator.metric("keda_gpu_scaler_agents_listed ")
		return err == nil && listed == float64(want)
	})
}

// A kubelet that starts without the API server knows none of its node's pods, however long that takes:
// whose the GPUs are stands as it was, and an agent that starts meanwhile does not know.
func TestReplicasStandWhileTheKubeletOfOneOfThreeNodesRestarts(t *testing.T) {
	t.Parallel()
	nodes := newFakeNodes(t, "forgetful", true)
	w, heard := newLoadedWorkload(t, nodes, nodes.startAggregators(t, "forgetful", 1, "--grace=10s"))
	node := nodes.all[1]
	kubelet := node.kubelet.(*fakeKubelet)

	stopped := w.line.mark("kubelet of one node restarts")
	kubelet.stop()
	node.agent.says("event=kubelet_lost")
	kubelet.knowsPods(false)
	kubelet.start()
	kubelet.isAsked(5) // every 5 s: for longer than one that lists no pod is doubted for that alone
	heard.are(whole)
	w.line.mark("agent of that node restarts")
	node.agent.kill()
	node.agent.start()
	heard.becomes(oneMute)
	w.line.mark("kubelet knows its pods")
	kubelet.knowsPods(true)
	heard.recovers("kubelet restarted, and knows no pod for 20 s; then its agent restarted, too", whole)
	heard.are(whole, oneMute)
	w.goesOn(stopped)
}

func standWithoutGPUs(t *testing.T, nodes *gpuNodes) {
	w, heard := newLoadedWorkload(t, nodes, nodes.startAggregators(t, "broken", 1))

	lost := w.line.mark("GPUs of one node lost")
	nodes.loseGPUs(nodes.all[1], true)
	heard.becomes(oneMute)
	w.holds(5 * time.Second)
	w.line.mark("GPUs back")
	nodes.loseGPUs(nodes.all[1], false)
	heard.recovers("GPUs of one node lost", whole)
	heard.are(whole, oneMute)
	w.goesOn(lost)
}
