package contract

import (
	"maps"
	"strings"
	"testing"
)

// The values of each metric type on a GPU with every reading.
var everyReading = gpu{
	"name": "Simulated", "processes": []map[string]int{{"pid": 1}},
	"utilization_percent": 60, "memory_utilization_percent": 45,
	"memory_used_bytes": memoryTotal / 4, "memory_total_bytes": memoryTotal,
	"temperature_celsius": 71.5, "power_watts": 300.25,
	"pcie_tx_kbps": 1000, "pcie_rx_kbps": 2000, "nvlink_tx_mbps": 3000, "nvlink_rx_mbps": 4000,
	"sm_activity_percent": 50, "dram_activity_percent": 40, "tensor_activity_percent": 30,
}

var metricTypeValues = map[string]float64{
	"gpu_utilization": 60, "memory_utilization": 45, "memory_used_mib": 20 << 10,
	"memory_used_percent": 25, "temperature": 71.5, "power_draw": 300.25, "pcie_tx_kbps": 1000,
	"pcie_rx_kbps": 2000, "nvlink_tx_mbps": 3000, "nvlink_rx_mbps": 4000,
	"sm_activity": 50, "dram_activity": 40, "tensor_activity": 30,
}

// The first poll already gets a value: readings that are taken only on request are taken then.
func TestEveryMetricTypeIsAnsweredAtTheFirstPoll(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, everyReading))
	external(t, trigger(s, nil)).comesTo(answer{60, true}) // it has read its GPUs before
	for _, row := range referenceTable(t, "metricType") {
		metricType := row["metricType"]
		want, known := metricTypeValues[metricType]
		if !known {
			continue // the test below has the demand types
		}
		t.Run(metricType, func(t *testing.T) {
			c := external(t, trigger(s, map[string]string{"metricType": metricType}))
			if got, err := c.ask(); err != nil || got != (answer{want, true}) {
				t.Errorf("%+v, %v, want %v", got, err, want)
			}
		})
	}
}

// sourcesOnDemand are the other keys of such a metric type, by prefix of its name.
var sourcesOnDemand = map[string]map[string]string{
	"redis_stream_length":  {"redisAddress": "redis:6379", "redisStream": "jobs"},
	"redis_stream_lag":     {"redisAddress": "redis:6379", "redisStream": "jobs", "redisConsumerGroup": "workers"},
	"redis_stream_pending": {"redisAddress": "redis:6379", "redisStream": "jobs", "redisConsumerGroup": "workers"},
	"redis_list_length":    {"redisAddress": "redis:6379", "redisList": "jobs"},
	"prometheus":           {"prometheusEndpoint": "http://gateway:9090/metrics", "prometheusMetric": "queue_size"},
	"pending_ratio":        {"engineEndpoint": "http://llm:8000", "scope": "fleet", "maxConcurrency": "8"},
}

// If no GPU is in use, a name without addresses means that no engine runs and no request waits. A
// queue or a metrics endpoint without an address is unknown.
func TestEveryDemandMetricTypeReadsItsSource(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, unused()))
	for _, row := range referenceTable(t, "metricType") {
		metricType := row["metricType"]
		if _, ofGPUs := metricTypeValues[metricType]; ofGPUs {
			continue
		}
		t.Run(metricType, func(t *testing.T) {
			metadata := maps.Clone(sourcesOnDemand[metricType])
			if metadata == nil {
				metadata = map[string]string{"engineEndpoint": "http://llm:8000", "scope": "fleet"}
			}
			metadata["metricType"] = metricType
			got, err := external(t, trigger(s, metadata)).ask()
			if metadata["engineEndpoint"] != "" {
				if err != nil || got != (answer{0, false}) {
					t.Errorf("%+v, %v, want 0", got, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), "code = Unavailable") {
				t.Errorf("%+v, %v, want Unavailable", got, err)
			}
		})
	}
}
