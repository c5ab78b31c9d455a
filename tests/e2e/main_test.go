// Package e2e tests the real binary with real KEDA and the real HPA. Each test is a workload on one
// control plane (tools/control-plane), scaled by its own scaler with simulated GPUs that follow the
// workload's pods. All of it runs in Linux namespaces (in_namespaces).
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hostsFolder maps names to addresses; see in_namespaces.
var hostsFolder = os.Getenv("E2E_HOSTS")

var (
	root      = must(filepath.Abs("../.."))
	folder    = filepath.Join(root, "build/cluster/e2e")
	logFolder = filepath.Join(folder, "log")
	build     = orElse(os.Getenv("E2E_BUILD"), filepath.Join(root, "build/dev"))
	binary    = filepath.Join(build, "src/app/keda-gpu-scaler")
	lab       = filepath.Join(build, "src/lab/keda-gpu-scaler-lab")
)

func TestMain(m *testing.M) {
	if hostsFolder == "" {
		controlPlane("build") // needs a network
		lock()
		again := append([]string{"./in_namespaces"}, os.Args...)
		err := syscall.Exec(again[0], again, os.Environ())
		fail("%s: %v", again[0], err)
	}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy"} {
		os.Unsetenv(name) // only loopback is reachable
		os.Unsetenv(strings.ToUpper(name))
	}
	controlPlane("down") // left by a killed run
	for _, log := range must(filepath.Glob(filepath.Join(logFolder, "*.log"))) {
		must(0, os.Remove(log))
	}
	controlPlane("up")
	if err := connect(filepath.Join(folder, "kubeconfig")); err != nil {
		fail("%v", err)
	}
	// Tests mostly wait without using the CPU. A flag on the command line has precedence.
	must(0, flag.Set("test.parallel", "12"))
	code := m.Run()
	controlPlane("down")
	os.Exit(code)
}

// lock prevents a second run in the folder until this one and all its processes have ended.
func lock() {
	must(0, os.MkdirAll(folder, 0o755))
	file := must(syscall.Open(folder+".lock", syscall.O_CREAT|syscall.O_RDWR, 0o644)) // kept over Exec
	if err := syscall.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		fail("%s: another run of these tests goes on: %v", folder, err)
	}
}

func controlPlane(command string) {
	run := exec.Command(filepath.Join(root, "tools/control-plane"), command, "--dir", folder)
	run.Stdout, run.Stderr = os.Stderr, os.Stderr
	if err := run.Run(); err != nil {
		fail("tools/control-plane %s: %v", command, err)
	}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

func must[T any](value T, err error) T {
	if err != nil {
		fail("%v", err)
	}
	return value
}
