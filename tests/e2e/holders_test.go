package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// holder is a container with a GPU, as in `gpus --format json`.
type holder struct {
	Pod, Container string
	Share          float64
	Ready          *bool
	Owners         []string
}

// random matches the generated part of a Deployment's pod names.
var random = regexp.MustCompile(`\bweb-[0-9a-z]+(-[0-9a-z]{5})?\b`)

func (h holder) String() string {
	ready := "?"
	if h.Ready != nil {
		ready = fmt.Sprint(*h.Ready)
	}
	text := fmt.Sprintf("%s/%s share=%v ready=%s owners=%v", h.Pod, h.Container, h.Share, ready, h.Owners)
	return random.ReplaceAllString(text, "web-*")
}

// gpusPage is the output of `gpus --format json`.
type gpusPage struct {
	GPUs []struct {
		UUID    string
		Holders []holder
	}
	HoldersUnknown string `json:"holders_unknown"`
}

// The folders of a DRA driver are fixed (src/workload/node_folders.h), so the program has a mount
// namespace with them, as a kubelet has (enterNode).
const seeDriver = `mount -t tmpfs none /var/lib
mkdir /var/lib/kubelet
mount --bind "$0" /var/lib/kubelet
mount -t tmpfs none /run
mkdir /run/cdi
mount --bind "$0/cdi" /run/cdi
exec "$@"`

// readGPUs returns the program's output on the kubelet's node.
func (k *realKubelet) readGPUs(source string) gpusPage {
	k.t.Helper()
	words := append([]string{binary, "gpus", "--format=json", "--gpu-source=" + source}, k.flags()...)
	if k.driver != nil && k.driver.cdi != "" {
		words = append([]string{"unshare", "--map-root-user", "--mount", "bash", "-ec", seeDriver, k.folder}, words...)
	}
	command := exec.Command(words[0], words[1:]...)
	command.Env = append(os.Environ(), k.environment...)
	text, err := command.Output()
	var page gpusPage
	if err == nil {
		err = json.Unmarshal(text, &page)
	}
	if err != nil {
		k.t.Fatalf("%v: %v\n%s", command, err, text)
	}
	return page
}

// showsHolders waits until the program prints these holders, once for each of their GPUs, and each
// of these GPUs was given to its holder's pod.
func (k *realKubelet) showsHolders(source string, want ...string) {
	k.t.Helper()
	slices.Sort(want)
	var page gpusPage
	var got []string
	defer func() {
		if k.t.Failed() {
			k.t.Logf("want %s\ngot  %s\nin full %+v", strings.Join(want, "\n     "), strings.Join(got, "\n     "), page)
			for _, gpu := range page.GPUs {
				k.t.Logf("%s was given to %v", gpu.UUID, k.given(gpu.UUID))
			}
		}
	}()
	eventually(k.t, timeout, "the holders are printed", func() bool {
		page, got = k.readGPUs(source), nil
		for _, gpu := range page.GPUs {
			for _, one := range gpu.Holders {
				got = append(got, one.String())
			}
		}
		slices.Sort(got)
		return page.HoldersUnknown == "" && slices.Equal(got, want) && k.gave(page)
	})
}

// gave returns whether each GPU was given to its holder's pod.
func (k *realKubelet) gave(page gpusPage) bool {
	for _, gpu := range page.GPUs {
		given := k.given(gpu.UUID)
		for _, one := range gpu.Holders {
			if !slices.Contains(given, one.Pod) {
				return false
			}
		}
	}
	return true
}

// given returns the pods to which a device plugin, a DRA driver or another scheduler gave the GPU, or a replica of it.
func (k *realKubelet) given(uuid string) []string {
	if k.chosen != nil {
		return k.chosen[uuid]
	}
	if k.driver != nil {
		return k.driver.given(uuid)
	}
	given := k.runtime.given()
	var pods []string
	for _, plugin := range k.plugins {
		for _, id := range plugin.ids {
			if whole, _, _ := strings.Cut(id, "::"); whole == uuid {
				pods = append(pods, given[id]...)
			}
		}
	}
	return pods
}

