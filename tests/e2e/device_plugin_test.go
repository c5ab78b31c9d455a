package e2e

import (
	"context"
	"net"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// devicePlugin gives healthy devices of one resource to a real kubelet, with IDs as in NVIDIA's
// plugin. An annotation of each container lists its devices, only for the container runtime.
type devicePlugin struct {
	v1beta1.UnimplementedDevicePluginServer
	resource corev1.ResourceName
	ids      []string
	server   *grpc.Server
}

// givenDevices is the prefix of the annotation's name; the plugin's resource follows.
const givenDevices = "given-devices/"

// register serves a kubelet that has just started: a starting kubelet removes the sockets of
// plugins.
func (p *devicePlugin) register(k *realKubelet) {
	k.t.Helper()
	if p.server != nil {
		p.server.Stop()
	} else {
		k.t.Cleanup(func() { p.server.Stop() })
	}
	plugins := filepath.Join(k.folder, "device-plugins")
	registry := filepath.Join(plugins, "kubelet.sock")
	p.server = grpc.NewServer() // stopped at the end in any case
	eventually(k.t, timeout, "the kubelet accepts device plugins", func() bool {
		k.isRunning()
		connection, err := net.Dial("unix", registry)
		if err == nil {
			connection.Close()
		}
		return err == nil
	})
	socket := p.name() + ".sock"
	listener, err := net.Listen("unix", filepath.Join(plugins, socket))
	if err != nil {
		k.t.Fatal(err)
	}
	v1beta1.RegisterDevicePluginServer(p.server, p)
	go p.server.Serve(listener)
	request := &v1beta1.RegisterRequest{Version: v1beta1.Version, Endpoint: socket, ResourceName: string(p.resource)}
	if _, err := v1beta1.NewRegistrationClient(connectUnix(k.t, registry)).Register(k.t.Context(), request); err != nil {
		k.t.Fatal(err)
	}
}

func (p *devicePlugin) name() string {
	return string(p.resource[strings.Index(string(p.resource), "/")+1:])
}

func (p *devicePlugin) ListAndWatch(_ *v1beta1.Empty, stream v1beta1.DevicePlugin_ListAndWatchServer) error {
	devices := &v1beta1.ListAndWatchResponse{}
	for _, id := range p.ids {
		devices.Devices = append(devices.Devices, &v1beta1.Device{ID: id, Health: v1beta1.Healthy})
	}
	if err := stream.Send(devices); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p *devicePlugin) GetDevicePluginOptions(context.Context, *v1beta1.Empty) (
	*v1beta1.DevicePluginOptions, error) {
	return &v1beta1.DevicePluginOptions{}, nil
}

func (p *devicePlugin) Allocate(_ context.Context, request *v1beta1.AllocateRequest) (
	*v1beta1.AllocateResponse, error) {
	answer := &v1beta1.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		answer.ContainerResponses = append(answer.ContainerResponses, &v1beta1.ContainerAllocateResponse{
			Annotations: map[string]string{givenDevices + p.name(): strings.Join(container.DevicesIds, ",")}})
	}
	return answer, nil
}
