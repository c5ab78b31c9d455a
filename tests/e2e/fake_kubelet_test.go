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

const (
	gpuResource = "nvidia.com/gpu"
	amdResource = "amd.com/gpu"
)

// fakeKubelet gives GPUs to pods that request them, as a kubelet and a vendor's device plugin do, and
// serves the assignment on two unix sockets, with Kubernetes' own messages. The mutex guards only
// the fields; internal calls hold it already.
type fakeKubelet struct {
	podresources.UnimplementedPodResourcesListerServer
	v1alpha1.UnimplementedPodsServer

	t          *testing.T
	mutex      *sync.Mutex
	folder     string
	resource   corev1.ResourceName
	ids        []string // its GPUs, with the device plugin's IDs
	hasPodsAPI bool
	servers    []*grpc.Server

	pods      map[string]*corev1.Pod // key: UID
	holder    []string               // a UID for each GPU; empty: free
	hasNoPods bool                   // it has received no pods from the API server since its start
	lists     int                    // number of List calls
}

// startFakeKubelet listens on return. Kubelets before Kubernetes 1.37 have no Pods API.
func startFakeKubelet(t *testing.T, mutex *sync.Mutex, ids []string, hasPodsAPI bool) *fakeKubelet {
	t.Helper()
	folder, err := os.MkdirTemp("", "kubelet") // a test's own is too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	k := &fakeKubelet{t: t, mutex: mutex, folder: folder, resource: gpuResource, ids: ids, hasPodsAPI: hasPodsAPI,
		pods: map[string]*corev1.Pod{}, holder: make([]string, len(ids))}
	// Each node has pods of DaemonSets: an empty list means that a kubelet has just started.
	k.pods["kube-proxy"] = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-proxy-x7k2p", Namespace: "kube-system", UID: "kube-proxy"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "kube-proxy"}}}}
	t.Cleanup(k.stop)
	k.start()
	return k
}

func (k *fakeKubelet) start() {
	k.t.Helper()
	k.serve(k.podResourcesSocket(), func(server *grpc.Server) {
		podresources.RegisterPodResourcesListerServer(server, k)
	})
	if k.hasPodsAPI {
		k.serve(k.podsAPISocket(), func(server *grpc.Server) { v1alpha1.RegisterPodsServer(server, k) })
	}
}

// stop removes its sockets. Pods and their GPUs stay.
func (k *fakeKubelet) stop() {
	for _, server := range k.servers {
		server.Stop()
	}
	k.servers = nil
}

// setHasPods sets whether it has received its pods from the API server since its start.
func (k *fakeKubelet) setHasPods(known bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.hasNoPods = !known
}

// waitForLists waits for that many more List calls.
func (k *fakeKubelet) waitForLists(times int) {
	k.t.Helper()
	asked := func() int {
		k.mutex.Lock()
		defer k.mutex.Unlock()
		return k.lists
	}
	enough := asked() + times
	eventually(k.t, timeout, fmt.Sprintf("the kubelet is asked %d times", times), func() bool {
		return asked() >= enough
	})
}

func (k *fakeKubelet) flags() []string {
	return []string{"--attribution=kubelet", "--pod-resources-socket=" + k.podResourcesSocket(),
		"--pods-api-socket=" + k.podsAPISocket()}
}

func (k *fakeKubelet) holders() []*corev1.Pod {
	holders := make([]*corev1.Pod, len(k.holder))
	for gpu, uid := range k.holder {
		holders[gpu] = k.pods[uid]
	}
	return holders
}

func (k *fakeKubelet) podResourcesSocket() string { return filepath.Join(k.folder, "kubelet.sock") }
func (k *fakeKubelet) podsAPISocket() string      { return filepath.Join(k.folder, "pods-api.sock") }

