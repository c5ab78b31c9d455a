package e2e

import (
	"testing"
	"time"
)

// loader is an engine that is fully busy for the first 3 s of its start, and then waits for its
// model.
func loader() replica {
	began := map[int]time.Time{} // key: GPU index
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

// Loading a model takes longer than activationWindow and cooldownPeriod, and nothing waits in the
// queue meanwhile. That looks like work, and then like none.
func TestStartLongerThanTheCooldownIsNeitherKilledNorCounted(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "warmup", start{shows: loader(), warmup: 12 * time.Second})
	w.varyGPUs()
	// A replica counts as starting a little longer than it is: it has taken its share from the
	// others but does not count yet. The HPA's stabilization covers this.
	stable := map[string]any{"scaleUp": without, "scaleDown": map[string]any{
		"stabilizationWindowSeconds": 20, "policies": without["policies"]}}
	w.scale(scaledObject{min: 0, max: 8, cooldown: 3, behavior: stable, triggers: []any{
		w.gpus(map[string]string{"profile": "vllm-inference", "warmupSeconds": "14",
			// A start ends when VRAM is steady for this time: longer than this start takes.
			"preallocationWindow": "20s"}), w.queue()}})
	up := w.load(2 * 80)
	w.line.reaches(1, timeout)
	w.line.reaches(2, timeout)
	w.line.risesOnly(up)
	w.line.stays(12 * time.Second)
	w.line.neverAbove(2)
}
