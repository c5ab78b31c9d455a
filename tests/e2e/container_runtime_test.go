package e2e

import (
	"strings"
	"testing"
	"time"

	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
	fakes "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/cri-client/pkg/fake"
)

// containerRuntime is Kubernetes' fake runtime: containers run until they are stopped, without
// processes.
type containerRuntime struct {
	t    *testing.T
	fake *fakes.FakeRuntimeService
}

func startContainerRuntime(t *testing.T, socket string) *containerRuntime {
	t.Helper()
	remote := fake.NewFakeRemoteRuntime()
	remote.ImageService.SetFakeImageSize(1) // a kubelet refuses images without a size
	if err := remote.Start("unix://" + socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remote.Stop)
	return &containerRuntime{t: t, fake: remote.RuntimeService}
}

// finish waits until a container runs and ends it with success.
func (r *containerRuntime) finish(pod, container string) {
	r.t.Helper()
	eventually(r.t, timeout, pod+"/"+container+" runs", func() bool {
		r.fake.Lock()
		defer r.fake.Unlock()
		for _, one := range r.fake.Containers {
			if podOf(one) == pod && one.Metadata.Name == container &&
				one.State == runtime.ContainerState_CONTAINER_RUNNING {
				one.State = runtime.ContainerState_CONTAINER_EXITED
				one.FinishedAt = time.Now().UnixNano()
				return true
			}
		}
		return false
	})
}

// given returns the pods that have a container with each device of a kubelet, by device ID.
func (r *containerRuntime) given() map[string][]string {
	pods := map[string][]string{}
	r.eachDevice(func(id string, container *fakes.FakeContainer) {
		pods[id] = append(pods[id], podOf(container))
	})
	return pods
}

// using returns the UID of the pod with a running container that was given each device, by device
// ID.
func (r *containerRuntime) using() map[string]string {
	pods := map[string]string{}
	r.eachDevice(func(id string, container *fakes.FakeContainer) {
		if container.State == runtime.ContainerState_CONTAINER_RUNNING {
			pods[id] = container.Labels["io.kubernetes.pod.uid"]
		}
	})
	return pods
}

// eachDevice calls the function for each device of each container.
func (r *containerRuntime) eachDevice(call func(id string, container *fakes.FakeContainer)) {
	r.fake.Lock()
	defer r.fake.Unlock()
	for _, container := range r.fake.Containers {
		for name, devices := range container.Annotations {
			if !strings.HasPrefix(name, givenDevices) {
				continue
			}
			for id := range strings.SplitSeq(devices, ",") {
				call(id, container)
			}
		}
	}
}

func podOf(container *fakes.FakeContainer) string {
	return container.Labels["io.kubernetes.pod.name"]
}
