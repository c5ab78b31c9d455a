package e2e

import (
	"strings"
	"testing"
	"time"

	runtime "k8s.io/cri-api/pkg/apis/runtime/v1"
	fakes "k8s.io/cri-api/pkg/apis/testing"
	"k8s.io/cri-client/pkg/fake"
)

// containerRuntime is Kubernetes' fake one: containers run until they are stopped, without processes.
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

// finish ends a container with success, once it runs.
func (r *containerRuntime) finish(pod, container string) {
	r.t.Helper()
	eventually(r.t, patience, pod+"/"+container+" runs", func() bool {
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

// given is which pods' containers were started with each device of a kubelet, by its id.
func (r *containerRuntime) given() map[string][]string {
	r.fake.Lock()
	defer r.fake.Unlock()
	pods := map[string][]string{}
	for _, container := range r.fake.Containers {
		for name, devices := range container.Annotations {
			if !strings.HasPrefix(name, givenDevices) {
				continue
			}
			for id := range strings.SplitSeq(devices, ",") {
				pods[id] = append(pods[id], podOf(container))
			}
		}
	}
	return pods
}

func podOf(container *fakes.FakeContainer) string {
	return container.Labels["io.kubernetes.pod.name"]
}
