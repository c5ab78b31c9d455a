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

// claimsCase is a node with claims.
type claimsCase struct {
	node        string
	hasPodsAPI  bool
	writesFiles bool // CDI files and a checkpoint
}

// GPUs are allocated by DRA. The driver's indices are not the minor numbers, and the monitoring
// claim has all GPUs. Without the Pods API only the checkpoint shows that this claim is one.
func TestHoldersOfARealKubeletsClaims(t *testing.T) {
	const class = "claimed-gpu"
	// First, so that the scheduler has its resource: a pod that it cannot place waits for a minute.
	create(t, "", "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: "+class+"}, "+
		"spec: {extendedResourceName: example.com/gpu, selectors: [{cel: {expression: 'device.driver == \"gpu.nvidia.com\"'}}]}}")
	t.Cleanup(func() {
		kube.ResourceV1().DeviceClasses().Delete(context.Background(), class, metav1.DeleteOptions{})
	})
	for _, one := range []claimsCase{
		{node: "claims", hasPodsAPI: true},
		{node: "claims-with-files", hasPodsAPI: true, writesFiles: true},
		{node: "claims-by-files-alone", writesFiles: true},
	} {
		t.Run(one.node, func(t *testing.T) {
			t.Parallel()
			one.test(t, class)
		})
	}
}

func (c claimsCase) test(t *testing.T, class string) {
	uuids := gpuIDs(0)[:5] // one stays free
	k := startRealKubelet(t, c.node, c.hasPodsAPI)
	k.environment = fakeDriver(t, uuids)
	k.startResourceDriver(uuids, c.writesFiles)
	makeNamespace(t, c.node)
	patch(t, "", "{apiVersion: v1, kind: Namespace, metadata: {name: "+c.node+
		", labels: {resource.kubernetes.io/admin-access: 'true'}}}")
	claim := func(name, wanted string) {
		create(t, c.node, fmt.Sprintf("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: %s}, spec: "+
			"{devices: {requests: [{name: gpus, exactly: {deviceClassName: %s, %s}}]}}}", name, class, wanted))
	}
	claimed := func(name string) string {
		return "resourceClaims: [{name: gpus, resourceClaimName: " + name + "}], " +
			"containers: [{name: main, image: llm, resources: {claims: [{name: gpus}]}}]"
	}
	k.driver.refuse("slow", true)
	claim("monitor", "allocationMode: All, adminAccess: true")
	create(t, c.node, "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: monitor}, spec: {selector: {matchLabels: "+
		"{app: monitor}}, template: {metadata: {labels: {app: monitor}}, spec: "+k.podSpec(claimed("monitor"))+"}}}")
	claim("slow", "count: 1")
	create(t, c.node, k.pod("slow", claimed("slow")))
	claim("both", "count: 2")
	create(t, c.node, k.pod("both", claimed("both")))
	create(t, c.node, k.pod("extended", "containers: [{name: main, image: llm, resources: {limits: {example.com/gpu: 1}}}]"))
	ready := "?" // unknown
	if c.hasPodsAPI {
		ready = "true"
	}
	shows := func(recorded string, pods ...string) { // once for each of their GPUs
		var holders []string
		for _, pod := range pods {
			holders = append(holders, pod+"/main share=1 ready="+ready+" owners=[]")
		}
		k.showsHolders("nvml", holders...)
		if !c.writesFiles {
			k.answersAsRecorded(recorded)
		}
	}
	shows("claims_one_unprepared", "both", "both", "extended")
	k.driver.refuse("slow", false)
	shows("claims", "both", "both", "extended", "slow")
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
