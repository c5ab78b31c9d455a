package e2e

import (
	"testing"
	"time"
)

// The main profile: preallocated VRAM, from zero and back.
func TestProfileVllmInferenceGoesFromZeroToTheMaximumAndBack(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "vllm", start{})
	w.scale(scaledObject{min: 0, max: 8, triggers: []any{
		w.gpus(map[string]string{"profile": "vllm-inference"}), w.queue()}})
	w.line.stays(2 * time.Second)

	up := w.load(8 * 100)
	w.line.reaches(8, timeout)
	w.line.risesOnly(up)
	w.holds(3 * time.Second)

	down := w.load(0)
	w.line.reaches(0, timeout)
	w.line.fallsOnly(down)
	w.holds(3 * time.Second)
}

// The highest percentage over the target would give 2 here, from 3.
func TestSaturatedWorkloadOfThreeReplicasGrows(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "saturated", start{replicas: 3})
	w.line.reaches(3, timeout)
	up := w.load(8 * 100)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{w.gpus()}})
	w.line.reaches(8, timeout)
	w.line.risesOnly(up)
}

func TestEvenlyLoadedWorkloadAtItsTargetStays(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "even", start{replicas: 4})
	w.line.reaches(4, timeout)
	w.load(4 * 80)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{w.gpus()}})
	w.holds(10 * time.Second)
	if average := averageSeen(t, w.namespace); average != 80 {
		t.Errorf("the HPA has %g for each replica, not their 80", average)
	}
}

func TestIdleWorkloadWithPreallocatedMemoryGoesToZero(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "idle", start{replicas: 3})
	w.line.reaches(3, timeout)
	w.scaler.waitForHeldGPUs(3)
	w.load(3 * 80)
	w.scale(scaledObject{min: 0, max: 8, triggers: []any{
		w.gpus(map[string]string{"profile": "vllm-inference"})}})
	w.becomesActive()
	down := w.load(0)
	w.line.reaches(0, timeout)
	w.line.fallsOnly(down)
	w.line.stays(3 * time.Second)
}
