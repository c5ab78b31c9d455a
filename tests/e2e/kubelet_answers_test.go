package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/pods/v1alpha1"
)

var (
	record         = flag.Bool("record", false, "write src/kubelet/recorded anew from the real kubelet's answers")
	recordedFolder = filepath.Join(root, "src/kubelet/recorded")
)

// kubeletAnswers are the answers of a kubelet's two APIs, as text, sorted by pod. They have the
// fields that the program reads: those of proto/podresources.proto and proto/pod.proto. Numbers
// replace values that change from run to run.
type kubeletAnswers struct{ podResources, pods string }

// answersAsRecorded waits until the kubelet's answers equal the files with that name.
func (k *realKubelet) answersAsRecorded(name string) {
	k.t.Helper()
	devices := filepath.Join(recordedFolder, name+".pod_resources.txtpb")
	pods := filepath.Join(recordedFolder, name+".pods.txtpb")
	if *record {
		answers := k.settledAnswers()
		must(0, os.WriteFile(devices, []byte(answers.podResources), 0o644))
		must(0, os.WriteFile(pods, []byte(answers.pods), 0o644))
	}
	want := kubeletAnswers{string(must(os.ReadFile(devices))), string(must(os.ReadFile(pods)))}
	becomeSame(k.t, k.node+": the answers are those of "+name, func() (got, _ kubeletAnswers, err error) {
		got, err = answersOf(k.t, k, nil)
		return got, want, err
	})
}

// settledAnswers waits until the answers stay the same for 3 s.
func (k *realKubelet) settledAnswers() kubeletAnswers {
	k.t.Helper()
	var last kubeletAnswers
	since := time.Now()
	eventually(k.t, timeout, "the answers stay the same", func() bool {
		answers, err := answersOf(k.t, k, nil)
		if err != nil || answers != last {
			last, since = answers, time.Now()
		}
		return err == nil && time.Since(since) > 3*time.Second
	})
	return last
}

// fakeAnswersAlike waits until a fake kubelet gives the same answers about the pods that request
// only GPUs.
func (k *realKubelet) fakeAnswersAlike() {
	k.t.Helper()
	fake := startFakeKubelet(k.t, &sync.Mutex{}, gpuIDs(0), true)
	becomeSame(k.t, k.node+": a fake kubelet answers alike", func() (got, want kubeletAnswers, err error) {
		list, err := kube.CoreV1().Pods(k.node).List(k.t.Context(), metav1.ListOptions{})
		if err != nil {
			return got, want, err
		}
		asked := map[string]bool{}
		fake.mutex.Lock()
		for _, pod := range list.Items {
			if asksForGPUsAlone(&pod) {
				asked[pod.Name] = true
				fake.podChanged(&pod)
			}
		}
		fake.mutex.Unlock()
		if got, err = answersOf(k.t, fake, asked); err == nil {
			want, err = answersOf(k.t, k, asked)
		}
		return got, want, err
	})
}

func asksForGPUsAlone(pod *corev1.Pod) bool {
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for name := range container.Resources.Limits {
			if name != gpuResource {
				return false
			}
		}
	}
	return true
}

// becomeSame waits until both are the same.
func becomeSame(t *testing.T, what string, both func() (got, want kubeletAnswers, err error)) {
	t.Helper()
	var got, want kubeletAnswers
	var err error
	defer func() {
		if t.Failed() {
			t.Logf("%v\nPodResources: %s\nPods: %s", err,
				firstDifference(got.podResources, want.podResources), firstDifference(got.pods, want.pods))
		}
	}()
	eventually(t, timeout/3, what, func() bool {
		got, want, err = both()
		return err == nil && got == want
	})
}

