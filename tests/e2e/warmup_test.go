package e2e

import (
	"testing"
	"time"
)

// loader is an engine that is as busy as it can be for the first 3 s of its start, and then waits for
// its model.
func loader() replica {
	began := map[int]time.Time{} // by GPU
	return func(share float64, ready bool, gpu *device) {
		engine(share, true, gpu)
		if ready {
			delete(began, gpu.Index)
			return
		}
		if began[gpu.Index].IsZero() {
			began[gpu.Index] = time.Now()
		}
		if time.Since(began[gpu.Index]) < 3*time.Second {
			gpu.Utilization = 100
		}
	}
}

// A model is loaded for longer than activationWindow and cooldownPeriod, and nothing waits in the queue
// meanwhile: that looks like work, and then like none.
func TestStartLongerThanTheCooldownIsNeitherKilledNorCounted(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "warmup", start{shows: loader(), warmup: 12 * time.Second})
	w.stir()
	// The clock holds a replica for warming a little longer than it is: it has taken its share from
	// the others and does not count yet. The HPA's stabilization is there for such moments.
	stable := map[string]any{"scaleUp": without, "scaleDown": map[string]any{
		"stabilizationWindowSeconds": 20, "policies": without["policies"]}}
	w.scale(scaledObject{min: 0, max: 8, cooldown: 3, behavior: stable, triggers: []any{
		w.gpus(map[string]string{"profile": "vllm-inference", "warmupSeconds": "14",
			// VRAM that is steady for this time ends a start: longer than this one takes.
			"preallocationWindow": "20s"}), w.queue()}})
	up := w.load(2 * 80)
	w.line.reaches(1, patience)
	w.line.reaches(2, patience)
	w.line.risesOnly(up)
	w.line.stays(12 * time.Second)
	w.line.neverAbove(2)
}
