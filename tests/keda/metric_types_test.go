package contract

import "testing"

// What a GPU with every reading gives for each metric type.
var everyReading = gpu{
	"name": "Simulated", "processes": []map[string]int{{"pid": 1}},
	"utilization_percent": 60, "memory_utilization_percent": 45,
	"memory_used_bytes": memoryTotal / 4, "memory_total_bytes": memoryTotal,
	"temperature_celsius": 71.5, "power_watts": 300.25,
	"pcie_tx_kbps": 1000, "pcie_rx_kbps": 2000, "nvlink_tx_mbps": 3000, "nvlink_rx_mbps": 4000,
}

var metricTypeValues = map[string]float64{
	"gpu_utilization": 60, "memory_utilization": 45, "memory_used_mib": 20 << 10,
	"memory_used_percent": 25, "temperature": 71.5, "power_draw": 300.25, "pcie_tx_kbps": 1000,
	"pcie_rx_kbps": 2000, "nvlink_tx_mbps": 3000, "nvlink_rx_mbps": 4000,
}

// Also the first poll gets a value: a reading that is taken only while it is wanted is taken then.
func TestEveryMetricTypeIsAnsweredAtTheFirstPoll(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, everyReading))
	external(t, trigger(s, nil)).comesTo(answer{60, true}) // it has read its GPUs before
	for _, row := range referenceTable(t, "metricType") {
		metricType := row["metricType"]
		t.Run(metricType, func(t *testing.T) {
			want, known := metricTypeValues[metricType]
			if !known {
				t.Fatal("the reference has a metric type that this test has no value of")
			}
			c := external(t, trigger(s, map[string]string{"metricType": metricType}))
			if got, err := c.ask(); err != nil || got != (answer{want, true}) {
				t.Errorf("%+v, %v, want %v", got, err, want)
			}
		})
	}
}
