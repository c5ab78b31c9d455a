package contract

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	v2 "k8s.io/api/autoscaling/v2"
)

func writeProfiles(t *testing.T, yaml string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profiles.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// preallocated returns a GPU of an engine: VRAM stays at 91 %, busy or idle.
func preallocated(percent, nvlink float64) gpu {
	one := busyAt(percent)
	one["memory_used_bytes"] = memoryTotal / 100 * 91
	one["nvlink_tx_mbps"] = nvlink
	return one
}

// quick shortens a profile's windows.
var quick = map[string]string{
	"window": "0s", "activationWindow": "0s", "preallocationWindow": "1s", "warmupSeconds": "0",
}

func withProfile(profile string) map[string]string {
	metadata := maps.Clone(quick)
	metadata["profile"] = profile
	return metadata
}

// The value of two replicas with preallocated VRAM in each profile, at 60 % and 60000 MiB/s, and
// idle.
var profileValues = map[string]struct{ busy, idle answer }{
	"vllm-inference": {answer{120, true}, answer{0, false}}, // no engine to read: utilization
	"tgi-inference":  {answer{120, true}, answer{0, false}},
	// a busy replica counts as the target
	"batch":                {answer{140, true}, answer{0, false}},
	"ollama":               {answer{140, true}, answer{0, false}},
	"triton-inference":     {answer{120, true}, answer{0, false}},
	"training":             {answer{180, true}, answer{0, true}}, // never shrunk, never at zero
	"distributed-training": {answer{120000, true}, answer{0, false}},
	// Engines only; none runs at the trigger's address.
	"vllm-requests":       {},
	"vllm-queue-depth":    {},
	"triton-queue-wait":   {},
	"triton-request-rate": {},
}

func TestEveryProfileScalesFromBusyToIdle(t *testing.T) {
	t.Parallel()
	gpus := newGpuFile(t, times(2, preallocated(60, 60000))...)
	s := startScaler(t, gpus)
	withoutEngines := startScaler(t, newGpuFile(t, unused()))
	clients := map[string]*client{}
	for _, row := range referenceTable(t, "profile") {
		profile := row["profile"]
		want, known := profileValues[profile]
		if !known {
			t.Fatalf("the reference has a profile %s that this test has no values of", profile)
		}
		config := trigger(s, withProfile(profile))
		if want.busy == want.idle {
			config = trigger(withoutEngines, map[string]string{"profile": profile, "scope": "fleet",
				"engineEndpoint": "http://llm:8000"})
		}
		c := external(t, config)
		clients[profile] = c
		spec := c.spec()
		if got := spec.Metric.Name; got != "s0-"+row["metric name"] {
			t.Errorf("%s: metric %s, want s0-%s", profile, got, row["metric name"])
		}
		target := must(strconv.ParseFloat(row["targetValue"], 64))
		if got := spec.Target.AverageValue.AsApproximateFloat64(); got != target {
			t.Errorf("%s: target %v, want %v", profile, got, target)
		}
		c.comesTo(want.busy)
	}
	gpus.show(times(2, preallocated(0, 0))...)
	for profile, c := range clients {
		c.comesTo(profileValues[profile].idle)
	}
}

// Until it is known whether VRAM is preallocated, a replica counts at most the target, so that a
// start cannot run away.
func TestVramCountsAtMostTheTargetAtFirst(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, times(2, preallocated(100, 0))...))
	metadata := withProfile("vllm-inference")
	metadata["preallocationWindow"] = "15m"
	external(t, trigger(s, metadata)).comesTo(answer{160, true})
}

func TestKeyInTheMetadataOverridesTheProfile(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	metadata := withProfile("triton-inference")
	metadata["targetValue"], metadata["activationThreshold"] = "50", "95"
	metadata["metricName"] = "ours"
	c := external(t, trigger(s, metadata))
	spec := c.spec()
	if spec.Metric.Name != "s0-ours" || spec.Target.AverageValue.String() != "50" {
		t.Errorf("%+v, want s0-ours and 50", spec)
	}
	c.comesTo(answer{90, false})
}

func TestCustomProfile(t *testing.T) {
	t.Parallel()
	profiles := writeProfiles(t, `
profiles:
  our-llm: {extends: triton-inference, targetValue: 65, activationThreshold: 20}
`)
	s := startScaler(t, newGpuFile(t, busyAt(30)), "--profiles="+profiles)
	config := trigger(s, withProfile("our-llm"))
	config.MetricType = v2.AverageValueMetricType
	c := external(t, config)
	spec := c.spec()
	if spec.Metric.Name != "s0-keda_gpu_our_llm" || spec.Target.AverageValue.String() != "65" {
		t.Errorf("%+v, want s0-keda_gpu_our_llm and 65", spec)
	}
	c.comesTo(answer{30, true})
}
