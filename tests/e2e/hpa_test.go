package e2e

import (
	"fmt"
	"testing"
	"time"
)

func TestTargetTypeValueScalesOnTheAverage(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "value", start{replicas: 1})
	w.line.reaches(1, patience)
	up := w.load(6 * 100)
	trigger := w.gpus(map[string]string{"targetType": "Value"})
	trigger["metricType"] = "Value"
	w.scale(scaledObject{min: 1, max: 6, triggers: []any{trigger}})
	w.line.reaches(6, patience)
	w.line.risesOnly(up)
	w.load(6 * 80) // each at its target
	w.line.stays(5 * time.Second)
	w.line.neverAbove(6)
	w.load(0)
	w.line.reaches(1, patience)
}

func TestReplicasFallToMinReplicaCountAndStay(t *testing.T) {
	t.Parallel()
	for _, least := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(least), func(t *testing.T) {
			t.Parallel()
			w := newWorkload(t, fmt.Sprintf("min-%d", least), start{replicas: 4})
			w.line.reaches(4, patience)
			down := w.load(0)
			w.scale(scaledObject{min: least, max: 8, triggers: []any{w.gpus()}})
			w.line.reaches(least, patience)
			w.line.stays(5 * time.Second)
			w.line.fallsOnly(down)
		})
	}
}

func TestScaleDownWaitsForItsStabilizationWindow(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "stabilized", start{replicas: 4})
	w.line.reaches(4, patience)
	w.load(4 * 80)
	slow := map[string]any{"scaleUp": without, "scaleDown": map[string]any{
		"stabilizationWindowSeconds": 10, "policies": without["policies"]}}
	w.scale(scaledObject{min: 1, max: 8, behavior: slow, triggers: []any{w.gpus()}})
	w.line.stays(5 * time.Second)
	down := w.load(0)
	w.line.reaches(1, patience)
	w.line.fallsOnly(down)
	// A sync may have seen the last load one period before it went.
	if waited := w.line.firstChange(down); waited < 8*time.Second {
		t.Errorf("replicas fell after %v, with a window of 10 s", waited)
	}
}

func TestScaleUpFollowsItsPolicies(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "policies", start{replicas: 1})
	w.line.reaches(1, patience)
	byOne := map[string]any{"scaleDown": without, "scaleUp": map[string]any{
		"stabilizationWindowSeconds": 0,
		"policies":                   []any{map[string]any{"type": "Pods", "value": 1, "periodSeconds": 4}},
	}}
	w.scale(scaledObject{min: 1, max: 4, behavior: byOne, triggers: []any{w.gpus()}})
	w.line.stays(2 * time.Second)
	up := w.load(4 * 100)
	w.line.reaches(4, patience)
	steps := w.line.changes(up)
	for i, step := range steps {
		if step.replicas != 2+i {
			t.Errorf("step %d is to %d replicas, and not by one", i, step.replicas)
		}
		if i > 0 && step.at-steps[i-1].at < 3*time.Second {
			t.Errorf("step %d came %v after the one before, with one allowed in 4 s", i,
				step.at-steps[i-1].at)
		}
	}
}

func TestLastReplicaGoesAfterTheCooldown(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "cooldown", start{replicas: 1})
	w.line.reaches(1, patience)
	w.load(80)
	w.scale(scaledObject{min: 0, max: 8, triggers: []any{w.gpus()}})
	eventually(t, patience, "KEDA sees it active", func() bool { return w.is("Active") })
	w.line.stays(3 * time.Second)
	down := w.load(0)
	w.line.reaches(0, patience)
	// The last poll to see it active may have been 1 s before the window's end, and KEDA notes whole
	// seconds.
	if waited := w.line.firstChange(down); waited < 9*time.Second {
		t.Errorf("the last replica went after %v: activationWindow 3 s, cooldownPeriod 8 s", waited)
	}
}
