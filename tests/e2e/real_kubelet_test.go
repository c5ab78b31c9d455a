package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// realKubelet is Kubernetes' own, with its own node, which runs only pods that tolerate it. Its
// containers are those of Kubernetes' fake runtime, which survives a restart of the kubelet.
type realKubelet struct {
	t       *testing.T
	node    string
	folder  string // /var/lib/kubelet in the kubelet's mount namespace
	log     string
	runtime *containerRuntime
	plugins []*devicePlugin
	ownPod  string // the agent's, NAMESPACE/NAME; empty: no flag
	mutex   sync.Mutex
	pods    map[string]*corev1.Pod // key: UID; empty but on gpuNodes
	driver  *resourceDriver        // nil: none
	chosen  map[string][]string    // pods by the UUID of the GPU that another scheduler chose; nil: none did
	link    *link
	process *os.Process
	ended   chan struct{}

	environment []string // the program's, on that node
}

// A kubelet accepts device plugins only in /var/lib/kubelet/device-plugins, so each has a mount
// namespace, in which it may mount as root of a user namespace. All but its folders is read-only,
// because a starting kubelet changes kernel settings and creates folders, which real root could do.
// When a pod is gone, a kubelet removes all files with a container's log path as prefix.
// Containers of the fake runtime have the empty path, so the kubelet must run in an empty folder.
const enterNode = `mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount -t tmpfs none /var/lib
mkdir /var/lib/kubelet /var/lib/empty
mount --bind "$0" /var/lib/kubelet
mount -t tmpfs none /var/log
mount -o remount,bind,ro /
cd /var/lib/empty
exec "$@"`

// No pod is evicted: the kubelet measures the test machine, which may be full. A pod with a claim
// that could not be prepared waits for the next synchronization, by default a minute.
const kubeletConfig = `
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///var/lib/kubelet/runtime.sock
enableServer: false
healthzPort: 0
nodeStatusUpdateFrequency: 1s
syncFrequency: 2s
registerWithTaints: [{key: kubelet, value: real, effect: NoSchedule}]
cgroupsPerQOS: false
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
evictionHard: {memory.available: 0%%}
oomScoreAdj: 0
volumePluginDir: /var/lib/kubelet/volume-plugins
featureGates: {KubeletInUserNamespace: true, PodsAPI: %t}
`

// realKubeletLabel is on nodes that KWOK ignores (tools/control_plane/programs.py).
const realKubeletLabel = "real-kubelet"

// startRealKubelet returns once the node offers all devices of the plugins. The node has the name
// of the test's namespace.
func startRealKubelet(t *testing.T, node string, hasPodsAPI bool, plugins ...*devicePlugin) *realKubelet {
	t.Helper()
	k := launchRealKubelet(t, node, hasPodsAPI, plugins...)
	k.offersDevices()
	return k
}

// launchRealKubelet returns once the device plugins are registered.
func launchRealKubelet(t *testing.T, node string, hasPodsAPI bool, plugins ...*devicePlugin) *realKubelet {
	t.Helper()
	own, err := os.MkdirTemp("", "kubelet") // a test's own is too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	k := &realKubelet{t: t, node: node, folder: own, plugins: plugins,
		pods: map[string]*corev1.Pod{},
		log:  filepath.Join(logFolder, "kubelet-"+node+".log")}
	t.Cleanup(func() {
		k.kill()
		os.RemoveAll(own)
		kube.CoreV1().Nodes().Delete(context.Background(), node, metav1.DeleteOptions{})
		if t.Failed() {
			t.Logf("the kubelet's log is %s", k.log)
		}
	})
	k.runtime = startContainerRuntime(t, filepath.Join(own, "runtime.sock"))
	k.writeConfig(hasPodsAPI)
	k.start()
	return k
}

// writeConfig makes the kubelet use the API server only through the link.
func (k *realKubelet) writeConfig(hasPodsAPI bool) {
	k.t.Helper()
	access, err := clientcmd.LoadFromFile(filepath.Join(folder, "kubeconfig"))
	if err != nil {
		k.t.Fatal(err)
	}
	for _, cluster := range access.Clusters {
		k.link = newLink(k.t, strings.TrimPrefix(cluster.Server, "https://"))
		cluster.Server = "https://" + k.link.address
	}
	if err := clientcmd.WriteToFile(*access, filepath.Join(k.folder, "kubeconfig")); err != nil {
		k.t.Fatal(err)
	}
	text := fmt.Sprintf(kubeletConfig, hasPodsAPI)
	if err := os.WriteFile(filepath.Join(k.folder, "config.yaml"), []byte(text), 0o644); err != nil {
		k.t.Fatal(err)
	}
}