// The IDs are those of NVIDIA's plugin for whole GPUs, time slicing and MIG.
func TestHoldersOfARealKubeletsDevices(t *testing.T) {
	for _, hasPodsAPI := range []bool{true, false} {
		t.Run(fmt.Sprintf("with the Pods API %t", hasPodsAPI), func(t *testing.T) {
			t.Parallel()
			node := fmt.Sprintf("holders-%t", hasPodsAPI)
			whole := gpuIDs(0)[:9] // one stays free
			shared, sliced := "GPU-shared", []string{"MIG-1", "MIG-2"}
			k := startRealKubelet(t, node, hasPodsAPI,
				&devicePlugin{resource: gpuResource, ids: whole},
				&devicePlugin{resource: "nvidia.com/gpu.shared", ids: []string{shared + "::0", shared + "::1"}},
				&devicePlugin{resource: "nvidia.com/mig-1g.10gb", ids: sliced})
			makeNamespace(t, node)
			source := "file:" + writeHeldGPUs(t, append(whole, shared), sliced)
			for _, object := range []string{
				k.replicas("Deployment", "web", gpuResource),
				k.replicas("StatefulSet", "shared", "nvidia.com/gpu.shared"),
				k.replicas("StatefulSet", "mig", "nvidia.com/mig-1g.10gb"),
				k.pod("pair", "containers: ["+withGPUs("a", 2)+", "+withGPUs("b", 1)+"]"),
				k.pod("loaded", "initContainers: ["+withGPUs("load", 1)+"], containers: ["+withGPUs("main", 1)+"]"),
				k.pod("agent", "containers: [{name: main, image: agent}]"),
				k.pod("done", "restartPolicy: Never, containers: ["+withGPUs("main", 1)+"]"),
				k.pod("proxied", "initContainers: [{restartPolicy: Always, "+withGPUs("proxy", 1)[1:]+
					"], containers: ["+withGPUs("main", 1)+"]"),
			} {
				create(t, node, object)
			}
			// Without the Pods API owners come from the pod's name, and readiness is unknown.
			line := func(container string, share float64, ready bool, byReference, byName string) string {
				if hasPodsAPI {
					return fmt.Sprintf("%s share=%v ready=%t owners=[%s]", container, share, ready, byReference)
				}
				return fmt.Sprintf("%s share=%v ready=? owners=[%s]", container, share, byName)
			}
			deployed := line("web-*/main", 1, true, "ReplicaSet/web-* Deployment/web", "Deployment/web Rollout/web")
			numbered := func(pod, name string, share float64) string {
				set := "StatefulSet/" + name
				return line(pod+"/main", share, true, set, set+" LeaderWorkerSet/"+name)
			}
			bare := func(container string, ready bool) string { return line(container, 1, ready, "", "") }
			// The container after an init container has the same GPU, and is its holder from the
			// start.
			want := func(isLoaded bool) []string {
				return []string{
					deployed, deployed,
					numbered("shared-0", "shared", 0.5), numbered("shared-1", "shared", 0.5),
					numbered("mig-0", "mig", 1), numbered("mig-1", "mig", 1),
					bare("pair/a", true), bare("pair/a", true), bare("pair/b", true),
					bare("loaded/main", isLoaded),
					bare("proxied/proxy", true), bare("proxied/main", true),
				}
			}
			k.runtime.finish("done", "main")
			k.showsHolders(source, want(false)...)
			if hasPodsAPI {
				k.answersAsRecorded("devices")
				k.fakeAnswersAlike()
			}
			k.runtime.finish("loaded", "load")
			k.showsHolders(source, want(true)...)
		})
	}
}

// writeHeldGPUs writes a GPU file. If there are MIG instances, the last GPU has them.
func writeHeldGPUs(t *testing.T, whole, sliced []string) string {
	t.Helper()
	type gpu map[string]any
	var gpus, instances []gpu
	for _, uuid := range sliced {
		instances = append(instances, gpu{"uuid": uuid})
	}
	for _, uuid := range whole {
		gpus = append(gpus, gpu{"uuid": uuid})
	}
	if len(sliced) > 0 {
		gpus = append(gpus, gpu{"uuid": "GPU-sliced", "mig": instances})
	}
	path := filepath.Join(t.TempDir(), "gpus.json")
	must(0, os.WriteFile(path, must(json.Marshal(gpu{"gpus": gpus})), 0o644))
	return path
}
