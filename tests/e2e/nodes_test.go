package e2e

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

const (
	nodeCount   = 3
	gpusOfANode = 24
)

// gpuNodes are nodes of the control plane that run only pods which select them. Each has GPUs, a
// kubelet that assigns them, and a real agent; one DNS name lists all agents. Aggregators serve
// KEDA. Workloads share the nodes; each loads only the GPUs of its own pods.
type gpuNodes struct {
	t    *testing.T
	name string
	pool string // the nodes' label
	all  [nodeCount]*gpuNode

	mutex   sync.Mutex
	demands map[string]*demand // key: namespace and label app
}

type gpuNode struct {
	name    string
	gpus    string // the GPU file of its agent
	ids     []string
	kubelet nodeKubelet
	holders []*corev1.Pod // index: GPU; nil: free
	agent   *scaler
	lost    bool // its GPUs exist but cannot be read
}

// nodeKubelet assigns the GPUs of its node to pods. The nodes' mutex guards all but flags.
type nodeKubelet interface {
	flags() []string // flags of an agent on its node
	podChanged(pod *corev1.Pod)
	podGone(uid string)
	holders() []*corev1.Pod // index: GPU; nil: free
}

// newFakeNodes has fake kubelets, with the Pods API or as before Kubernetes 1.37. KWOK runs the
// pods, with start and end delays from their annotations.
func newFakeNodes(t *testing.T, name string, hasPodsAPI bool) *gpuNodes {
	t.Helper()
	n := makeNodes(t, name)
	for _, node := range n.all {
		node.kubelet = startFakeKubelet(t, &n.mutex, node.ids, hasPodsAPI)
		makeNode(t, node.name, name)
	}
	n.startAgents()
	return n
}

// makeNodes creates the nodes without kubelets and agents.
func makeNodes(t *testing.T, name string) *gpuNodes {
	t.Helper()
	n := &gpuNodes{t: t, name: name, pool: name, demands: map[string]*demand{}}
	for number := range n.all {
		n.all[number] = &gpuNode{
			name: fmt.Sprintf("%s-%d", name, number),
			gpus: filepath.Join(t.TempDir(), "gpus.json"),
			ids:  gpuIDs(number),
		}
	}
	return n
}

func (n *gpuNodes) startAgents() {
	n.t.Helper()
	n.mutex.Lock()
	n.write()
	n.mutex.Unlock()
	for number, node := range n.all {
		followPods(n.t, node.name,
			func(pod *corev1.Pod) { n.podChanged(node, pod) }, func(pod *corev1.Pod) { n.podGone(node, pod) })
		node.agent = startServing(n.t, fmt.Sprintf("%s-%d", n.name, number), append(node.kubelet.flags(), "--role=agent",
			"--gpu-source=file:"+node.gpus, "--poll-interval=200ms",
			// Nothing listens at the addresses of pods without processes.
			"--discover-engines=false")...)
	}
	n.areListed(n.agents()...)
}

func (n *gpuNodes) agents() []*scaler {
	var agents []*scaler
	for _, node := range n.all {
		agents = append(agents, node.agent)
	}
	return agents
}

// areListed makes DNS list exactly these agents.
func (n *gpuNodes) areListed(agents ...*scaler) {
	n.t.Helper()
	giveName(n.t, "keda-gpu-scaler-agents."+n.name, agents...)
}

// gpuIDs returns the IDs of a node's GPUs.
func gpuIDs(node int) []string {
	ids := make([]string, gpusOfANode)
	for gpu := range ids {
		ids[gpu] = fmt.Sprintf("GPU-%08d-0000-4000-8000-%012d", node, gpu)
	}
	return ids
}

// makeNode creates a node of the control plane without a kubelet, for pods that select its pool. It
// has GPUs of each vendor.
func makeNode(t *testing.T, name, pool string) {
	t.Helper()
	resources := corev1.ResourceList{
		"cpu": quantity.MustParse("32"), "memory": quantity.MustParse("256Gi"),
		"pods": quantity.MustParse("250"), gpuResource: *quantity.NewQuantity(gpusOfANode, quantity.DecimalSI),
		amdResource: *quantity.NewQuantity(gpusOfAnAMDNode, quantity.DecimalSI)}
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"kubernetes.io/hostname": name, "gpu-nodes": pool}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "gpu-nodes", Value: pool, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: resources, Allocatable: resources},
	}
	if _, err := kube.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// followPods reports each change of the node's pods until the test ends.
func followPods(t *testing.T, node string, changed, gone func(*corev1.Pod)) {
	t.Helper()
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0,
		informers.WithTweakListOptions(func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node).String()
		}))
	factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(now any) { changed(now.(*corev1.Pod)) },
		UpdateFunc: func(_, now any) { changed(now.(*corev1.Pod)) },
		DeleteFunc: func(last any) { gone(lastKnown[*corev1.Pod](last)) },
	})
	follow(t, factory)
}

