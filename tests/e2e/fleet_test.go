package e2e

import (
	"encoding/json"
	"hash/fnv"
	"os"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const memoryTotal = 80 << 30

// device is a GPU in the file that `--gpu-source file:` reads; docs/reference.md has the keys.
type device struct {
	Index       int       `json:"index"`
	UUID        string    `json:"uuid,omitempty"`
	Name        string    `json:"name"`
	Utilization float64   `json:"utilization_percent"`
	MemoryUsed  int64     `json:"memory_used_bytes"`
	MemoryTotal int64     `json:"memory_total_bytes"`
	NvlinkTx    float64   `json:"nvlink_tx_mbps"`
	Processes   []process `json:"processes"`

	lost bool // every reading of it fails
}

// MarshalJSON writes null for values that cannot be read.
func (gpu device) MarshalJSON() ([]byte, error) {
	if gpu.lost {
		return json.Marshal(map[string]any{"index": gpu.Index, "uuid": gpu.UUID, "name": gpu.Name,
			"utilization_percent": nil, "memory_used_bytes": nil, "processes": nil})
	}
	type readable device // without this method
	return json.Marshal(readable(gpu))
}

type process struct {
	PID uint32 `json:"pid"`
}

// replica sets what a pod's GPU shows for the pod's share of the load: 0-100, 100 being its
// maximum.
type replica func(share float64, ready bool, gpu *device)

// engine preallocates VRAM as vLLM does: 91 %, busy or idle. While it loads its model it looks
// busy.
func engine(share float64, ready bool, gpu *device) {
	gpu.Utilization = share
	if !ready {
		gpu.Utilization = 60
	}
	gpu.MemoryUsed = memoryTotal * 91 / 100
}

// fleet closes the loop as a cluster does: each pod of a workload holds one of the GPUs, and the
// ready pods share the load.
type fleet struct {
	*demand
	t    *testing.T
	path string

	holder  []string  // UID by GPU; empty: free
	signals []float64 // utilization of the first GPUs, which no pod gets
	hidden  bool      // the GPU file is removed
}

func newFleet(t *testing.T, path string, gpus, signals int, shows replica) *fleet {
	t.Helper()
	f := &fleet{
		t: t, path: path,
		holder: make([]string, signals+gpus), signals: make([]float64, signals),
	}
	f.demand = newDemand(t, &sync.Mutex{}, shows, f.write)
	f.write()
	return f
}

// varyGPUs rewrites the file, for replicas that show something else each time.
func (f *fleet) varyGPUs() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.write()
}

// setSignals keeps GPUs busy that are none of the workload's: demand that exists without a replica.
func (f *fleet) setSignals(percents ...float64) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	copy(f.signals, percents)
	f.write()
}

// hide removes the GPU file, or restores it.
func (f *fleet) hide(hidden bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.hidden = hidden
	f.write()
}

// podChanged gives a GPU to a new pod with a node, as the kubelet would.
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

func (f *fleet) write() {
	gpus := make([]device, len(f.holder))
	for index, holder := range f.holder {
		gpu := &gpus[index]
		*gpu = newDevice(index)
		if index < len(f.signals) {
			gpu.Utilization = f.signals[index]
		} else if pod := f.pods[holder]; pod != nil {
			gpu.Processes = []process{{processOf(holder)}}
			f.show(pod, gpu)
		}
	}
	place := f.path
	if f.hidden {
		place += ".hidden"
		os.Remove(f.path)
	}
	if err := writeGPUs(place, gpus); err != nil {
		f.t.Error(err)
	}
}

func newDevice(index int) device {
	return device{Index: index, Name: "Simulated", MemoryTotal: memoryTotal, Processes: []process{}}
}

// writeGPUs replaces the file atomically.
func writeGPUs(path string, gpus []device) error {
	text := must(json.Marshal(map[string]any{"gpus": gpus}))
	next := path + ".next"
	if err := os.WriteFile(next, text, 0o644); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// processOf returns a different PID for each pod: a new holder of a GPU is a new process.
func processOf(uid string) uint32 {
	sum := fnv.New32a()
	sum.Write([]byte(uid))
	return sum.Sum32()>>1 | 1
}
