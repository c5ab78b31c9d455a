package e2e

import (
	"strings"
	"testing"
	"time"
)

// What happens when the scaler is gone, comes back, or is asked nonsense.

func TestReplicasStandWhileTheScalerIsGoneForLongerThanTheCooldown(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "gone", start{replicas: 3})
	w.line.reaches(3, patience)
	w.load(3 * 80)
	// Two polls fall into the outage. Were there many, KEDA 2.21 could go to zero by itself: a poll
	// during which the HPA's failing question drops KEDA's scalers (ErrCacheClosed) counts as
	// inactive, without an error.
	w.scale(scaledObject{min: 0, max: 8, cooldown: 3, polling: 5, triggers: []any{
		w.gpus(map[string]string{"activationWindow": "10s"})}})
	w.line.stays(6 * time.Second)

	w.line.mark("scaler killed")
	w.scaler.kill()
	w.line.stays(9 * time.Second)

	// KEDA goes from any number to zero on the first `false` after an outage, without cooldown.
	w.load(0)
	back := w.line.mark("scaler back, GPUs idle")
	w.scaler.start()
	time.Sleep(6 * time.Second)
	for _, moment := range w.line.since(back) {
		if moment.replicas == 0 {
			t.Errorf("zero replicas %v after the scaler came back: activationWindow is 10 s",
				moment.at-w.line.since(back)[0].at)
		}
	}
	up := w.load(3 * 80)
	w.line.reaches(3, patience)
	w.line.risesOnly(up)
}

func TestFallbackCurrentReplicasIfHigherKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "fallback", start{replicas: 4})
	w.line.reaches(4, patience)
	w.load(4 * 80)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{w.gpus()}, spec: map[string]any{
		"fallback": map[string]any{"failureThreshold": 2, "replicas": 2,
			"behavior": "currentReplicasIfHigher"}}})
	w.line.stays(5 * time.Second)
	w.line.mark("scaler killed")
	w.scaler.kill()
	w.line.stays(12 * time.Second)
	w.line.mark("scaler back")
	w.scaler.start()
	w.line.stays(8 * time.Second)
}

func TestSleeperStaysAsleepThroughAnOutage(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "sleeper", start{})
	w.scale(scaledObject{min: 0, max: 8, triggers: []any{w.gpus()}})
	w.line.stays(3 * time.Second)
	w.line.mark("scaler killed")
	w.scaler.kill()
	w.line.stays(8 * time.Second)
	w.line.mark("scaler back")
	w.scaler.start()
	w.line.stays(8 * time.Second)
}

func TestTypoInMetadataIsNamedAndOtherTriggersGoOn(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "typo", start{signals: 2, replicas: 1})
	w.signals(60)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{
		w.signal(0, target(20)), w.signal(1, map[string]string{"agregation": "max"})}})
	w.line.reaches(3, patience)
	w.line.stays(3 * time.Second)
	eventually(t, patience, "an event that names the key", func() bool {
		return strings.Contains(describe(t, w.namespace, "llm"), "agregation")
	})
	if said := describe(t, w.namespace, "llm"); !strings.Contains(said, `did you mean "aggregation"`) {
		t.Errorf("not what was meant in\n%s", said)
	}
}

// A model is loaded for longer than the cooldown: that looks like work, and then like none.
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
