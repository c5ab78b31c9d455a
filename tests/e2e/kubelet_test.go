package e2e

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

const gpuResource = "nvidia.com/gpu"

// kubelet stands in for a node's: it gives GPUs to the pods that ask for them, as it and NVIDIA's
// device plugin would, and tells who has which on its two unix sockets, with Kubernetes' own messages.
// Only the fields are guarded; calls from inside have the mutex already.
type kubelet struct {
	podresources.UnimplementedPodResourcesListerServer
	v1alpha1.UnimplementedPodsServer

	t          *testing.T
	mutex      *sync.Mutex
	folder     string
	ids        []string // of its GPUs, as the device plugin names them
	hasPodsAPI bool
	servers    []*grpc.Server

	pods    map[string]*corev1.Pod // by UID
	holder  []string               // of each GPU, a UID; empty: nobody
	unaware bool                   // it has not heard of its pods from the API server since its start
	lists   int                    // how often it was asked for them
}

// startKubelet listens on return. One of before Kubernetes 1.37 has no Pods API.
func startKubelet(t *testing.T, mutex *sync.Mutex, ids []string, hasPodsAPI bool) *kubelet {
	t.Helper()
	folder, err := os.MkdirTemp("", "kubelet") // a test's own is too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	k := &kubelet{t: t, mutex: mutex, folder: folder, ids: ids, hasPodsAPI: hasPodsAPI,
		pods: map[string]*corev1.Pod{}, holder: make([]string, len(ids))}
	t.Cleanup(k.stop)
	k.start()
	return k
}

func (k *kubelet) start() {
	k.t.Helper()
	k.serve(k.podResourcesSocket(), func(server *grpc.Server) {
		podresources.RegisterPodResourcesListerServer(server, k)
	})
	if k.hasPodsAPI {
		k.serve(k.podsAPISocket(), func(server *grpc.Server) { v1alpha1.RegisterPodsServer(server, k) })
	}
}

// stop takes its sockets away. Pods and their GPUs stay.
func (k *kubelet) stop() {
	for _, server := range k.servers {
		server.Stop()
	}
	k.servers = nil
}

// knowsPods says whether it has heard of its pods from the API server since its start.
func (k *kubelet) knowsPods(known bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.unaware = !known
}

// isAsked waits until it was, so many times more.
func (k *kubelet) isAsked(times int) {
	k.t.Helper()
	asked := func() int {
		k.mutex.Lock()
		defer k.mutex.Unlock()
		return k.lists
	}
	enough := asked() + times
	eventually(k.t, patience, fmt.Sprintf("the kubelet is asked %d times", times), func() bool {
		return asked() >= enough
	})
}

func (k *kubelet) podResourcesSocket() string { return filepath.Join(k.folder, "kubelet.sock") }
func (k *kubelet) podsAPISocket() string      { return filepath.Join(k.folder, "pods-api.sock") }

func (k *kubelet) serve(socket string, register func(*grpc.Server)) {
	k.t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		k.t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	go server.Serve(listener)
	k.servers = append(k.servers, server)
}

// podChanged takes note of a pod of its node. GPUs that a new one asks for are taken for good, until
// the pod ends: a pod that is being deleted keeps them until its deletion is over.
func (k *kubelet) podChanged(pod *corev1.Pod) {
	uid := string(pod.UID)
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		k.podGone(uid)
		return
	}
	if k.pods[uid] == nil {
		if pod.DeletionTimestamp != nil {
			return
		}
		k.allocate(uid, int(pod.Spec.Containers[0].Resources.Limits.Name(gpuResource, "").Value()))
	}
	k.pods[uid] = pod
}

func (k *kubelet) allocate(uid string, gpus int) {
	for range gpus {
		free := slices.Index(k.holder, "")
		if free < 0 {
			k.t.Errorf("the scheduler has placed more pods on a node than it has GPUs")
			return
		}
		k.holder[free] = uid
	}
}

func (k *kubelet) podGone(uid string) {
	delete(k.pods, uid)
	for gpu, holder := range k.holder {
		if holder == uid {
			k.holder[gpu] = ""
		}
	}
}

// List lists pods without GPUs too.
func (k *kubelet) List(context.Context, *podresources.ListPodResourcesRequest) (
	*podresources.ListPodResourcesResponse, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.lists++
	answer := &podresources.ListPodResourcesResponse{}
	if k.unaware {
		return answer, nil
	}
	for uid, pod := range k.pods {
		container := &podresources.ContainerResources{Name: pod.Spec.Containers[0].Name}
		for gpu, holder := range k.holder {
			if holder == uid { // a GPU a row: of two NUMA nodes each
				container.Devices = append(container.Devices, &podresources.ContainerDevices{
					ResourceName: gpuResource, DeviceIds: []string{k.ids[gpu]}})
			}
		}
		answer.PodResources = append(answer.PodResources, &podresources.PodResources{
			Name: pod.Name, Namespace: pod.Namespace,
			Containers: []*podresources.ContainerResources{container}})
	}
	return answer, nil
}

// ListPods lists a pod of a DaemonSet too, as each node has some: an answer without any is that of a kubelet which has
// just started.
func (k *kubelet) ListPods(context.Context, *v1alpha1.ListPodsRequest) (*v1alpha1.ListPodsResponse, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.unaware {
		return nil, status.Error(codes.FailedPrecondition, "pods are not synced")
	}
	answer := &v1alpha1.ListPodsResponse{}
	proxy := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "kube-proxy-x7k2p", Namespace: "kube-system"}}
	for _, pod := range append(slices.Collect(maps.Values(k.pods)), proxy) {
		bytes, err := pod.Marshal()
		if err != nil {
			return nil, err
		}
		answer.Pods = append(answer.Pods, bytes)
	}
	return answer, nil
}
