package contract

import (
	"testing"

	v2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestEveryRpcIsCalledByKedaAndAnswered(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)), "--profiles="+writeProfiles(t, "profiles: {}"))
	c := external(t, trigger(s, nil))
	c.spec()
	c.comesTo(answer{90, true})
	p := push(t, trigger(s, nil))
	p.waitForTrue()
	p.streamsSpec()
	p.close()
	for _, rpc := range []string{"IsActive", "StreamIsActive", "GetMetricSpec", "GetMetrics", "StreamMetricSpec"} {
		eventually(t, rpc+" is counted", func() bool { return s.calls(rpc) > 0 })
	}
}

func TestSpecIsNameAndTargetOfTheMetadata(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	for _, test := range []struct {
		name     string
		metadata map[string]string
		index    int
		kind     v2.MetricTargetType
		metric   string
		target   string
	}{
		{"the defaults", nil, 0, "", "s0-keda_gpu_metric", "80"},
		{"another trigger", nil, 3, "", "s3-keda_gpu_metric", "80"},
		{"a target", map[string]string{"targetValue": "65"}, 0, v2.AverageValueMetricType,
			"s0-keda_gpu_metric", "65"},
		{"a fraction", map[string]string{"targetValue": "6.111"}, 0, "", "s0-keda_gpu_metric", "6111m"},
		{"less than one", map[string]string{"targetValue": "0.5"}, 0, "", "s0-keda_gpu_metric", "500m"},
		{"the least", map[string]string{"targetValue": "0.001"}, 0, "", "s0-keda_gpu_metric", "1m"},
		{"Value", map[string]string{"targetType": "Value"}, 0, v2.ValueMetricType, "s0-keda_gpu_metric",
			"80"},
		{"a name", map[string]string{"metricName": "gpu.of_the-llm"}, 0, "", "s0-gpu.of_the-llm", "80"},
		{"short for a metric", map[string]string{"targetMemoryUtilization": "70"}, 0, "",
			"s0-keda_gpu_metric", "70"},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := trigger(s, test.metadata)
			config.TriggerIndex, config.MetricType = test.index, test.kind
			spec := external(t, config).spec()
			if spec.Metric.Name != test.metric {
				t.Errorf("metric %q, want %q", spec.Metric.Name, test.metric)
			}
			got := spec.Target.AverageValue
			if test.kind == v2.ValueMetricType {
				got = spec.Target.Value
			}
			if got == nil || !got.Equal(resource.MustParse(test.target)) {
				t.Errorf("target %+v, want %s", spec.Target, test.target)
			}
		})
	}
}

func TestValueIsTheLoadOfTheWholeWorkload(t *testing.T) {
	t.Parallel()
	saturated := newGpuFile(t, append(times(3, busyAt(100)), unused())...)
	s := startScaler(t, saturated)
	for _, test := range []struct {
		name     string
		metadata map[string]string
		want     float64
	}{
		{"the sum over the replicas, for AverageValue", nil, 300},
		{"their average, for Value", map[string]string{"targetType": "Value"}, 100},
		{"one GPU", map[string]string{"gpuIndex": "1"}, 100},
		{"two GPUs a replica", map[string]string{"gpusPerReplica": "2"}, 200},
		{"an amount: the total", map[string]string{"metricType": "memory_used_mib"}, 3 * 40 << 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := trigger(s, test.metadata)
			if test.metadata["targetType"] == "Value" {
				config.MetricType = v2.ValueMetricType
			}
			external(t, config).comesTo(answer{test.want, true})
		})
	}
}

func TestValueKeepsThreeDecimals(t *testing.T) {
	t.Parallel()
	for _, watts := range []float64{0.25, 0.001, 6.111, 22.222, 64.1, 12345.678} {
		s := startScaler(t, newGpuFile(t, drawing(watts)))
		external(t, trigger(s, map[string]string{"metricType": "power_draw", "targetValue": "10"})).
			comesTo(answer{watts, true})
	}
}

func TestTriggersOfOneScaledObjectAreKeptApart(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90), busyAt(30)))
	first := trigger(s, nil)
	second := trigger(s, map[string]string{"gpuIndex": "1"})
	second.ScalableObjectName, second.TriggerIndex = first.ScalableObjectName, 1
	for range 3 {
		external(t, first).comesTo(answer{120, true})
		external(t, second).comesTo(answer{30, true})
	}
}

func TestIdleWorkloadIsZeroAndInactiveAndNoError(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, unused(), unused()))
	external(t, trigger(s, nil)).comesTo(answer{0, false})
}

// KEDA requests the metric by its HPA's name for it, which may be from before a profile change.
func TestValueIsReturnedForAnyMetricName(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	c := external(t, trigger(s, map[string]string{"metricName": "another"}))
	c.comesTo(answer{90, true}) // requested as keda_gpu_metric
}
