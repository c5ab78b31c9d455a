package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// newNodes has real kubelets.
func newNodes(t *testing.T, name string) *gpuNodes {
	t.Helper()
	return startRealKubelets(t, name).withAgents(t, name)
}

// startRealKubelets creates nodes without agents. The first kubelet has no Pods API, as in a
// cluster during the upgrade to Kubernetes 1.37. Each node also runs its agent's pod.
func startRealKubelets(t *testing.T, name string) *gpuNodes {
	t.Helper()
	n := makeNodes(t, name)
	var kubelets []*realKubelet
	for number, node := range n.all {
		k := launchRealKubelet(t, node.name, number > 0, &devicePlugin{resource: gpuResource, ids: node.ids})
		node.kubelet = k
		kubelets = append(kubelets, k)
	}
	namespace := name + "-agents"
	makeNamespace(t, namespace)
	for _, k := range kubelets {
		k.offersDevices()
		patch(t, "", "{apiVersion: v1, kind: Node, metadata: {name: "+k.node+", labels: {gpu-nodes: "+name+"}}}")
		create(t, namespace, k.pod(k.node, "containers: [{name: agent, image: agent}]"))
	}
	for _, k := range kubelets {
		k.lists(1)
		k.ownPod = namespace + "/" + k.node
	}
	return n
}

// withAgents returns the same nodes with their own agents and workloads.
func (n *gpuNodes) withAgents(t *testing.T, name string) *gpuNodes {
	t.Helper()
	own := makeNodes(t, name)
	own.pool = n.pool
	for number, node := range n.all {
		own.all[number].name, own.all[number].kubelet = node.name, node.kubelet
	}
	own.startAgents()
	return own
}

func (k *realKubelet) podChanged(pod *corev1.Pod) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.pods[string(pod.UID)] = pod
}

func (k *realKubelet) podGone(uid string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	delete(k.pods, uid)
}

// holders returns the pods with running containers that were given the devices of the first plugin.
func (k *realKubelet) holders() []*corev1.Pod {
	using := k.runtime.using()
	k.mutex.Lock()
	defer k.mutex.Unlock()
	var holders []*corev1.Pod
	for _, id := range k.plugins[0].ids {
		holders = append(holders, k.pods[using[id]])
	}
	return holders
}
