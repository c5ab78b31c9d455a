package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// A restarted kubelet lists no pods until the API server has sent them.
func TestHoldersStayWhileARealKubeletRestarts(t *testing.T) {
	for _, hasPodsAPI := range []bool{true, false} {
		t.Run(fmt.Sprintf("with the Pods API %t", hasPodsAPI), func(t *testing.T) {
			t.Parallel()
			r := newRestartedNode(t, fmt.Sprintf("restart-%t", hasPodsAPI), hasPodsAPI)
			r.kubelet.kill()
			r.areLogged("event=kubelet_lost")
			r.kubelet.start()
			r.areLogged("event=kubelet_found")
			r.kubelet.lists(3)
			r.requireUnchanged("the kubelet restarted")

			r.kubelet.link.cut()
			r.kubelet.kill()
			r.areLogged("event=kubelet_lost")
			r.kubelet.start()
			r.ofOwnPod.logs("it does not list " + r.kubelet.node + "/agent")
			r.other.logs("event=kubelet_list_empty")
			r.requireUnchanged("the kubelet restarted without the API server")
			r.kubelet.link.restore()
			r.kubelet.lists(3)
			r.ofOwnPod.logs("event=kubelet_found")
			r.requireUnchanged("the API server came back")
		})
	}
}

// restartedNode has two replicas with a GPU each, and two agents with their kubelet: only one is
// configured with its own pod. They poll the kubelet every second.
type restartedNode struct {
	t               *testing.T
	kubelet         *realKubelet
	ofOwnPod, other *holderWatch
}

func newRestartedNode(t *testing.T, node string, hasPodsAPI bool) *restartedNode {
	t.Helper()
	ids := gpuIDs(0)[:2]
	k := startRealKubelet(t, node, hasPodsAPI, &devicePlugin{resource: gpuResource, ids: ids})
	makeNamespace(t, node)
	create(t, node, k.replicas("StatefulSet", "llm", gpuResource))
	create(t, node, k.pod("agent", "containers: [{name: agent, image: agent}]"))
	k.lists(3)
	gpuFile := filepath.Join(t.TempDir(), "gpus.json")
	changeProcesses(t, gpuFile, ids)
	r := &restartedNode{t: t, kubelet: k,
		ofOwnPod: k.watchHolders(gpuFile, "own-pod", "--own-pod="+node+"/agent"),
		other:    k.watchHolders(gpuFile, "other")}
	for _, agent := range r.agents() {
		agent.becomes("llm-0", "llm-1")
	}
	return r
}

func (r *restartedNode) agents() []*holderWatch { return []*holderWatch{r.ofOwnPod, r.other} }

// areLogged waits until both agents have logged the text since the last call.
func (r *restartedNode) areLogged(text string) {
	r.t.Helper()
	for _, agent := range r.agents() {
		agent.logs(text)
	}
}

func (r *restartedNode) requireUnchanged(after string) {
	r.t.Helper()
	for _, agent := range r.agents() {
		if seen := agent.all(); len(seen) != 1 {
			r.t.Errorf("%s, and the holders of agent %s changed: %v", after, agent.agent.log, seen)
		}
	}
}

// changeProcesses keeps changing the GPU processes, so that an agent polls its kubelet every second
// instead of every 5 s.
func changeProcesses(t *testing.T, gpuFile string, ids []string) {
	t.Helper()
	write := func(round uint32) {
		var gpus []device
		for index, id := range ids {
			gpu := newDevice(index)
			gpu.UUID, gpu.Processes = id, []process{{round}}
			gpus = append(gpus, gpu)
		}
		if err := writeGPUs(gpuFile, gpus); err != nil {
			t.Error(err)
		}
	}
	write(1)
	round := uint32(1)
	repeat(t, 300*time.Millisecond, func() {
		round++
		write(round)
	})
}

// repeat calls the function periodically in the background until the test ends.
func repeat(t *testing.T, every time.Duration, call func()) {
	ended, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() {
		close(ended)
		<-stopped
	})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-ended:
				return
			case <-time.After(every):
				call()
			}
		}
	}()
}
