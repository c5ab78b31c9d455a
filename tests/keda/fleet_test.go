package contract

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// kubelet is a fake kubelet: it lists the simulated GPUs of each pod.
type kubelet struct {
	podresources.UnimplementedPodResourcesListerServer

	socket string
	pods   []*podresources.PodResources // set before the first request
}

// startKubelet listens on return.
func startKubelet(t *testing.T) *kubelet {
	t.Helper()
	folder := must(os.MkdirTemp("", "kubelet")) // a test's own is too long for the name of a socket
	t.Cleanup(func() { os.RemoveAll(folder) })
	k := &kubelet{socket: filepath.Join(folder, "kubelet.sock")}
	listener := must(net.Listen("unix", k.socket))
	server := grpc.NewServer()
	podresources.RegisterPodResourcesListerServer(server, k)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return k
}

// addPod adds a pod in the namespace of the tests' triggers.
func (k *kubelet) addPod(name string, gpu int) {
	devices := &podresources.ContainerDevices{
		ResourceName: "nvidia.com/gpu", DeviceIds: []string{fmt.Sprintf("GPU-sim-%d", gpu)}}
	k.pods = append(k.pods, &podresources.PodResources{Name: name, Namespace: "prod",
		Containers: []*podresources.ContainerResources{
			{Name: "main", Devices: []*podresources.ContainerDevices{devices}}}})
}

func (k *kubelet) List(context.Context, *podresources.ListPodResourcesRequest) (
	*podresources.ListPodResourcesResponse, error) {
	return &podresources.ListPodResourcesResponse{PodResources: k.pods}, nil
}

// startAgent starts an agent that reads as often as in a fleet of some size.
func startAgent(t *testing.T, node string, gpus *gpuFile, k *kubelet) *scaler {
	t.Helper()
	s := newServing(t, gpus.source(), "--role=agent", "--node-name="+node, "--poll-interval=500ms",
		"--attribution=kubelet", "--pod-resources-socket="+k.socket)
	s.portFlag = "--telemetry-port="
	s.start()
	return s
}

func startAggregator(t *testing.T, agents []string) *scaler {
	t.Helper()
	s := newServing(t, "--role=aggregator", "--poll-interval=500ms",
		"--agents=static:"+strings.Join(agents, ","))
	s.start()
	return s
}
