package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const gpusOfAnAMDNode = 6

// amdNode is a node with MI210 GPUs in a fake /sys. Its files show the load of the pods that hold
// them. The IDs of the GPUs are their PCI addresses, as AMD's device plugin has them.
type amdNode struct {
	t       *testing.T
	sysfs   string
	ids     []string
	kubelet *fakeKubelet

	mutex  sync.Mutex
	demand *demand
}

func newAMDNode(t *testing.T, name string) *amdNode {
	t.Helper()
	n := &amdNode{t: t, sysfs: t.TempDir()}
	for gpu := range gpusOfAnAMDNode {
		n.ids = append(n.ids, fmt.Sprintf("0000:%02x:00.0", 0x63+gpu))
		n.addGPU(gpu)
	}
	n.kubelet = startFakeKubelet(t, &n.mutex, n.ids, true)
	n.kubelet.resource = amdResource
	n.demand = newDemand(t, &n.mutex, engine, n.write)
	n.mutex.Lock()
	n.write()
	n.mutex.Unlock()
	makeNode(t, name, name)
	followPods(t, name, n.podChanged, n.podGone)
	return n
}

// addGPU writes the files that never change, in the kernel's layout.
func (n *amdNode) addGPU(gpu int) {
	n.t.Helper()
	device := filepath.Join("devices/pci0000:00", n.ids[gpu])
	for file, text := range map[string]string{
		"device":                             "0x740f",
		"product_name":                       "AMD Instinct MI210",
		"unique_id":                          fmt.Sprintf("%016x", 0x1901e6b24a7a4ae6+gpu),
		"mem_info_vram_total":                fmt.Sprint(memoryTotal),
		fmt.Sprintf("drm/card%d/dev", gpu+1): fmt.Sprintf("226:%d", gpu+1),
		fmt.Sprintf("drm/renderD%d/dev", 128+gpu): fmt.Sprintf("226:%d", 128+gpu),
		"power/runtime_status":                    "active",
		"hwmon/hwmon5/temp2_label":                "junction",
		"hwmon/hwmon5/temp2_input":                "52000",
	} {
		n.writeFile(filepath.Join(device, file), text)
	}
	driver := filepath.Join(n.sysfs, "module/amdgpu/drivers/pci:amdgpu")
	if err := os.MkdirAll(driver, 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("../../../..", device), filepath.Join(driver, n.ids[gpu])); err != nil {
		n.t.Fatal(err)
	}
}

// writeFile replaces a file of /sys atomically.
func (n *amdNode) writeFile(name, text string) {
	path := filepath.Join(n.sysfs, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path+".next", []byte(text+"\n"), 0o644)
	}
	if err == nil {
		err = os.Rename(path+".next", path)
	}
	if err != nil {
		n.t.Error(err)
	}
}

// write writes the files that change with the load. The mutex is held.
func (n *amdNode) write() {
	clear(n.demand.pods)
	holders := n.kubelet.holders()
	for _, pod := range holders {
		if pod != nil {
			n.demand.pods[string(pod.UID)] = pod
		}
	}
	for index, pod := range holders {
		gpu := newDevice(index)
		if pod != nil {
			n.demand.show(pod, &gpu)
		}
		device := filepath.Join("devices/pci0000:00", n.ids[index])
		n.writeFile(filepath.Join(device, "gpu_busy_percent"), fmt.Sprintf("%.0f", gpu.Utilization))
		n.writeFile(filepath.Join(device, "mem_info_vram_used"), fmt.Sprint(gpu.MemoryUsed))
	}
}

func (n *amdNode) podChanged(pod *corev1.Pod) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.kubelet.podChanged(pod)
	n.write()
}

func (n *amdNode) podGone(pod *corev1.Pod) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.kubelet.podGone(string(pod.UID))
	n.write()
}

// The agent and the aggregator are those of a fleet of one node.
func TestWorkloadOnAMDGoesFromZeroToTheMaximumAndBack(t *testing.T) {
	t.Parallel()
	const name = "amd"
	node := newAMDNode(t, name)
	agent := startServing(t, name+"-agent", append(node.kubelet.flags(), "--role=agent", "--gpu-source=amd",
		"--sysfs-root="+node.sysfs, "--poll-interval=200ms", "--discover-engines=false")...)
	giveName(t, "keda-gpu-scaler-agents."+name, agent)
	w := &workload{t: t, namespace: name, target: map[string]any{"name": "llm"}, demand: node.demand}
	makeNamespace(t, name)
	w.useScalers(startServing(t, name+"-aggregator", "--role=aggregator",
		"--agents=dns:///keda-gpu-scaler-agents."+name+".svc:6001"))
	object := fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  replicas: 0
  selector: {matchLabels: {app: llm}}
  template:
    metadata: {labels: {app: llm}}
    spec:
      nodeSelector: {gpu-nodes: %s}
      tolerations: [{operator: Exists}]
      containers: [{name: llm, image: llm, resources: {limits: {%s: 1}}}]
`, name, amdResource)
	parsed, _ := parse(t, name, object)
	w.watchObjects(parsed.GroupVersionKind())
	create(t, name, object)
	w.scaleOnNodes(gpusOfAnAMDNode)

	up := w.load(gpusOfAnAMDNode * 100)
	w.line.reaches(gpusOfAnAMDNode, timeout)
	w.line.risesOnly(up)
	w.holds(2 * time.Second)
	if held, err := agent.metric("keda_gpu_scaler_gpu_in_use{", `pod="llm-`); err != nil || held != gpusOfAnAMDNode {
		t.Errorf("pods hold %g GPUs, not %d (%v)", held, gpusOfAnAMDNode, err)
	}

	down := w.load(0)
	w.line.reaches(0, timeout)
	w.line.fallsOnly(down)
	w.line.stays(2 * time.Second)
}
