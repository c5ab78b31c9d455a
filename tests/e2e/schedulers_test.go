package e2e

import (
	"fmt"
	"testing"
)

// HAMi's plugin offers ten devices of each GPU, and the kubelet chooses any of them. The GPU that HAMi's scheduler chose
// is in the pod's annotation.
func TestHoldersOfARealKubeletsVirtualGPUs(t *testing.T) {
	t.Parallel()
	const node = "hami"
	uuids := gpuIDs(0)[:2]
	plugin := &devicePlugin{resource: gpuResource}
	for _, uuid := range uuids {
		for number := range 10 {
			plugin.ids = append(plugin.ids, fmt.Sprint(uuid, "-", number))
		}
	}
	k := startRealKubelet(t, node, true, plugin)
	k.chosen = map[string][]string{uuids[1]: {"first", "second", "pair"}, uuids[0]: {"pair"}}
	makeNamespace(t, node)
	allocated := func(gpus ...string) string {
		text := ""
		for _, uuid := range gpus {
			text += uuid + ",NVIDIA,3000,30:"
		}
		return "annotations: {hami.io/vgpu-devices-allocated: '" + text + ";'}"
	}
	one := "containers: [" + withGPUs("main", 1) + "]"
	for _, pod := range []string{
		k.grouped("first", allocated(uuids[1]), one),
		k.grouped("second", allocated(uuids[1]), one),
		k.grouped("pair", allocated(uuids...), "containers: ["+withGPUs("main", 2)+"]"),
	} {
		create(t, node, pod)
	}
	k.showsHolders("file:"+writeHeldGPUs(t, uuids, nil),
		"first/main share=0.333 ready=true owners=[]", "second/main share=0.333 ready=true owners=[]",
		"pair/main share=0.333 ready=true owners=[]", "pair/main share=1 ready=true owners=[]")
}

// KAI's reservation pod has the device, and the pods of its group use it.
func TestHoldersOfARealKubeletsReservedGPUs(t *testing.T) {
	t.Parallel()
	const node, reservations = "kai", "kai-resource-reservation"
	uuids := gpuIDs(0)[:2] // one stays free
	k := startRealKubelet(t, node, true, &devicePlugin{resource: gpuResource, ids: uuids})
	makeNamespace(t, node)
	makeNamespace(t, reservations)
	create(t, reservations, k.grouped("gpu-reservation-1", "labels: {runai-gpu-group: g1}", "containers: ["+withGPUs("main", 1)+"]"))
	part := func(name, fraction string) {
		create(t, node, k.grouped(name, "labels: {runai-gpu-group: g1}, annotations: {gpu-fraction: '"+fraction+"'}",
			"containers: [{name: main, image: llm}]"))
	}
	part("half", "0.5")
	part("quarter", "0.25")
	k.chosen = map[string][]string{}
	for _, uuid := range uuids {
		k.chosen[uuid] = []string{"half", "quarter"}
	}
	k.showsHolders("file:"+writeHeldGPUs(t, uuids, nil),
		"half/ share=0.667 ready=true owners=[]", "quarter/ share=0.333 ready=true owners=[]")
}
