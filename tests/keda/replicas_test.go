package contract

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	v2 "k8s.io/api/autoscaling/v2"
)

// withinTolerance returns whether the HPA keeps the replicas: its default tolerance is 0.1,
// inclusive.
func withinTolerance(ratio float64) bool {
	const tolerance = 0.1
	return 1-tolerance <= ratio && ratio <= 1+tolerance
}

// desiredByAverageValue returns the HPA's replicas for a value, in thousandths as it calculates:
// GetExternalPerPodMetricReplicas of pkg/controller/podautoscaler/replica_calculator.go, Kubernetes
// 1.36. KEDA scales from 0: to 1 when the trigger is active.
func desiredByAverageValue(value, target float64, replicas int) int {
	usage, perPod := math.Round(value*1000), math.Round(target*1000)
	if withinTolerance(usage / (perPod * float64(replicas))) {
		return replicas
	}
	return int(math.Ceil(usage / perPod))
}

// desiredByValue is the same for Value: GetExternalMetricReplicas there.
func desiredByValue(value, target float64, ready int) int {
	ratio := math.Round(value*1000) / math.Round(target*1000)
	if withinTolerance(ratio) {
		return ready
	}
	return int(math.Ceil(ratio * float64(ready)))
}

// bounded applies the limits: KEDA makes 0 of the HPA's minimum of 1 if nothing is active.
func bounded(desired int, active bool, most int) int {
	if !active {
		return 0
	}
	return min(max(desired, 1), most)
}

// KEDA's own end-to-end tests of external scalers (tests/scalers/external_scaler_so and
// external_push_scaler of v2.21.0): target 10, values 10, 20 and 0, and 22.222 to 6.111 with a
// maximum of 3. Ours are watts.
func TestKedasPublishedShapes(t *testing.T) {
	t.Parallel()
	const most = 3
	for _, test := range []struct {
		watts, target float64
		want          int // from the replicas of the row before, 0 at first
	}{
		{0, 10, 0}, {10, 10, 1}, {20, 10, 2}, {22.222, 6.111, 3}, {0, 10, 0},
		{0.001, 10, 1}, {0.5, 10, 1}, {10.999, 10, 1}, {11, 10, 1}, {11.001, 10, 2}, {20.001, 10, 3},
		{1000, 10, 3},
	} {
		for _, kind := range []string{"external", "external-push"} {
			t.Run(fmt.Sprintf("%s %v of %v", kind, test.watts, test.target), func(t *testing.T) {
				t.Parallel()
				one := drawing(test.watts)
				if test.watts == 0 {
					one = unused()
					one["power_watts"] = 0
				}
				s := startScaler(t, newGpuFile(t, one))
				config := trigger(s, map[string]string{"metricType": "power_draw",
					"targetValue": strconv.FormatFloat(test.target, 'f', -1, 64)})
				var c *client
				if kind == "external" {
					c = external(t, config)
				} else {
					p := push(t, config)
					if test.watts > 0 {
						p.waitForTrue()
					}
					c = p.client
				}
				c.comesTo(answer{test.watts, test.watts > 0})
				target := c.spec().Target.AverageValue.AsApproximateFloat64()
				replicas := 0
				for range 5 { // HPA syncs
					got, err := c.ask()
					if err != nil {
						t.Fatal(err)
					}
					desired := 1
					if replicas > 0 {
						desired = desiredByAverageValue(got.value, target, replicas)
					}
					replicas = bounded(desired, got.active, most)
				}
				if replicas != test.want {
					t.Errorf("%d replicas, want %d", replicas, test.want)
				}
			})
		}
	}
}

// The first two oracles of a workload with all replicas saturated: replicas at successive syncs of
// the HPA, each step's replicas ready before the next.
func TestSaturatedWorkloadGrows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		target string
		want   []int
	}{
		{"70", []int{1, 2, 3, 5, 8, 12, 18, 26}},
		{"75", []int{1, 2, 3, 4, 6, 8, 11, 15, 20, 27}},
		{"80", []int{1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24}},
	} {
		t.Run(test.target, func(t *testing.T) {
			t.Parallel()
			gpus := newGpuFile(t)
			s := startScaler(t, gpus)
			c := external(t, trigger(s, map[string]string{"targetValue": test.target}))
			target := c.spec().Target.AverageValue.AsApproximateFloat64()
			replicas := []int{1}
			for len(replicas) < len(test.want) {
				now := replicas[len(replicas)-1]
				gpus.show(times(now, busyAt(100))...)
				c.comesTo(answer{float64(now) * 100, true})
				got, err := c.ask()
				if err != nil {
					t.Fatal(err)
				}
				replicas = append(replicas, desiredByAverageValue(got.value, target, now))
			}
			if !slices.Equal(replicas, test.want) {
				t.Errorf("%v, want %v", replicas, test.want)
			}
		})
	}
}

// The trigger's metricType is not sent to a scaler; targetType mirrors it. Both give the same
// replicas.
func TestValueAndAverageValueAgree(t *testing.T) {
	t.Parallel()
	for _, percents := range [][]float64{{100, 100, 100}, {90, 30, 0}, {80, 80, 80}, {10, 10, 10, 10}} {
		var gpus []gpu
		total := 0.0
		for _, percent := range percents {
			gpus = append(gpus, busyAt(percent))
			total += percent
		}
		s := startScaler(t, newGpuFile(t, gpus...))
		sum := external(t, trigger(s, nil))
		sum.comesTo(answer{total, true})
		byValue := trigger(s, map[string]string{"targetType": "Value"})
		byValue.MetricType = v2.ValueMetricType
		average, err := external(t, byValue).ask()
		if err != nil {
			t.Fatal(err)
		}
		count := len(percents)
		want, got := desiredByAverageValue(total, 80, count), desiredByValue(average.value, 80, count)
		if got != want {
			t.Errorf("%v: %d by Value (%v), %d by AverageValue (%v)", percents, got, average.value, want, total)
		}
	}
}
