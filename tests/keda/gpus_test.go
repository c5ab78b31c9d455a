package contract

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// gpu is a GPU in the file that `--gpu-source file:` reads; docs/hardware.md has the keys. A
// missing key is a reading that the device lacks, nil one that failed.
type gpu map[string]any

const memoryTotal = 80 << 30

// busyAt returns a GPU in use with that utilization and half of its VRAM.
func busyAt(percent float64) gpu {
	return gpu{
		"name": "Simulated", "utilization_percent": percent,
		"memory_used_bytes": memoryTotal / 2, "memory_total_bytes": memoryTotal,
		"processes": []map[string]int{{"pid": 1}},
	}
}

// unused returns a free GPU, which is no replica.
func unused() gpu {
	return gpu{
		"name": "Simulated", "utilization_percent": 0,
		"memory_used_bytes": 0, "memory_total_bytes": memoryTotal, "processes": []int{},
	}
}

// drawing returns a GPU in use at that power.
func drawing(watts float64) gpu {
	one := busyAt(50)
	one["power_watts"] = watts
	return one
}

func times(count int, one gpu) []gpu {
	all := make([]gpu, count)
	for i := range all {
		all[i] = one
	}
	return all
}

// gpuFile has a node's GPUs; a test may change it while scalers read it.
type gpuFile struct {
	t    *testing.T
	path string
}

func newGpuFile(t *testing.T, gpus ...gpu) *gpuFile {
	t.Helper()
	f := &gpuFile{t, filepath.Join(t.TempDir(), "gpus.json")}
	f.show(gpus...)
	return f
}

// show replaces the file atomically.
func (f *gpuFile) show(gpus ...gpu) {
	f.t.Helper()
	text := must(json.Marshal(map[string]any{"gpus": append([]gpu{}, gpus...)})) // never null
	replaceFile(f.t, f.path, string(text))
}

func (f *gpuFile) source() string { return "--gpu-source=file:" + f.path }

func replaceFile(t *testing.T, path, text string) {
	t.Helper()
	next := path + ".next"
	err := os.WriteFile(next, []byte(text), 0o600)
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		t.Fatal(err)
	}
}
