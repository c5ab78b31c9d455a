package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// engineNode is a node with real pods: each runs an engine in its own network, on the GPU that the
// kubelet gave the pod. The GPU file shows the engines' GPUs. The gateway has the ready engines.
type engineNode struct {
	t       *testing.T
	gpus    string // the GPU file
	kubelet *fakeKubelet
	gateway *gateway
	flags   []string // each engine's

	mutex   sync.Mutex
	engines map[string]*engineProcess // key: the pod's UID
}

// newEngineNode has a kubelet that reports the pods' addresses, so engines are found as without
// hostPID.
func newEngineNode(t *testing.T, name string, gateway *gateway, flags ...string) *engineNode {
	t.Helper()
	n := &engineNode{t: t, gpus: filepath.Join(t.TempDir(), "gpus.json"), gateway: gateway, flags: flags,
		engines: map[string]*engineProcess{}}
	ids := gpuIDs(0)
	n.kubelet = startFakeKubelet(t, &n.mutex, ids, true)
	free := make([]device, len(ids))
	for index, id := range ids {
		free[index] = newDevice(index)
		free[index].UUID = id
	}
	if err := writeGPUs(n.gpus, free); err != nil {
		t.Fatal(err)
	}
	makeNode(t, name, name)
	followPods(t, name, n.podChanged, func(pod *corev1.Pod) { n.stop(string(pod.UID)) })
	return n
}

func (n *engineNode) podChanged(pod *corev1.Pod) {
	uid := string(pod.UID)
	if pod.DeletionTimestamp != nil {
		n.terminates(pod)
		n.stop(uid)
		return
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.kubelet.podChanged(pod)
	engine := n.engines[uid]
	if engine == nil {
		gpu := slices.Index(n.kubelet.holder, uid)
		var err error
		if engine, err = startEngineInPod(n.t, pod.Name, append([]string{
			"--gpu-file=" + n.gpus, fmt.Sprintf("--gpu-index=%d", gpu),
			"--load-time=" + pod.Annotations[startDelay]}, n.flags...)...); err != nil {
			n.t.Error(err)
			return
		}
		n.engines[uid] = engine
		go n.probe(uid, engine)
	}
	n.kubelet.podChanged(withAddress(pod, engine))
}

// withAddress returns the pod with its engine's address: KWOK, which creates no network, sets
// another one.
func withAddress(pod *corev1.Pod, engine *engineProcess) *corev1.Pod {
	own := pod.DeepCopy()
	own.Status.PodIP, own.Status.PodIPs = engine.address, []corev1.PodIP{{IP: engine.address}}
	return own
}

// terminates makes the kubelet list the pod as being deleted while its engine drains.
func (n *engineNode) terminates(pod *corev1.Pod) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if engine := n.engines[string(pod.UID)]; engine != nil {
		n.kubelet.podChanged(withAddress(pod, engine))
	}
}

