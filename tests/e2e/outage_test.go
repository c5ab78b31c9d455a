package e2e

import (
	"fmt"
	"testing"
	"time"
)

// Outages of the scaler, and its return.

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

// pollFails waits until a poll of KEDA's has failed, pollSucceeds for one that did not. With one
// trigger and no fallback, each poll sets the condition Ready.
func (w *workload) pollFails() {
	w.t.Helper()
	eventually(w.t, timeout, "a poll of KEDA's fails", func() bool { return !w.is("Ready") })
}

func (w *workload) pollSucceeds() {
	w.t.Helper()
	eventually(w.t, timeout, "a poll of KEDA's succeeds", func() bool { return w.is("Ready") })
}

// KEDA 2.21 itself scales about one workload in thirty to zero in an outage. A poll counts as
// inactive without an error if a failing HPA request closes KEDA's scalers meanwhile
// (ErrCacheClosed). So there are five workloads, of which two may fall, and few polls: more than
// two fall in one run of some 2800. A fault of ours would affect all five.
func TestReplicasStayWhileTheScalerIsDownForLongerThanTheCooldown(t *testing.T) {
	t.Parallel()
	const outage = 9 * time.Second
	const most = 5 // replicas; all tests share 128 GPUs
	// Longer than the test takes: until it is over, no workload counts as idle.
	const activationWindow = 10 * time.Minute
	all := make([]*workload, 5)
	for i := range all {
		all[i] = newWorkload(t, fmt.Sprintf("gone-%d", i), start{replicas: 3})
		all[i].load(3 * 80)
	}
	for _, w := range all {
		w.line.reaches(3, timeout)
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
		// KEDA scales from any number to zero on the first `false` after an outage, without
		// cooldown.
		back := w.comesBack(0)
		if w.line.changed(killed[i], back) && !w.line.reachedZero(killed[i]) {
			t.Errorf("the replicas of %s changed while its scaler was gone", w.namespace)
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
		w.line.reaches(1, timeout) // scaled in by the HPA
	}
	if len(standing) < len(all)-2 {
		t.Fatalf("only %d of %d stand", len(standing), len(all))
	}
	loaded := make([]int, len(standing))
	// all at once: a workload that waits for its turn may be at zero by then
	for i, w := range standing {
		loaded[i] = w.load(most * 100)
	}
	for i, w := range standing {
		w.line.reaches(most, timeout)
		w.line.risesOnly(loaded[i])
	}
}

// A scaler that answers, but without any GPU reading. Without the fallback, the HPA would have no
// recommendations for four replicas when the GPUs are back, idle for a moment, and scale to one at
// once: its stabilization covers only the recommendations of the last 30 s.
func TestFallbackCurrentReplicasIfHigherKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "fallback", start{replicas: 4})
	w.line.reaches(4, timeout)
	w.load(4 * 80)
	slow := map[string]any{"scaleUp": without, "scaleDown": map[string]any{
		"stabilizationWindowSeconds": 30, "policies": without["policies"]}}
	w.scale(scaledObject{min: 1, max: 8, behavior: slow, triggers: []any{w.gpus()},
		spec: map[string]any{"fallback": ifHigher}})
	w.holds(3 * time.Second)
	w.line.mark("GPUs cannot be read")
	w.fleet.hide(true)
	eventually(t, timeout, "KEDA falls back", func() bool { return w.is("Fallback") })
	w.line.stays(31 * time.Second)
	w.line.mark("GPUs can be read, load 0")
	w.fleet.setLoad(0)
	w.fleet.hide(false)
	w.waitForValue(w.values())
	eventually(t, timeout, "KEDA no longer falls back", func() bool { return !w.is("Fallback") })
	w.holds(3 * time.Second)
	w.load(4 * 80)
	w.holds(5 * time.Second)
}

var ifHigher = map[string]any{
	"failureThreshold": 2, "replicas": 2, "behavior": "currentReplicasIfHigher"}

// KEDA 2.21 has no fallback if a scaler is unreachable: it requests the spec each time and gets
// none. So the HPA keeps the replicas.
func TestReplicasStayWhileAScalerWithAFallbackIsDown(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "gone-fallback", start{replicas: 4})
	w.line.reaches(4, timeout)
	w.load(4 * 80)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{w.gpus()},
		spec: map[string]any{"fallback": ifHigher}})
	w.holds(3 * time.Second)
	w.kill()
	eventually(t, timeout, "the HPA gets no value", func() bool { return !w.is("HPAActive") })
	w.line.stays(8 * time.Second)
	w.comesBack(4 * 80)
	eventually(t, timeout, "the HPA gets values again", func() bool { return w.is("HPAActive") })
	w.holds(5 * time.Second)
}

func TestWorkloadAtZeroStaysThereThroughAnOutage(t *testing.T) {
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
