package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Each GPU moves from pod to pod as fast as the kubelet allows. The devices in the container
// runtime are the reference.
func TestHoldersWhilePodsOfARealKubeletComeAndGo(t *testing.T) {
	t.Parallel()
	c := newChurn(t, "churn", 8)
	const warmUp, pods = 16, 64
	c.comeAndGo(warmUp)
	before := c.agent.memory()
	began := time.Now()
	c.comeAndGo(pods)
	lasted := time.Since(began)
	eventually(t, timeout, "the last pods hold the GPUs", func() bool {
		c.step(pods+len(c.ids), false)
		return len(c.alive) == len(c.ids) && c.areGiven(c.alive) && c.agent.holds(c.alive)
	})
	lag := c.check()
	after := c.agent.memory()
	t.Logf("%d pods, %.1f/s; named for %.1f s at most after their end; agent's memory %.1f MiB, then %.1f MiB",
		pods-warmUp, (pods-warmUp)/lasted.Seconds(), lag.Seconds(), inMiB(before), inMiB(after))
	if growth := after - before; growth >= 5<<20 {
		t.Errorf("the agent's memory grew by %.1f MiB with %d pods", inMiB(growth), pods-warmUp)
	}
}

func inMiB(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// churn creates and deletes pods with one GPU each, on a node that they fill.
type churn struct {
	t       *testing.T
	kubelet *realKubelet
	agent   *holderWatch
	ids     []string
	gpuFile string

	created int
	alive   []string
	ended   map[string]time.Time
	given   map[string]map[string]bool // pods by GPU
}

func newChurn(t *testing.T, node string, gpus int) *churn {
	t.Helper()
	c := &churn{t: t, ids: gpuIDs(0)[:gpus], gpuFile: filepath.Join(t.TempDir(), "gpus.json"),
		ended: map[string]time.Time{}, given: map[string]map[string]bool{}}
	for _, id := range c.ids {
		c.given[id] = map[string]bool{}
	}
	c.kubelet = startRealKubelet(t, node, true, &devicePlugin{resource: gpuResource, ids: c.ids})
	makeNamespace(t, node)
	create(t, node, c.kubelet.pod("agent", "containers: [{name: agent, image: agent}]"))
	c.kubelet.lists(1)
	c.readRuntime()
	c.agent = c.kubelet.watchHolders(c.gpuFile, "agent", "--own-pod="+node+"/agent")
	c.agent.becomes()
	return c
}

// comeAndGo creates pods up to `most` in all, and waits until all are gone.
func (c *churn) comeAndGo(most int) {
	c.t.Helper()
	for c.created < most || len(c.alive) > 0 {
		c.step(most, true)
	}
}

// step creates pods on free GPUs up to `most` in all, and deletes running ones.
func (c *churn) step(most int, deletes bool) {
	c.t.Helper()
	pods := kube.CoreV1().Pods(c.kubelet.node)
	list, err := pods.List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	before := c.alive
	c.alive = nil
	for _, pod := range list.Items {
		if pod.Name == "agent" {
			continue
		}
		c.alive = append(c.alive, pod.Name)
		if pod.Status.Phase == corev1.PodFailed {
			c.t.Fatalf("%s failed: %s", pod.Name, pod.Status.Message)
		}
		if deletes && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			grace := int64(1)
			if err := pods.Delete(c.t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
				c.t.Fatal(err)
			}
		}
	}
	for _, pod := range before {
		if !slices.Contains(c.alive, pod) {
			c.ended[pod] = time.Now()
		}
	}
	for ; len(c.alive) < len(c.ids) && c.created < most; c.created++ {
		name := fmt.Sprintf("pod-%d", c.created)
		create(c.t, c.kubelet.node, c.kubelet.pod(name, "containers: ["+withGPUs("main", 1)+"]"))
		c.alive = append(c.alive, name)
	}
	c.readRuntime()
	time.Sleep(20 * time.Millisecond)
}

// readRuntime makes the GPUs show a process for each container that has them.
func (c *churn) readRuntime() {
	c.t.Helper()
	var gpus []device
	given := c.kubelet.runtime.given()
	for index, id := range c.ids {
		gpu := newDevice(index)
		gpu.UUID = id
		for _, pod := range given[id] {
			c.given[id][pod] = true
			gpu.Processes = append(gpu.Processes, process{processOf(pod)})
		}
		gpus = append(gpus, gpu)
	}
	if err := writeGPUs(c.gpuFile, gpus); err != nil {
		c.t.Fatal(err)
	}
}

// areGiven returns whether each pod was given a GPU: a kubelet lists a pod's GPU before its
// container exists.
func (c *churn) areGiven(pods []string) bool {
	for _, pod := range pods {
		if !slices.ContainsFunc(c.ids, func(id string) bool { return c.given[id][pod] }) {
			return false
		}
	}
	return true
}

// check returns the longest time for which a pod was listed after its end.
func (c *churn) check() time.Duration {
	c.t.Helper()
	lag := time.Duration(0)
	all := c.agent.all()
	for index, seen := range all {
		if seen.pods == nil {
			c.t.Error("the holders were unknown")
		}
		until := time.Now()
		if index+1 < len(all) {
			until = all[index+1].at
		}
		for id, pods := range seen.pods {
			if len(pods) != 1 || !c.given[id][pods[0]] {
				c.t.Errorf("%s was held by %v, and it was given to %v", id, pods, c.given[id])
			}
			for _, pod := range pods {
				if end, ended := c.ended[pod]; ended {
					lag = max(lag, until.Sub(end))
				}
			}
		}
	}
	// The agent polls at least every 5 s; the rest allows for VM pauses.
	if lag > 15*time.Second {
		c.t.Errorf("a pod was named for %v after its end", lag)
	}
	return lag
}

// memory returns the anonymous part of the agent's resident set, in bytes. The kernel drops and reads
// the program file's pages at any time.
func (w *holderWatch) memory() int64 {
	w.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.agent.process.Pid))
	if err != nil {
		w.t.Fatal(err)
	}
	match := regexp.MustCompile(`RssAnon:\s+(\d+)`).FindSubmatch(status)
	if match == nil {
		w.t.Fatalf("%s", status)
	}
	var kibibytes int64
	fmt.Sscan(string(match[1]), &kibibytes)
	return kibibytes << 10
}
