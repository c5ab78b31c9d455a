package e2e

import (
	"testing"
	"time"
)

// A model is loaded for longer than the cooldown: that looks like work, and then like none. Nothing
// waits in the queue meanwhile.
func TestStartLongerThanTheCooldownIsNeitherKilledNorCounted(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "warmup", start{warmup: 8 * time.Second})
	// The clock holds a replica for warming a little longer than it is: it has taken its share from
	// the others and does not count yet. The HPA's stabilization is there for such moments.
	stable := map[string]any{"scaleUp": without, "scaleDown": map[string]any{
		"stabilizationWindowSeconds": 20, "policies": without["policies"]}}
	w.scale(scaledObject{min: 0, max: 8, cooldown: 3, behavior: stable, triggers: []any{
		w.gpus(map[string]string{"profile": "vllm-inference", "warmupSeconds": "10"}), w.queue()}})
	up := w.load(2 * 80)
	w.line.reaches(1, patience)
	w.line.reaches(2, patience)
	w.line.risesOnly(up)
	w.line.stays(12 * time.Second)
	w.line.neverAbove(2)
}