func (k *fakeKubelet) serve(socket string, register func(*grpc.Server)) {
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

// podChanged updates a pod of its node. A new pod's GPUs stay assigned until the pod ends: a pod
// that is being deleted keeps them until it is gone.
func (k *fakeKubelet) podChanged(pod *corev1.Pod) {
	uid := string(pod.UID)
	if hasEnded(pod) {
		k.release(uid)
	} else if k.pods[uid] == nil {
		if pod.DeletionTimestamp != nil {
			return
		}
		k.allocate(pod)
	}
	k.pods[uid] = pod
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// listedContainers returns the containers that may have devices, in a kubelet's order. Devices of
// other init containers pass to the containers after them.
func listedContainers(pod *corev1.Pod) []corev1.Container {
	var listed []corev1.Container
	for _, one := range pod.Spec.InitContainers {
		if one.RestartPolicy != nil && *one.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			listed = append(listed, one)
		}
	}
	return append(listed, pod.Spec.Containers...)
}

func (k *fakeKubelet) gpusOf(container corev1.Container) int {
	return int(container.Resources.Limits.Name(k.resource, "").Value())
}

func (k *fakeKubelet) allocate(pod *corev1.Pod) {
	gpus := 0
	for _, container := range listedContainers(pod) {
		gpus += k.gpusOf(container)
	}
	for range gpus {
		free := slices.Index(k.holder, "")
		if free < 0 {
			k.t.Errorf("the scheduler has placed more pods on a node than it has GPUs")
			return
		}
		k.holder[free] = string(pod.UID)
	}
}

func (k *fakeKubelet) podGone(uid string) {
	delete(k.pods, uid)
	k.release(uid)
}

func (k *fakeKubelet) release(uid string) {
	for gpu, holder := range k.holder {
		if holder == uid {
			k.holder[gpu] = ""
		}
	}
}

// List also lists pods without GPUs, but none that has ended, as kubelets do since Kubernetes 1.34.
func (k *fakeKubelet) List(context.Context, *podresources.ListPodResourcesRequest) (
	*podresources.ListPodResourcesResponse, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.lists++
	answer := &podresources.ListPodResourcesResponse{}
	if k.hasNoPods {
		return answer, nil
	}
	for _, pod := range k.pods {
		if !hasEnded(pod) {
			answer.PodResources = append(answer.PodResources, &podresources.PodResources{
				Name: pod.Name, Namespace: pod.Namespace, Containers: k.resourcesOf(pod)})
		}
	}
	return answer, nil
}

// resourcesOf returns a row for each GPU.
func (k *fakeKubelet) resourcesOf(pod *corev1.Pod) []*podresources.ContainerResources {
	var ids []string
	for gpu, holder := range k.holder {
		if holder == string(pod.UID) {
			ids = append(ids, k.ids[gpu])
		}
	}
	var containers []*podresources.ContainerResources
	for _, one := range listedContainers(pod) {
		container := &podresources.ContainerResources{Name: one.Name}
		own := ids[:min(k.gpusOf(one), len(ids))]
		ids = ids[len(own):]
		for _, id := range own {
			container.Devices = append(container.Devices, &podresources.ContainerDevices{
				ResourceName: string(k.resource), DeviceIds: []string{id}})
		}
		containers = append(containers, container)
	}
	return containers
}

// ListPods lists all pods, ended ones too, ordered by UID, with the annotation of their source.
func (k *fakeKubelet) ListPods(context.Context, *v1alpha1.ListPodsRequest) (*v1alpha1.ListPodsResponse, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.hasNoPods {
		return nil, status.Error(codes.FailedPrecondition, "pods are not synced")
	}
	answer := &v1alpha1.ListPodsResponse{}
	for _, uid := range slices.Sorted(maps.Keys(k.pods)) {
		pod := k.pods[uid].DeepCopy()
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "kubernetes.io/config.seen", "2026-01-01T00:00:00Z")
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "kubernetes.io/config.source", "api")
		bytes, err := pod.Marshal()
		if err != nil {
			return nil, err
		}
		answer.Pods = append(answer.Pods, bytes)
	}
	return answer, nil
}