func (n *gpuNodes) podChanged(node *gpuNode, pod *corev1.Pod) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	node.kubelet.podChanged(pod)
	n.write()
}

func (n *gpuNodes) podGone(node *gpuNode, pod *corev1.Pod) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	node.kubelet.podGone(string(pod.UID))
	n.write()
}

// write writes the GPU files of all nodes: each GPU shows its pod's share of the load.
func (n *gpuNodes) write() {
	for _, d := range n.demands {
		clear(d.pods)
	}
	for _, node := range n.all {
		node.holders = node.kubelet.holders()
		for _, pod := range node.holders {
			if d := n.demandOn(pod); d != nil {
				d.pods[string(pod.UID)] = pod
			}
		}
	}
	for _, node := range n.all {
		if err := writeGPUs(node.gpus, n.devicesOf(node)); err != nil {
			n.t.Error(err)
		}
	}
}

func (n *gpuNodes) devicesOf(node *gpuNode) []device {
	gpus := make([]device, gpusOfANode)
	for index, pod := range node.holders {
		gpu := &gpus[index]
		*gpu = newDevice(index)
		gpu.UUID, gpu.lost = node.ids[index], node.lost
		if pod == nil {
			continue
		}
		gpu.Processes = []process{{processOf(string(pod.UID))}}
		if d := n.demandOn(pod); d != nil {
			d.show(pod, gpu)
		}
	}
	return gpus
}

// loseGPUs makes all readings of a node's GPUs fail, or succeed again.
func (n *gpuNodes) loseGPUs(node *gpuNode, lost bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	node.lost = lost
	n.write()
}

// demandOn returns nil for a pod of no workload and for no pod.
func (n *gpuNodes) demandOn(pod *corev1.Pod) *demand {
	if pod == nil {
		return nil
	}
	return n.demands[pod.Namespace+"/"+pod.Labels["app"]]
}

// startAggregators starts aggregators that give the same answers.
func (n *gpuNodes) startAggregators(t *testing.T, name string, count int, flags ...string) []*scaler {
	t.Helper()
	var aggregators []*scaler
	for number := range count {
		aggregators = append(aggregators, startServing(t, fmt.Sprintf("%s-aggregator-%d", name, number),
			append([]string{"--role=aggregator",
				"--agents=dns:///keda-gpu-scaler-agents." + n.name + ".svc:6001"}, flags...)...))
	}
	return aggregators
}

// newDemand returns the demand on the pods with that label app in a namespace.
func (n *gpuNodes) newDemand(t *testing.T, namespace, app string) *demand {
	t.Helper()
	d := newDemand(t, &n.mutex, engine, n.write)
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.demands[namespace+"/"+app] = d
	return d
}

// newWorkload creates the namespace and the object llm; its pods have the label app: llm. KEDA uses
// these aggregators for it.
func (n *gpuNodes) newWorkload(t *testing.T, namespace, text string, aggregators ...*scaler) *workload {
	t.Helper()
	w := &workload{t: t, namespace: namespace}
	makeNamespace(t, namespace)
	w.demand = n.newDemand(t, namespace, "llm")
	w.useScalers(aggregators...)
	object, _ := parse(t, namespace, text)
	w.target = map[string]any{"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "name": "llm"}
	w.watchObjects(object.GroupVersionKind())
	create(t, namespace, text)
	return w
}

// watchObjects makes the timeline follow the object llm of that kind.
func (w *workload) watchObjects(kind schema.GroupVersionKind) {
	w.t.Helper()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		w.t.Fatal(err)
	}
	note := func(now any) {
		if object := now.(*unstructured.Unstructured); object.GetName() == "llm" {
			wanted, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
			ready, _, _ := unstructured.NestedInt64(object.Object, "status", "readyReplicas")
			w.line.add(int(wanted), int(ready))
		}
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(objects, 0, w.namespace, nil)
	factory.ForResource(mapping.Resource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, now any) { note(now) },
	})
	follow(w.t, factory)
}

// object returns a Deployment or a StatefulSet with pods labelled app: NAME.
func (n *gpuNodes) object(kind, name string, replicas, gpus int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: %s
metadata: {name: %[2]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec: %[4]s
`, kind, name, replicas, n.podSpec(name, gpus, spread("{app: "+name+"}")))
}

// podSpec returns a pod spec in one line, including its placement among the nodes.
func (n *gpuNodes) podSpec(name string, gpus int, placement string) string {
	return fmt.Sprintf("{nodeSelector: {gpu-nodes: %s}, tolerations: [{operator: Exists}], "+
		"containers: [{name: %s, image: llm, resources: {limits: {nvidia.com/gpu: %d}}}], %s}",
		n.pool, name, gpus, placement)
}

// spread distributes pods with these labels evenly over the nodes.
func spread(labels string) string {
	return "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, " +
		"whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: " + labels + "}}]"
}
