package e2e

import (
	"fmt"
	"testing"
	"time"
)

// What happens while the scaler is gone, and when it comes back.

func (w *workload) kill() int {
	mark := w.line.mark("scaler killed")
	w.scaler.kill()
	return mark
}

// comesBack starts the scaler again, with this load.
func (w *workload) comesBack(load float64) int {
	w.fleet.setLoad(load)
	mark := w.line.mark("scaler back, load %g", load)
	w.scaler.start()
	return mark
}

// pollFails waits until a poll of KEDA's has failed, pollSucceeds for one that did not: with a
// trigger alone and no fallback, each poll says so in the condition Ready.
func (w *workload) pollFails() {
	w.t.Helper()
	eventually(w.t, patience, "a poll of KEDA's fails", func() bool { return !w.is("Ready") })
}

func (w *workload) pollSucceeds() {
	w.t.Helper()
	eventually(w.t, patience, "a poll of KEDA's succeeds", func() bool { return w.is("Ready") })
}

// KEDA 2.21 itself fells about one workload in thirty in an outage: a poll during which the HPA's
// failing question drops KEDA's scalers (ErrCacheClosed) counts as inactive, without an error. So
// there are five, of which two may fall, and few polls: it fells more in one run of some 2800. A
// fault of ours would fell all.
func TestReplicasStandWhileTheScalerIsGoneForLongerThanTheCooldown(t *testing.T) {
	t.Parallel()
	const outage = 9 * time.Second
	const most = 5 // replicas; all tests share 128 GPUs
	// Longer than all of it takes: until it is over, nobody is known to be idle.
	const activationWindow = 10 * time.Minute
	all := make([]*workload, 5)
	for i := range all {
		all[i] = newWorkload(t, fmt.Sprintf("gone-%d", i), start{replicas: 3})
		all[i].load(3 * 80)
	}
	for _, w := range all {
		w.line.reaches(3, patience)
		w.scale(scaledObject{min: 0, max: most, cooldown: 3, polling: 5, triggers: []any{
			w.gpus(map[string]string{"activationWindow": activationWindow.String()})}})
	}
	for _, w := range all {
		w.holds(3 * time.Second)
	}

	killed := make([]int, len(all))
	for i, w := range all {
		killed[i] = w.kill()
	}
	ends := time.Now().Add(outage)
	for _, w := range all {
		w.pollFails()
	}
	time.Sleep(time.Until(ends))
	for i, w := range all {
		// KEDA goes from any number to zero on the first `false` after an outage, without cooldown.
		back := w.comesBack(0)
		if w.line.changed(killed[i], back) && !w.line.reachedZero(killed[i]) {
			t.Errorf("%s did not stand while its scaler was gone", w.namespace)
		}
	}
	for _, w := range all {
		w.pollSucceeds()
	}
	var standing []*workload
	for i, w := range all {
		if w.line.reachedZero(killed[i]) {
			t.Logf("%s fell\n%s", w.namespace, w.line)
			continue
		}
		standing = append(standing, w)
		w.line.reaches(1, patience) // by the HPA
	}
	if len(standing) < len(all)-2 {
		t.Fatalf("only %d of %d stand", len(standing), len(all))
	}
	loaded := make([]int, len(standing))
	for i, w := range standing { // all at once: one that waits for its turn may sleep by then
		loaded[i] = w.load(most * 100)
	}
	for i, w := range standing {
		w.line.reaches(most, patience)
		w.line.risesOnly(loaded[i])
	}
}

// A scaler that answers, and can say nothing of any GPU. Were it not for the fallback, the HPA would
// know nothing of four replicas when the GPUs are back, idle for a moment, and go to one at once: its
// stabilization is over what it computed in the last 30 s.
func TestFallbackCurrentReplicasIfHigherKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "fallback", start{replicas: 4})
	w.line.reaches(4, patience)
	w.load(4 * 80)
	slow := map[string]any{"scaleUp": without, "scaleDown": map[string]any{
		"stabilizationWindowSeconds": 30, "policies": without["policies"]}}
	w.scale(scaledObject{min: 1, max: 8, behavior: slow, triggers: []any{w.gpus()},
		spec: map[string]any{"fallback": ifHigher}})
	w.holds(3 * time.Second)
	w.line.mark("GPUs cannot be read")
	w.fleet.hide(true)
	eventually(t, patience, "KEDA falls back", func() bool { return w.is("Fallback") })
	w.line.stays(31 * time.Second)
	w.line.mark("GPUs can be read, load 0")
	w.fleet.setLoad(0)
	w.fleet.hide(false)
	w.waitForValue(w.values())
	eventually(t, patience, "KEDA no longer falls back", func() bool { return !w.is("Fallback") })
	w.holds(3 * time.Second)
	w.load(4 * 80)
	w.holds(5 * time.Second)
}

var ifHigher = map[string]any{
	"failureThreshold": 2, "replicas": 2, "behavior": "currentReplicasIfHigher"}

// KEDA 2.21 has no fallback for a scaler that is gone: it asks for the spec each time, and gets none.
// So the HPA holds.
func TestReplicasStandWhileAScalerWithAFallbackIsGone(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "gone-fallback", start{replicas: 4})
	w.line.reaches(4, patience)
	w.load(4 * 80)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{w.gpus()},
		spec: map[string]any{"fallback": ifHigher}})
	w.holds(3 * time.Second)
	w.kill()
	eventually(t, patience, "the HPA gets no value", func() bool { return !w.is("HPAActive") })
	w.line.stays(8 * time.Second)
	w.comesBack(4 * 80)
	eventually(t, patience, "the HPA gets values again", func() bool { return w.is("HPAActive") })
	w.holds(5 * time.Second)
}

func TestSleeperStaysAsleepThroughAnOutage(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "sleeper", start{})
	w.scale(scaledObject{min: 0, max: 8, triggers: []any{w.gpus()}})
	w.holds(3 * time.Second)
	w.kill()
	w.pollFails()
	w.line.stays(8 * time.Second)
	w.comesBack(0)
	w.pollSucceeds()
	w.holds(8 * time.Second)
}
