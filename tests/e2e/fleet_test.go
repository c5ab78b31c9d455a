package e2e

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const memoryTotal = 80 << 30

// device is a GPU in the file that `--gpu-source file:` reads; docs/reference.md has the keys.
type device struct {
	Index       int       `json:"index"`
	Name        string    `json:"name"`
	Utilization float64   `json:"utilization_percent"`
	MemoryUsed  int64     `json:"memory_used_bytes"`
	MemoryTotal int64     `json:"memory_total_bytes"`
	NvlinkTx    float64   `json:"nvlink_tx_mbps"`
	Processes   []process `json:"processes"`
}

type process struct {
	PID uint32 `json:"pid"`
}

// replica is what a pod's GPU shows, given the pod's share of the load: 0-100, 100 being all that it
// can do.
type replica func(share float64, ready bool, gpu *device)

// engine preallocates VRAM as vLLM does: busy or idle it holds 91 %. While it loads its model it
// looks busy.
func engine(share float64, ready bool, gpu *device) {
	gpu.Utilization = share
	if !ready {
		gpu.Utilization = 60
	}
	gpu.MemoryUsed = memoryTotal * 91 / 100
}

// fleet closes the loop that a cluster would: each pod of a workload holds one of the GPUs, and
// those that are ready share the load. Load is in percent of a GPU: 250 fills two and a half.
//
// It also answers as the queue in front of the workload would, in the same unit, for KEDA's
// metrics-api trigger: GPUs of a workload without replicas show nothing that could wake it. The
// first replica takes all that waits: from then on the GPUs alone keep the workload awake.
type fleet struct {
	t     *testing.T
	path  string
	shows replica
	queue *httptest.Server

	mutex   sync.Mutex
	load    float64
	pods    map[string]*corev1.Pod // by UID
	holder  []string               // of each GPU, a UID; empty: nobody
	signals []float64              // utilisation of the first GPUs, which no pod gets
	hidden  bool                   // there is no file to read
}

func newFleet(t *testing.T, path string, gpus, signals int, shows replica) *fleet {
	t.Helper()
	f := &fleet{
		t: t, path: path, shows: shows, pods: map[string]*corev1.Pod{},
		holder: make([]string, signals+gpus), signals: make([]float64, signals),
	}
	f.queue = httptest.NewServer(http.HandlerFunc(f.tellLoad))
	t.Cleanup(f.queue.Close)
	f.write()
	return f
}

// stir writes the file anew, for replicas that show something else each time.
func (f *fleet) stir() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.write()
}

func (f *fleet) setLoad(load float64) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.load = load
	f.write()
}

// setSignals keeps GPUs busy by something that is none of the workload's pods: demand that is there
// without a replica.
func (f *fleet) setSignals(percents ...float64) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	copy(f.signals, percents)
	f.write()
}

// hide takes the GPUs' file away, or brings it back.
func (f *fleet) hide(hidden bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.hidden = hidden
	f.write()
}

func (f *fleet) tellLoad(answer http.ResponseWriter, _ *http.Request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	waiting := f.load
	if len(f.pods) > 0 {
		waiting = 0
	}
	fmt.Fprintf(answer, `{"load": %g}`, waiting)
}

// podChanged gives a new pod that has a node a GPU, as the kubelet would.
func (f *fleet) podChanged(pod *corev1.Pod) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	uid := string(pod.UID)
	if pod.DeletionTimestamp != nil || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded {
		f.release(uid)
	} else {
		f.hold(uid)
		f.pods[uid] = pod
	}
	f.write()
}

func (f *fleet) podGone(pod *corev1.Pod) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.release(string(pod.UID))
	f.write()
}

func (f *fleet) hold(uid string) {
	if f.pods[uid] != nil {
		return
	}
	for gpu := len(f.signals); gpu < len(f.holder); gpu++ {
		if f.holder[gpu] == "" {
			f.holder[gpu] = uid
			return
		}
	}
}

func (f *fleet) release(uid string) {
	delete(f.pods, uid)
	for gpu, holder := range f.holder {
		if holder == uid {
			f.holder[gpu] = ""
		}
	}
}

// write replaces the file at once, so that no reader sees half of it.
func (f *fleet) write() {
	ready := 0
	for _, pod := range f.pods {
		if isReady(pod) {
			ready++
		}
	}
	share := math.Min(100, f.load/math.Max(1, float64(ready)))
	gpus := make([]device, len(f.holder))
	for index, holder := range f.holder {
		gpu := &gpus[index]
		*gpu = device{Index: index, Name: "Simulated", MemoryTotal: memoryTotal, Processes: []process{}}
		if index < len(f.signals) {
			gpu.Utilization = f.signals[index]
		} else if pod := f.pods[holder]; pod != nil {
			gpu.Processes = []process{{processOf(holder)}}
			f.show(gpu, pod, share)
		}
	}
	text := must(json.Marshal(map[string]any{"gpus": gpus}))
	place := f.path
	if f.hidden {
		place += ".hidden"
		os.Remove(f.path)
	}
	next := f.path + ".next"
	err := os.WriteFile(next, text, 0o644)
	if err == nil {
		err = os.Rename(next, place)
	}
	if err != nil {
		f.t.Error(err)
	}
}

func (f *fleet) show(gpu *device, pod *corev1.Pod, share float64) {
	if isReady(pod) {
		f.shows(share, true, gpu)
	} else {
		f.shows(0, false, gpu)
	}
}

// processOf is another number for another pod: a new holder of a GPU is a new process.
func processOf(uid string) uint32 {
	sum := fnv.New32a()
	sum.Write([]byte(uid))
	return sum.Sum32()>>1 | 1
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