// probe adds an engine to the gateway once it is ready, unless its pod is gone by then.
func (n *engineNode) probe(uid string, engine *engineProcess) {
	for !engine.isHealthy() {
		select {
		case <-engine.ended:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.engines[uid] == engine {
		n.gateway.add(engine)
	}
}

// stop ends a pod as a kubelet does: the GPU is free once the engine has answered all its requests.
func (n *engineNode) stop(uid string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	engine := n.engines[uid]
	if engine == nil {
		return
	}
	delete(n.engines, uid)
	n.gateway.remove(engine)
	go func() {
		engine.terminate()
		n.mutex.Lock()
		defer n.mutex.Unlock()
		n.kubelet.podGone(uid)
	}()
}

// Each engine makes at most 320 tokens a second, for 16 requests at once. A request has 100 tokens.
var enginePace = []string{"--max-num-seqs=16", "--tokens-per-second=60", "--full-batch-tokens-per-second=20",
	"--drain=5m"}

const modelLoadTime = 5 * time.Second

// engineStart is the initial state of a workload of engines. Zero values fit most tests.
type engineStart struct {
	replicas int
	strategy string // a line of YAML in the Deployment's spec
}

const engineDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  replicas: %d
  selector: {matchLabels: {app: llm}}
  %s
  template:
    metadata:
      labels: {app: llm}
      annotations: {%s: %v}
    spec:
      nodeSelector: {gpu-nodes: %s}
      tolerations: [{key: gpu-nodes, operator: Exists}]
      containers: [{name: vllm, image: llm, resources: {limits: {nvidia.com/gpu: 1}}}]
`

// newEngineWorkload creates a Deployment with pods on a node of engines, and a scaler that
// discovers them.
func newEngineWorkload(t *testing.T, name string, how engineStart) (*workload, *gateway) {
	t.Helper()
	return makeEngineWorkload(t, name, how, func(node *engineNode) []*scaler {
		return []*scaler{startServing(t, name, append(node.read(), "--allow-endpoints="+node.gateway.address)...)}
	})
}

// newEngineWorkloadOnFleet has an agent that discovers them, and aggregators that serve KEDA.
func newEngineWorkloadOnFleet(t *testing.T, name string, aggregators int) (w *workload, gateway *gateway, agent *scaler) {
	t.Helper()
	w, gateway = makeEngineWorkload(t, name, engineStart{}, func(node *engineNode) []*scaler {
		agent = startServing(t, name+"-agent", append(node.read(), "--role=agent")...)
		giveName(t, "keda-gpu-scaler-agents."+name, agent)
		var all []*scaler
		for number := range aggregators {
			all = append(all, startServing(t, fmt.Sprintf("%s-aggregator-%d", name, number), "--role=aggregator",
				"--agents=dns:///keda-gpu-scaler-agents."+name+".svc:6001", "--allow-endpoints="+node.gateway.address))
		}
		return all
	})
	return w, gateway, agent
}

// read returns the flags with which a scaler discovers the node's engines.
func (n *engineNode) read() []string {
	return []string{"--gpu-source=file:" + n.gpus, "--attribution=kubelet",
		"--pod-resources-socket=" + n.kubelet.podResourcesSocket(),
		"--pods-api-socket=" + n.kubelet.podsAPISocket(), "--discover-engines"}
}

func makeEngineWorkload(t *testing.T, name string, how engineStart, answers func(*engineNode) []*scaler) (*workload, *gateway) {
	t.Helper()
	gateway := startGateway(t)
	giveNameTo(t, "gateway."+name, gateway.address)
	node := newEngineNode(t, name, gateway, enginePace...)
	w := &workload{t: t, namespace: name, target: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "name": "llm"}}
	makeNamespace(t, name)
	scalers := answers(node)
	w.scaler = scalers[0]
	w.useScalers(scalers...)
	w.watchObjects(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	create(t, name, fmt.Sprintf(engineDeployment, how.replicas, how.strategy,
		startDelay, modelLoadTime, name))
	return w, gateway
}

// pressure returns the three-line trigger.
func (w *workload) pressure() map[string]any {
	return map[string]any{"type": "external-push", "metadata": map[string]string{
		"scalerAddress": "keda-gpu-scaler." + w.namespace + ":6000",
		"profile":       "vllm-inference",
	}}
}

// held returns a push trigger on the requests waiting in the gateway.
func (w *workload) held() map[string]any {
	return map[string]any{"type": "external-push", "metadata": map[string]string{
		"scalerAddress":      "keda-gpu-scaler." + w.namespace + ":6000",
		"metricType":         "prometheus",
		"prometheusEndpoint": "http://gateway:8000/metrics",
		"prometheusMetric":   waitingSeries,
		"prometheusAbsent":   "0", // before its first request
		"targetValue":        "16",
	}}
}

// valueOf returns the scaler's value for a trigger; ok is false on error.
func (w *workload) valueOf(trigger map[string]any) (value float64, ok bool) {
	w.t.Helper()
	words := []string{"query", w.scaler.address + ":6000", "--namespace=" + w.namespace, "--name=" + w.scaledObject(), "--format=json"}
	for key, value := range trigger["metadata"].(map[string]string) {
		if key != "scalerAddress" {
			words = append(words, key+"="+value)
		}
	}
	// exits with an error if the answer is one
	output, _ := exec.CommandContext(w.t.Context(), binary, words...).Output()
	var answers []struct{ Value any }
	if err := json.Unmarshal(output, &answers); err != nil || len(answers) != 1 {
		w.t.Errorf("query printed %q: %v", output, err)
		return 0, false
	}
	value, ok = answers[0].Value.(float64)
	return value, ok
}

// loadResult is the load generator's report.
type loadResult struct {
	Requests, Answered int
	Errors             any
	Latency            map[string]float64 `json:"latency_seconds"`
}

// startLoad sends requests of 100 tokens to the gateway, at the rates of a curve. The result
// arrives when all are answered.
func startLoad(t *testing.T, curve string, to *gateway, flags ...string) <-chan loadResult {
	t.Helper()
	path := filepath.Join(t.TempDir(), "curve")
	if err := os.WriteFile(path, []byte(curve), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), lab, append([]string{"load", "--target=http://" + to.address + ":8000",
		"--shape=" + path, "--max-tokens=100", "--timeout=5m", "--output=json"}, flags...)...)
	result := make(chan loadResult, 1)
	over := make(chan struct{})
	t.Cleanup(func() { <-over })
	go func() {
		defer close(over)
		output, err := command.Output() // exits with an error if a request was not answered
		if t.Context().Err() != nil {
			return // the test is over, and needs no result
		}
		var end loadResult
		if wrong := json.Unmarshal(output, &end); wrong != nil {
			t.Errorf("load: %v, %v\n%s", err, wrong, output)
		}
		result <- end
	}()
	return result
}

// Only the metrics of the engines and the gateway show demand: VRAM is allocated for good, and each
// engine's GPU is at 100 % from its first request on.
func TestThreeLinesScaleEnginesFromZeroToTheMaximumAndBackUnderLoad(t *testing.T) {
	t.Parallel()
	const most = 4
	w, gateway := newEngineWorkload(t, "engines", engineStart{})
	w.scale(scaledObject{min: 0, max: most, triggers: []any{w.pressure(), w.held()}})
	w.scaler.waitForStreams(2)
	w.holds(2 * time.Second)

	run := w.record(gateway)
	load := w.line.mark("load")
	ended := startLoad(t, "0 2\n20 15\n80 4\n100 0\n", gateway)
	<-gateway.first
	eventually(t, timeout, "a replica is asked for", func() bool { return len(w.line.changes(load)) > 0 })
	firstAsked := w.line.began.Add(w.line.changes(load)[0].at)
	fmt.Fprintf(os.Stderr, "e2e: first request to first replica asked for %.2f s\n",
		firstAsked.Sub(gateway.firstAt).Seconds())
	w.line.reaches(most, 2*timeout)

	end := w.returnsToZero(ended, most) // the profile's activationWindow is 2 minutes
	recorded := run.end()
	if got := recorded.highest(); got <= beyondOneReplica {
		t.Errorf("the highest value is %g, which one replica may have", got)
	}
	recorded.write(end)
	w.scaler.checkEnginesFound(most)
}

// The same on a fleet, by one trigger: requests that the gateway holds wake the first replica. The
// capacity is not known within this minute, so pressure sets the number. A queue that counts by its
// length would reach the maximum.
func TestGatewayOnTheTriggerOfAgentsEnginesScalesThemFromZeroAndBack(t *testing.T) {
	t.Parallel()
	const load = 2.4 // replicas
	need := int(math.Ceil(load))
	w, gateway, agent := newEngineWorkloadOnFleet(t, "fleet-engines", 1)
	w.scale(scaledObject{min: 0, max: 20, triggers: []any{w.behindGateway()}})
	w.scaler.waitForStreams(1)
	w.holds(2 * time.Second)

	ended := startLoad(t, fmt.Sprintf("0 %[1]g\n60 %[1]g\n61 0\n", load*requestsPerReplica()), gateway, "--poisson")
	eventually(t, 2*timeout, fmt.Sprintf("%d replicas or more are ready", need), func() bool {
		return w.line.ready() >= need
	})
	w.returnsToZero(ended, 3*need)
	agent.checkEnginesFound(need)
}

// returnsToZero waits until the load is over, and then until the workload is at zero.
func (w *workload) returnsToZero(ended <-chan loadResult, most int) loadResult {
	w.t.Helper()
	end := <-ended
	w.line.mark("load is over")
	if end.Requests == 0 || end.Answered != end.Requests {
		w.t.Errorf("%d of %d requests were answered: %v", end.Answered, end.Requests, end.Errors)
	}
	w.line.reaches(0, 3*timeout)
	w.line.stays(3 * time.Second)
	w.line.neverAbove(most)
	return end
}

// A replica counts at most twice its target.
const beyondOneReplica = 2 * 80

// checkEnginesFound fails unless the scaler has discovered at least that many engines.
func (s *scaler) checkEnginesFound(least int) {
	s.t.Helper()
	output := string(must(os.ReadFile(s.log)))
	if got := strings.Count(output, "event=engine_found"); got < least {
		s.t.Errorf("%d engines were found, of %d at least", got, least)
	}
}
