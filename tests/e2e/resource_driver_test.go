package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// resourceDriver is a DRA driver on Kubernetes' own library. Devices and their CDI devices have
// names as in NVIDIA's: gpu-0 is the GPU with minor number 0.
type resourceDriver struct {
	t     *testing.T
	uuids []string // in the order of their minor numbers

	mutex    sync.Mutex
	refused  map[string]bool     // claims that it does not prepare
	prepared map[string][]string // pods by device
}

const driverName = "gpu.nvidia.com"

// startResourceDriver offers GPUs of the kubelet's node.
func (k *realKubelet) startResourceDriver(uuids []string) {
	k.t.Helper()
	k.driver = &resourceDriver{t: k.t, uuids: uuids, refused: map[string]bool{}, prepared: map[string][]string{}}
	own := filepath.Join(k.folder, "plugins", driverName)
	must(0, os.MkdirAll(own, 0o750))
	ctx, stop := context.WithCancel(context.Background())
	helper, err := kubeletplugin.Start(ctx, k.driver, kubeletplugin.DriverName(driverName),
		kubeletplugin.KubeClient(kube), kubeletplugin.NodeName(k.node), kubeletplugin.PluginDataDirectoryPath(own),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(k.folder, "plugins_registry")))
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() {
		stop()
		helper.Stop()
	})
	var devices []resourceapi.Device
	for minor := range uuids {
		devices = append(devices, resourceapi.Device{Name: fmt.Sprintf("gpu-%d", minor)})
	}
	resources := resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{
		k.node: {Slices: []resourceslice.Slice{{Devices: devices}}}}}
	if err := helper.PublishResources(ctx, resources); err != nil {
		k.t.Fatal(err)
	}
}

// refuse sets whether the driver refuses to prepare a claim.
func (d *resourceDriver) refuse(claim string, refused bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.refused[claim] = refused
}

// given returns the pods for which claims of a GPU were prepared.
func (d *resourceDriver) given(uuid string) []string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return slices.Clone(d.prepared[fmt.Sprintf("gpu-%d", slices.Index(d.uuids, uuid))])
}

func (d *resourceDriver) PrepareResourceClaims(_ context.Context, claims []*resourceapi.ResourceClaim) (
	map[types.UID]kubeletplugin.PrepareResult, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		if d.refused[claim.Name] {
			results[claim.UID] = kubeletplugin.PrepareResult{Err: fmt.Errorf("%s is not prepared yet", claim.Name)}
			continue
		}
		var devices []kubeletplugin.Device
		for _, one := range claim.Status.Allocation.Devices.Results {
			devices = append(devices, kubeletplugin.Device{Requests: []string{one.Request},
				PoolName: one.Pool, DeviceName: one.Device,
				CDIDeviceIDs: []string{fmt.Sprintf("k8s.%s/claim=%s-%s", driverName, claim.UID, one.Device)}})
			for _, pod := range claim.Status.ReservedFor {
				d.prepared[one.Device] = append(d.prepared[one.Device], pod.Name)
			}
		}
		results[claim.UID] = kubeletplugin.PrepareResult{Devices: devices}
	}
	return results, nil
}

func (d *resourceDriver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (
	map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range claims {
		results[claim.UID] = nil
	}
	return results, nil
}

func (d *resourceDriver) HandleError(_ context.Context, err error, what string) {
	if !strings.Contains(err.Error(), context.Canceled.Error()) {
		d.t.Errorf("%s: %v", what, err)
	}
}