// firstDifference returns the first different line and the lines before it.
func firstDifference(got, want string) string {
	if got == want {
		return "the same"
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	same := 0
	for same < min(len(gotLines), len(wantLines)) && gotLines[same] == wantLines[same] {
		same++
	}
	shown := func(lines []string) string {
		return strings.Join(lines[max(0, same-20):min(same+5, len(lines))], "\n")
	}
	return fmt.Sprintf("line %d: got\n%s\nwant\n%s", same+1, shown(gotLines), shown(wantLines))
}

type kubeletSockets interface {
	podResourcesSocket() string
	podsAPISocket() string
}

// answersOf returns the answers about the pods with these names; nil: all pods.
func answersOf(t *testing.T, kubelet kubeletSockets, names map[string]bool) (kubeletAnswers, error) {
	t.Helper()
	listed, err := podresources.NewPodResourcesListerClient(connectUnix(t, kubelet.podResourcesSocket())).
		List(t.Context(), &podresources.ListPodResourcesRequest{})
	if err != nil {
		return kubeletAnswers{}, err
	}
	listed.PodResources = slices.DeleteFunc(listed.PodResources, func(pod *podresources.PodResources) bool {
		return names != nil && !names[pod.Name]
	})
	sortDevices(listed)
	bytes := must(proto.Marshal(listed))
	devices := textOf("v1.ListPodResourcesResponse", bytes)

	answer, err := v1alpha1.NewPodsClient(connectUnix(t, kubelet.podsAPISocket())).
		ListPods(t.Context(), &v1alpha1.ListPodsRequest{})
	if err != nil {
		return kubeletAnswers{}, err
	}
	texts := map[string]string{}
	for _, bytes := range answer.Pods {
		var pod corev1.Pod
		must(0, pod.Unmarshal(bytes))
		if names == nil || names[pod.Name] {
			texts[pod.Namespace+"/"+pod.Name] = textOf("gpuscaler.kubernetes.Pod", bytes)
		}
	}
	var pods []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		pods = append(pods, texts[name])
	}
	const border = "\f"
	devices, text, _ := strings.Cut(numbered(devices+border+strings.Join(pods, "---\n")), border)
	return kubeletAnswers{devices, text}, nil
}

// sortDevices sorts lists that a kubelet returns in random order.
func sortDevices(list *podresources.ListPodResourcesResponse) {
	slices.SortFunc(list.PodResources, func(a, b *podresources.PodResources) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, pod := range list.PodResources {
		for _, container := range pod.Containers {
			slices.SortFunc(container.Devices, func(a, b *podresources.ContainerDevices) int {
				return cmp.Or(strings.Compare(a.ResourceName, b.ResourceName), slices.Compare(a.DeviceIds, b.DeviceIds))
			})
		}
	}
}

// messages are those of proto/podresources.proto and proto/pod.proto.
var messages = sync.OnceValue(func() *protoregistry.Files {
	protoc := exec.Command("protoc", "-I", filepath.Join(root, "proto"), "--descriptor_set_out=/dev/stdout",
		"podresources.proto", "pod.proto")
	set := &descriptorpb.FileDescriptorSet{}
	must(0, proto.Unmarshal(must(protoc.Output()), set))
	return must(protodesc.NewFiles(set))
})

// textOf returns the text form of a message of that type, without unknown fields.
func textOf(name protoreflect.FullName, bytes []byte) string {
	descriptor := must(messages().FindDescriptorByName(name))
	message := dynamicpb.NewMessage(descriptor.(protoreflect.MessageDescriptor))
	must(0, proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(bytes, message))
	text := must(prototext.MarshalOptions{Multiline: true, Indent: "  "}.Marshal(message))
	// The library adds a second space at random.
	return strings.ReplaceAll(string(text), ":  ", ": ")
}

const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// changing are patterns of values that change from run to run. Values are numbered in order of
// appearance.
var changing = []struct {
	pattern *regexp.Regexp
	number  string
}{
	{regexp.MustCompile(`GPU-` + uuid), "GPU-%08d-0000-4000-8000-000000000000"},
	{regexp.MustCompile(uuid), "%08d-0000-4000-8000-000000000000"},
	{regexp.MustCompile(`GPU-shared::\d`), "GPU-shared::%d"},
	{regexp.MustCompile(`MIG-\d`), "MIG-%d"},
	{regexp.MustCompile(`\bgpu-\d`), "gpu-%d"},
	{regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}"`), `-x7k2%d"`}, // the end of a generated name
	{regexp.MustCompile(`"\d+\.\d+\.\d+\.\d+"`), `"192.0.2.%d"`},
}

var (
	seconds = regexp.MustCompile(`seconds: \d+`)
	times   = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]+"`)
)

// numbered replaces the values that change by numbers, and all times by one time.
func numbered(text string) string {
	text = seconds.ReplaceAllString(text, "seconds: 1")
	text = times.ReplaceAllString(text, `"2026-01-01T00:00:00Z"`)
	var patterns []string
	for _, one := range changing {
		patterns = append(patterns, one.pattern.String())
	}
	counts := make([]int, len(changing))
	numbers := map[string]string{}
	return regexp.MustCompile(strings.Join(patterns, "|")).ReplaceAllStringFunc(text, func(old string) string {
		for index, one := range changing {
			if numbers[old] == "" && one.pattern.FindString(old) == old {
				counts[index]++
				numbers[old] = fmt.Sprintf(one.number, counts[index])
			}
		}
		return numbers[old]
	})
}
