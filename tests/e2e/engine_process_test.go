package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// engineProcess is the lab's inference server, `keda-gpu-scaler-lab engine`, on port 8000.
type engineProcess struct {
	t       *testing.T
	name    string
	address string
	process *os.Process
	ended   chan struct{}
}

// startEngine starts an engine on its own loopback address.
func startEngine(t *testing.T, name string, flags ...string) *engineProcess {
	t.Helper()
	e := &engineProcess{t: t, name: name, address: newAddress()}
	if err := e.start(nil, append([]string{"--bind-address=" + e.address}, flags...)); err != nil {
		t.Fatal(err)
	}
	eventually(t, timeout, "the engine serves", e.isHealthy)
	return e
}

// startEngineInPod starts an engine in its own network namespace, on the address that it has there,
// and waits until its model is loaded.
func startEngineInPod(t *testing.T, pod string, flags ...string) (*engineProcess, error) {
	e := &engineProcess{t: t, name: pod}
	own := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	err := e.start(own, append([]string{"--bind-address=0.0.0.0"}, flags...))
	if err == nil {
		e.address, err = layCable(e.process.Pid)
	}
	return e, err
}

func (e *engineProcess) start(how *syscall.SysProcAttr, flags []string) error {
	log, err := os.Create(filepath.Join(logFolder, "engine-"+e.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(lab, append([]string{"engine"}, flags...)...)
	command.Stderr, command.SysProcAttr = log, how
	if err := command.Start(); err != nil {
		return err
	}
	e.process, e.ended = command.Process, make(chan struct{})
	go func() {
		command.Wait()
		close(e.ended)
	}()
	e.t.Cleanup(func() {
		e.process.Kill()
		<-e.ended
	})
	return nil
}

// terminate ends the engine and waits until it has answered all its requests.
func (e *engineProcess) terminate() {
	e.process.Signal(syscall.SIGTERM)
	<-e.ended
}

func (e *engineProcess) url(path string) string { return "http://" + e.address + ":8000" + path }

func (e *engineProcess) isHealthy() bool {
	answer, err := http.Get(e.url("/health"))
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// hold sends requests that last longer than any test.
func (e *engineProcess) hold(requests int) {
	for range requests {
		work := strings.NewReader(`{"prompt": "a", "max_tokens": 100000}`)
		request, err := http.NewRequestWithContext(e.t.Context(), "POST", e.url("/v1/completions"), work)
		if err != nil {
			e.t.Fatal(err)
		}
		go func() {
			if answer, err := http.DefaultClient.Do(request); err == nil {
				answer.Body.Close()
			}
		}()
	}
}

// waitForRunning waits until the engine reports that many running requests.
func (e *engineProcess) waitForRunning(want float64) {
	e.t.Helper()
	eventually(e.t, timeout, fmt.Sprintf("%g requests run", want), func() bool {
		answer, err := http.Get(e.url("/metrics"))
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		return err == nil && sumOf(string(page), "vllm:num_requests_running{") == want
	})
}

var cables atomic.Int32

// layCable connects the network of a process to ours by a veth pair, as for a pod. It returns the
// address on the process's side; the pair is removed with the process.
func layCable(pid int) (string, error) {
	number := cables.Add(1)
	address := func(side int32) string {
		return fmt.Sprintf("10.80.%d.%d", number/64, number%64*4+side)
	}
	script := `set -e
		ip link add "pod$1" type veth peer name eth0 netns "$2"
		ip address add "$3/30" dev "pod$1"
		ip link set "pod$1" up
		nsenter --target "$2" --net sh -ec '
			ip address add "$2/30" dev eth0
			ip link set eth0 up
			ip link set lo up
			ip route add default via "$1"' sh "$3" "$4"`
	command := exec.Command("sh", "-c", script, "sh", fmt.Sprint(number), fmt.Sprint(pid), address(1), address(2))
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("a pod's network: %v\n%s", err, output)
	}
	return address(2), nil
}
