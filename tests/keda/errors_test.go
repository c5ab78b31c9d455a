package contract

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func with(key string, value any, one gpu) gpu {
	one[key] = value
	return one
}

func manyKeys(count int) map[string]string {
	keys := map[string]string{}
	for i := range count {
		keys[fmt.Sprint("key", i)] = "value"
	}
	return keys
}

func TestErrorsAsKedaReportsThem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		metadata map[string]string
		gpus     []gpu
		flag     string
		want     string // after "rpc error: code = "
	}{
		{name: "a key with a typo", metadata: map[string]string{"targetValeu": "80"},
			want: `InvalidArgument desc = targetValeu="80": no such key; did you mean "targetValue"?`},
		{name: "a value with a typo", metadata: map[string]string{"aggregation": "p90"},
			want: `InvalidArgument desc = aggregation="p90": use max, min, avg, sum, p95 or p99; did you mean "p95"?`},
		{name: "a target of zero", metadata: map[string]string{"targetValue": "0"},
			want: `InvalidArgument desc = targetValue="0": use a number above 0 (0.001 to 1e12)`},
		{name: "a duration without its unit", metadata: map[string]string{"window": "30"},
			want: `InvalidArgument desc = window="30": use a duration with its unit`},
		{name: "a profile with a typo", metadata: map[string]string{"profile": "vllm-inferense"},
			want: `InvalidArgument desc = profile="vllm-inferense": use batch, distributed-training, `},
		{name: "a metric name that KEDA would prefix twice", metadata: map[string]string{"metricName": "s0-gpu"},
			want: `InvalidArgument desc = metricName="s0-gpu": use `},
		{name: "too many keys", metadata: manyKeys(300),
			want: `InvalidArgument desc = metadata has 303 keys, at most 256`},
		{name: "too long a value", metadata: map[string]string{"profile": strings.Repeat("x", 70000)},
			want: `InvalidArgument desc = metadata has 70`},
		{name: "a GPU that no node has", metadata: map[string]string{"gpuIndex": "7"},
			want: `FailedPrecondition desc = gpuIndex="7": no node has this GPU; there are 0`},
		{name: "a metric that the GPUs lack", metadata: map[string]string{"metricType": "nvlink_tx_mbps"},
			want: `FailedPrecondition desc = no GPU in scope has nvlink_tx_mbps: node/0 (Simulated)`},
		{name: "a reading that failed", gpus: []gpu{with("utilization_percent", nil, busyAt(0))},
			want: `Unavailable desc = none of 1 replica can be read for gpu_utilization: node/0 `},
		{name: "no source of readings", flag: "--gpu-source=none",
			want: `Unavailable desc = no GPU snapshot yet: no GPU is read: --gpu-source none`},
		{name: "a file that is not there", flag: "--gpu-source=file:/no/gpus.json",
			want: `Unavailable desc = no GPU snapshot yet: /no/gpus.json: cannot be read`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			gpus := test.gpus
			if gpus == nil {
				gpus = []gpu{busyAt(90)}
			}
			var flags []string
			if test.flag != "" {
				flags = append(flags, test.flag)
			}
			s := startScaler(t, newGpuFile(t, gpus...), flags...)
			c := inCache(t, trigger(s, test.metadata))
			got, err := c.ask()
			want := "rpc error: code = " + test.want
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%+v\n%v; want\n%s", got, err, want)
			}
			if asked := s.calls("GetMetrics"); asked != 2 {
				t.Errorf("asked %d times", asked)
			}
			// A failing spec would fail the ScaledObject's other triggers as well.
			if specs := c.specs(); specs != 1 {
				t.Errorf("%d specs", specs)
			}
		})
	}
}

func TestNodeWithoutGpusIsIdleAndNoError(t *testing.T) {
	t.Parallel()
	external(t, trigger(startScaler(t, newGpuFile(t)), nil)).comesTo(answer{0, false})
}

func TestScaledObjectWithoutANameIsRefused(t *testing.T) {
	t.Parallel()
	config := trigger(startScaler(t, newGpuFile(t, busyAt(90))), nil)
	config.ScalableObjectName = ""
	c := inCache(t, config)
	if got, err := c.ask(); err == nil || !strings.Contains(err.Error(), "no name") {
		t.Errorf("%+v, %v", got, err)
	}
	if specs := c.specs(); specs != 1 {
		t.Errorf("%d specs", specs)
	}
}

func TestStaleReadingsAreAnErrorAndNotTheLastValue(t *testing.T) {
	t.Parallel()
	gpus := newGpuFile(t, busyAt(90))
	c := external(t, trigger(startScaler(t, gpus, "--stale-after=300ms"), nil))
	c.comesTo(answer{90, true})
	if err := os.Remove(gpus.path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the last value is no longer given", func() bool {
		got, err := c.ask()
		if err == nil && got != (answer{90, true}) {
			t.Fatalf("%+v was made up", got)
		}
		return err != nil
	})
	gpus.show(busyAt(70))
	c.comesTo(answer{70, true})
}

// One unreadable replica counts as the target: the readable ones decide, and nothing is scaled in.
func TestReplicaThatCannotBeReadCountsTheTarget(t *testing.T) {
	t.Parallel()
	gpus := newGpuFile(t, busyAt(90), busyAt(90), busyAt(90))
	c := external(t, trigger(startScaler(t, gpus, "--stale-after=300ms"), nil))
	c.comesTo(answer{270, true})
	gpus.show(busyAt(90), with("utilization_percent", nil, busyAt(0)), busyAt(90))
	c.comesTo(answer{260, true})
}

// Each answer waits up to 1.5 s for a reading, and KEDA calls a failing scaler twice.
func TestMissingReadingsAreAnErrorWithinFourSeconds(t *testing.T) {
	s := startScaler(t, newGpuFile(t), "--gpu-source=none")
	within(t, 2*2*time.Second, "two answers", func() time.Duration {
		c := inCache(t, trigger(s, nil))
		asked := time.Now()
		if got, err := c.ask(); err == nil {
			t.Errorf("%+v, want an error", got)
		}
		return time.Since(asked)
	})
}

func TestUnreachableScalerIsAnErrorAtOnce(t *testing.T) {
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	s.kill()
	within(t, 2*time.Second, "the error", func() time.Duration {
		c := inCache(t, trigger(s, nil))
		asked := time.Now()
		_, err := c.ask()
		took := time.Since(asked)
		if err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%v, want a refused connection", err)
		}
		if specs := c.specs(); specs != 0 {
			t.Errorf("%d specs", specs)
		}
		return took
	})
}
