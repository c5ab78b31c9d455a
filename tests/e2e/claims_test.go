package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPUs are allocated by DRA. The driver's indices are not the minor numbers, and the monitoring
// claim has all GPUs.
func TestHoldersOfARealKubeletsClaims(t *testing.T) {
	t.Parallel()
	const node, class = "claims", "claimed-gpu"
	uuids := gpuIDs(0)[:5] // one stays free
	// First, so that the scheduler has its resource: a pod that it cannot place waits for a minute.
	create(t, "", "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: "+class+"}, "+
		"spec: {extendedResourceName: example.com/gpu, selectors: [{cel: {expression: 'device.driver == \"gpu.nvidia.com\"'}}]}}")
	t.Cleanup(func() {
		kube.ResourceV1().DeviceClasses().Delete(context.Background(), class, metav1.DeleteOptions{})
	})
	k := startRealKubelet(t, node, true)
	k.environment = fakeDriver(t, uuids)
	k.startResourceDriver(uuids)
	makeNamespace(t, node)
	patch(t, "", "{apiVersion: v1, kind: Namespace, metadata: {name: "+node+
		", labels: {resource.kubernetes.io/admin-access: 'true'}}}")
	claim := func(name, wanted string) {
		create(t, node, fmt.Sprintf("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: %s}, spec: "+
			"{devices: {requests: [{name: gpus, exactly: {deviceClassName: %s, %s}}]}}}", name, class, wanted))
	}
	claimed := func(name string) string {
		return "resourceClaims: [{name: gpus, resourceClaimName: " + name + "}], " +
			"containers: [{name: main, image: llm, resources: {claims: [{name: gpus}]}}]"
	}
	k.driver.refuse("slow", true)
	claim("monitor", "allocationMode: All, adminAccess: true")
	create(t, node, "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: monitor}, spec: {selector: {matchLabels: "+
		"{app: monitor}}, template: {metadata: {labels: {app: monitor}}, spec: "+k.podSpec(claimed("monitor"))+"}}}")
	claim("slow", "count: 1")
	create(t, node, k.pod("slow", claimed("slow")))
	claim("both", "count: 2")
	create(t, node, k.pod("both", claimed("both")))
	create(t, node, k.pod("extended", "containers: [{name: main, image: llm, resources: {limits: {example.com/gpu: 1}}}]"))
	holders := []string{
		"both/main share=1 ready=true owners=[]", "both/main share=1 ready=true owners=[]",
		"extended/main share=1 ready=true owners=[]"}
	k.showsHolders("nvml", slices.Clone(holders)...)
	k.answersAsRecorded("claims_one_unprepared")
	k.driver.refuse("slow", false)
	k.showsHolders("nvml", append(holders, "slow/main share=1 ready=true owners=[]")...)
	k.answersAsRecorded("claims")
}

// fakeDriver returns the environment of NVIDIA's driver with these GPUs; the last one has index 0.
func fakeDriver(t *testing.T, uuids []string) []string {
	t.Helper()
	var gpus []any
	for minor, uuid := range slices.Backward(uuids) {
		gpus = append(gpus, map[string]any{"uuid": uuid, "name": "Fake", "minor": minor, "utilization": []int{0, 0},
			"memory": []int{80 << 30, 80 << 30, 0}, "temperature": 30, "power": 60000, "power_limit": 700000, "processes": []any{}})
	}
	state := filepath.Join(t.TempDir(), "driver.json")
	text := must(json.Marshal(map[string]any{"driver_version": "550.54", "generation": 1, "gpus": gpus}))
	must(0, os.WriteFile(state, text, 0o644))
	return []string{"LD_LIBRARY_PATH=" + filepath.Join(root, "build/dev/tests/fake_nvml/new"), "FAKE_NVML_STATE=" + state}
}
