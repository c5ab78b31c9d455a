package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// With type Value the HPA multiplies its replicas by value over target. With the average it settles
// when each replica is at its target, here at 7 or 8 (600 / 80, within its tolerance of 10 %). With
// the sum it would only stop at maxReplicaCount.
func TestTargetTypeValueScalesOnTheAverage(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "value", start{gpus: 12, replicas: 1})
	w.line.reaches(1, timeout)
	w.load(600)
	trigger := w.gpus(map[string]string{"targetType": "Value"})
	trigger["metricType"] = "Value"
	w.scale(scaledObject{min: 1, max: 12, triggers: []any{trigger}})
	w.line.comesToRest(7, 8)
	w.line.neverAbove(11)
	w.load(80 * float64(w.line.replicas())) // each at its target
	w.holds(5 * time.Second)
	w.load(0)
	w.line.reaches(1, timeout)
}

func TestReplicasFallToMinReplicaCountAndStay(t *testing.T) {
	t.Parallel()
	for _, least := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(least), func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, fmt.Sprintf("min-%d", least), start{replicas: 4})
			w.line.reaches(4, timeout)
			w.scaler.waitForHeldGPUs(4)
			w.load(4 * 80)
			w.scale(scaledObject{min: least, max: 8, triggers: []any{w.gpus()}})
			w.becomesActive()
			down := w.load(0)
			w.line.reaches(least, timeout)
			w.holds(5 * time.Second)
			w.line.fallsOnly(down)
		})
	}
}

func TestScaleDownWaitsForItsStabilizationWindow(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "stabilized", start{replicas: 4})
	w.line.reaches(4, timeout)
	w.load(4 * 80)
	slow := map[string]any{"scaleUp": without, "scaleDown": map[string]any{
		"stabilizationWindowSeconds": 10, "policies": without["policies"]}}
	w.scale(scaledObject{min: 1, max: 8, behavior: slow, triggers: []any{w.gpus()}})
	w.holds(5 * time.Second)
	down := w.load(0)
	w.line.reaches(1, timeout)
	w.line.fallsOnly(down)
	// A sync may have seen the last load one period before it ended.
	if waited := w.line.firstChange(down); waited < 8*time.Second {
		t.Errorf("replicas fell after %v, with a window of 10 s", waited)
	}
}

func TestScalingFollowsItsPolicies(t *testing.T) {
	t.Parallel()
	byOne := map[string]any{
		"stabilizationWindowSeconds": 0,
		"policies":                   []any{map[string]any{"type": "Pods", "value": 1, "periodSeconds": 4}},
	}
	for _, one := range []struct {
		direction string
		replicas  int // initially, each at its target
		load      float64
		want      []int
	}{
		{"scaleUp", 1, 4 * 100, []int{2, 3, 4}},
		{"scaleDown", 4, 0, []int{3, 2, 1}},
	} {
		t.Run(one.direction, func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, "policies-"+strings.ToLower(one.direction), start{replicas: one.replicas})
			w.line.reaches(one.replicas, timeout)
			w.load(80 * float64(one.replicas))
			behavior := map[string]any{"scaleUp": without, "scaleDown": without}
			behavior[one.direction] = byOne
			w.scale(scaledObject{min: 1, max: 4, behavior: behavior, triggers: []any{w.gpus()}})
			w.holds(2 * time.Second)
			mark := w.load(one.load)
			w.line.reaches(one.want[2], timeout)
			w.line.stays(2 * time.Second)
			var got []int
			for _, step := range w.line.changes(mark) {
				got = append(got, step.replicas)
			}
			if !slices.Equal(got, one.want) {
				t.Fatalf("went to %v, not one by one to %v", got, one.want)
			}
			for i := 1; i < len(got); i++ {
				if waited := w.rescaledAt(got[i]).Sub(w.rescaledAt(got[i-1])); waited < 3*time.Second {
					t.Errorf("step %d came %v after the one before, with one allowed in 4 s", i, waited)
				}
			}
		})
	}
}

// rescaledAt returns when the HPA scaled to that many replicas, by its own clock, in whole seconds.
func (w *workload) rescaledAt(replicas int) time.Time {
	w.t.Helper()
	var at time.Time
	eventually(w.t, timeout, fmt.Sprintf("the HPA's event for %d replicas", replicas), func() bool {
		events, err := kube.CoreV1().Events(w.namespace).List(w.t.Context(), metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, event := range events.Items {
			if event.Reason == "SuccessfulRescale" &&
				strings.HasPrefix(event.Message, fmt.Sprintf("New size: %d;", replicas)) {
				at = event.FirstTimestamp.Time
				return true
			}
		}
		return false
	})
	return at
}

func TestLastReplicaIsRemovedAfterTheCooldown(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "cooldown", start{replicas: 1})
	w.line.reaches(1, timeout)
	w.scaler.waitForHeldGPUs(1)
	w.load(80)
	w.scale(scaledObject{min: 0, max: 8, triggers: []any{w.gpus()}})
	w.becomesActive()
	w.holds(3 * time.Second)
	down := w.load(0)
	w.line.reaches(0, timeout)
	// The last poll with an active answer may have been 1 s before the window's end, and KEDA
	// stores whole seconds.
	if waited := w.line.firstChange(down); waited < 9*time.Second {
		t.Errorf("the last replica went after %v: activationWindow 3 s, cooldownPeriod 8 s", waited)
	}
}