// start returns once the device plugins are registered.
func (k *realKubelet) start() {
	k.t.Helper()
	log, err := os.OpenFile(k.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		k.t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command("unshare", "--map-root-user", "--mount", "bash", "-ec", enterNode, k.folder,
		filepath.Join(root, "build/cluster/kube"), "kubelet",
		"--config=/var/lib/kubelet/config.yaml", "--kubeconfig=/var/lib/kubelet/kubeconfig",
		"--hostname-override="+k.node, "--node-labels="+realKubeletLabel+"=true")
	command.Dir = k.folder // until it enters an empty one
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		k.t.Fatal(err)
	}
	ended := make(chan struct{})
	k.process, k.ended = command.Process, ended
	go func() {
		command.Wait()
		close(ended)
	}()
	for _, plugin := range k.plugins {
		plugin.register(k)
	}
}

// offersDevices waits until the scheduler may place pods that need the devices.
func (k *realKubelet) offersDevices() {
	k.t.Helper()
	eventually(k.t, timeout, "the node offers its devices", func() bool {
		k.isRunning()
		node, err := kube.CoreV1().Nodes().Get(k.t.Context(), k.node, metav1.GetOptions{})
		if err != nil {
			return false
		}
		for _, plugin := range k.plugins {
			if offered := node.Status.Allocatable.Name(plugin.resource, ""); offered.Value() != int64(len(plugin.ids)) {
				return false
			}
		}
		return true
	})
}

func (k *realKubelet) isRunning() {
	k.t.Helper()
	select {
	case <-k.ended:
		text, _ := os.ReadFile(k.log)
		k.t.Fatalf("the kubelet ended; the end of %s:\n%s", k.log, text[max(0, len(text)-4000):])
	default:
	}
}

// kill is a crash. Containers keep running, and its sockets stay.
func (k *realKubelet) kill() {
	if k.process == nil {
		return // it never started
	}
	k.process.Kill()
	<-k.ended
}

func (k *realKubelet) podResourcesSocket() string {
	return filepath.Join(k.folder, "pod-resources/kubelet.sock")
}
func (k *realKubelet) podsAPISocket() string {
	return filepath.Join(k.folder, "pods-api/pods-api.sock")
}

// flags returns the flags of an agent on its node.
func (k *realKubelet) flags() []string {
	flags := []string{"--attribution=kubelet",
		"--pod-resources-socket=" + k.podResourcesSocket(), "--pods-api-socket=" + k.podsAPISocket()}
	if k.ownPod != "" {
		flags = append(flags, "--own-pod="+k.ownPod)
	}
	return flags
}

// connectUnix connects to a unix socket until the test ends.
func connectUnix(t *testing.T, socket string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

// lists waits until the kubelet's PodResources API lists that many pods.
func (k *realKubelet) lists(pods int) {
	k.t.Helper()
	client := podresources.NewPodResourcesListerClient(connectUnix(k.t, k.podResourcesSocket()))
	eventually(k.t, timeout, fmt.Sprintf("the kubelet lists %d pods", pods), func() bool {
		k.isRunning()
		answer, err := client.List(k.t.Context(), &podresources.ListPodResourcesRequest{})
		return err == nil && len(answer.PodResources) == pods
	})
}

// podSpec places a pod on its node; a deleted pod ends at once.
func (k *realKubelet) podSpec(containers string) string {
	return fmt.Sprintf("{nodeSelector: {kubernetes.io/hostname: %s}, tolerations: [{operator: Exists}], "+
		"terminationGracePeriodSeconds: 0, %s}", k.node, containers)
}

// replicas returns an object with two pods that have one device each.
func (k *realKubelet) replicas(kind, name, resource string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: %s
metadata: {name: %[2]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec: %[3]s
`, kind, name, k.podSpec(fmt.Sprintf("containers: [{name: main, image: llm, resources: {limits: {%s: 1}}}]", resource)))
}

func (k *realKubelet) pod(name, containers string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: %s}", name, k.podSpec(containers))
}

// grouped is a pod with metadata that its scheduler writes.
func (k *realKubelet) grouped(name, metadata, containers string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, %s}, spec: %s}", name, metadata, k.podSpec(containers))
}

func withGPUs(container string, gpus int) string {
	return fmt.Sprintf("{name: %s, image: llm, resources: {limits: {%s: %d}}}", container, gpuResource, gpus)
}
