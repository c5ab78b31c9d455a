// Package e2e holds real KEDA, the real HPA and the real binary together: each test is a workload
// on one control plane (tools/control-plane), scaled by a scaler of its own, whose simulated GPUs
// follow the workload's pods. All of it runs in namespaces of the kernel (in_namespaces).
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// hostsFolder is where names are given addresses; see in_namespaces.
var hostsFolder = os.Getenv("E2E_HOSTS")

var (
	root      = must(filepath.Abs("../.."))
	folder    = filepath.Join(root, "build/cluster/e2e")
	logFolder = filepath.Join(folder, "log")
	binary    = filepath.Join(root, "build/dev/src/app/keda-gpu-scaler")
)

func TestMain(m *testing.M) {
	if hostsFolder == "" {
		controlPlane("build") // for which there must be a network
		again := append([]string{"./in_namespaces"}, os.Args...)
		err := syscall.Exec(again[0], again, os.Environ())
		fail("%s: %v", again[0], err)
	}
	controlPlane("down") // of a run that was killed
	controlPlane("up")
	if err := connect(filepath.Join(folder, "kubeconfig")); err != nil {
		fail("%v", err)
	}
	// They wait, most of the time, and not for a processor. A flag of the command line still wins.
	must(0, flag.Set("test.parallel", "12"))
	code := m.Run()
	controlPlane("down")
	os.Exit(code)
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
