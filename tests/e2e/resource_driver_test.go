package e2e

import (
	"context"
	"encoding/json"
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
	"sigs.k8s.io/yaml"
)

// resourceDriver is a DRA driver on Kubernetes' own library. Devices and their CDI devices have
// names as in NVIDIA's: gpu-0 is the GPU with minor number 0, unless the driver writes files.
type resourceDriver struct {
	t      *testing.T
	uuids  []string // in the order of their minor numbers
	plugin string   // its folder
	cdi    string   // the folder of its CDI files; empty: it writes neither them nor a checkpoint

	mutex      sync.Mutex
	refused    map[string]bool     // claims that it does not prepare
	prepared   map[string][]string // pods by device
	checkpoint map[types.UID]any
}

// nameOf returns the name of a GPU's device. With files its number is the minor number of another
// GPU, so that only the files name the right one.
func (d *resourceDriver) nameOf(minor int) string {
	if d.cdi != "" {
		minor = (minor + 1) % len(d.uuids)
	}
	return fmt.Sprintf("gpu-%d", minor)
}

func (d *resourceDriver) minorOf(name string) int {
	for minor := range d.uuids {
		if d.nameOf(minor) == name {
			return minor
		}
	}
	panic(name)
}

const driverName = "gpu.nvidia.com"

// startResourceDriver offers GPUs of the kubelet's node.
func (k *realKubelet) startResourceDriver(uuids []string, writesFiles bool) {
	k.t.Helper()
	own := filepath.Join(k.folder, "plugins", driverName)
	must(0, os.MkdirAll(own, 0o750))
	k.driver = &resourceDriver{t: k.t, uuids: uuids, plugin: own, refused: map[string]bool{},
		prepared: map[string][]string{}, checkpoint: map[types.UID]any{}}
	if writesFiles {
		k.driver.cdi = filepath.Join(k.folder, "cdi")
		must(0, os.Mkdir(k.driver.cdi, 0o755))
	}
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
		devices = append(devices, resourceapi.Device{Name: k.driver.nameOf(minor)})
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
	return slices.Clone(d.prepared[d.nameOf(slices.Index(d.uuids, uuid))])
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
		if d.cdi != "" {
			d.writeFiles(claim, devices)
		}
		results[claim.UID] = kubeletplugin.PrepareResult{Devices: devices}
	}
	return results, nil
}

// writeFiles writes a CDI specification of the claim, and a checkpoint with all claims, as NVIDIA's
// driver does (v25.12: cmd/gpu-kubelet-plugin/cdi.go, checkpointv.go). It must be called with the lock.
func (d *resourceDriver) writeFiles(claim *resourceapi.ResourceClaim, devices []kubeletplugin.Device) {
	type object map[string]any
	nodes := func(paths ...string) object {
		var list []object
		for _, path := range paths {
			list = append(list, object{"path": path})
		}
		return object{"deviceNodes": list}
	}
	var specs, prepared []object
	for _, device := range devices {
		minor := d.minorOf(device.DeviceName)
		specs = append(specs, object{"name": fmt.Sprintf("%s-%s", claim.UID, device.DeviceName),
			"containerEdits": nodes(fmt.Sprintf("/dev/nvidia%d", minor))})
		prepared = append(prepared, object{"mig": nil,
			"gpu": object{"info": object{"uuid": d.uuids[minor]}, "device": device}})
	}
	spec := object{"cdiVersion": "0.5.0", "kind": "k8s." + driverName + "/claim",
		"containerEdits": nodes("/dev/nvidiactl"), "devices": specs}
	d.checkpoint[claim.UID] = object{"checkpointState": "PrepareCompleted", "status": claim.Status,
		"preparedDevices": []object{{"devices": prepared, "configState": object{}}}}
	whole := object{"checksum": 0, "v1": object{}, "v2": object{"preparedClaims": d.checkpoint}}
	name := fmt.Sprintf("k8s.%s-claim_%s.yaml", driverName, claim.UID)
	must(0, os.WriteFile(filepath.Join(d.cdi, name), must(yaml.Marshal(spec)), 0o644))
	must(0, os.WriteFile(filepath.Join(d.plugin, "checkpoint.json"), must(json.Marshal(whole)), 0o644))
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
