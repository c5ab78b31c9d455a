package e2e

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// stirred has VRAM that follows the load and keeps changing, as with batches that come and go.
func stirred(share float64, _ bool, gpu *device) {
	gpu.Utilization = share
	if share > 0 {
		wave := time.Now().UnixMilli() / 200 % 3
		gpu.MemoryUsed = memoryTotal * (94 + 2*wave) / 100
	}
}

// trainer sends gradients at the rate of its computation: at most 100 GB/s.
func trainer(share float64, _ bool, gpu *device) {
	engine(share, true, gpu)
	gpu.NvlinkTx = 1000 * share
}

// Profiles that read engines; GPUs have no effect on them. tests/keda tests their values.
var requestProfiles = []string{
	"triton-queue-wait", "triton-request-rate", "vllm-queue-depth", "vllm-requests"}

// builtInProfiles returns the profiles in the binary's reference table.
func builtInProfiles(t *testing.T) []string {
	t.Helper()
	page := string(must(exec.CommandContext(t.Context(), binary, "reference").Output()))
	_, table, _ := strings.Cut(page, "\n## Profiles\n")
	table, _, _ = strings.Cut(table, "\n#")
	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(table, -1) {
		names = append(names, row[1])
	}
	slices.Sort(names)
	return names
}

func TestEveryProfileOfGPUsScalesItsKindOfWork(t *testing.T) {
	t.Parallel()
	cases := []struct {
		profile string
		shows   replica
		rest    int // replicas without load if minReplicaCount is 0
	}{
		{"vllm-inference", engine, 0},
		{"tgi-inference", engine, 0},
		{"triton-inference", engine, 0},
		{"ollama", stirred, 0},
		{"batch", stirred, 0},
		{"training", trainer, 1}, // an idle trainer is kept
		{"distributed-training", trainer, 0},
	}
	known := slices.Clone(requestProfiles)
	for _, one := range cases {
		known = append(known, one.profile)
	}
	slices.Sort(known)
	if all := builtInProfiles(t); !slices.Equal(known, all) {
		t.Errorf("the binary has the profiles %v, known here are %v", all, known)
	}
	for _, one := range cases {
		t.Run(one.profile, func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, "profile-"+one.profile, start{gpus: 4, shows: one.shows, replicas: 1})
			w.varyGPUs()
			up := w.load(4 * 100)
			w.scaler.waitForHeldGPUs(1)
			w.line.reaches(1, timeout)
			w.scale(scaledObject{min: 0, max: 4, triggers: []any{
				w.gpus(map[string]string{"profile": one.profile})}})
			w.line.reaches(4, timeout)
			w.line.risesOnly(up)

			down := w.load(0)
			w.line.reaches(one.rest, timeout)
			stays := 3 * time.Second
			if one.rest > 0 {
				stays = 15 * time.Second // past activationWindow 3 s and cooldownPeriod 8 s
			}
			w.holds(stays)
			w.line.fallsOnly(down)
		})
	}
}
