package contract

import (
	"testing"
	"time"
)

// twoScalers returns two scalers behind one name, as the pods of a headless Service; both read the
// same GPUs.
func twoScalers(t *testing.T, name string, gpus *gpuFile, flags ...string) (first, second *scaler) {
	t.Helper()
	first = startScaler(t, gpus, flags...)
	second = newScaler(t, gpus, flags...)
	second.port = first.port
	second.start()
	nameServer.set(name, first.ip, second.ip)
	return first, second
}

func byName(name string, of *scaler, metadata map[string]string) map[string]string {
	all := map[string]string{"scalerAddress": name + ":" + of.port}
	for key, value := range metadata {
		all[key] = value
	}
	return all
}

func callsOf(s *scaler) int { return s.calls("GetMetrics") + s.calls("IsActive") }

func TestBothScalersBehindANameGetCallsAndAgree(t *testing.T) {
	t.Parallel()
	const name = "both.gpu-scaler.svc.cluster.local"
	gpus := newGpuFile(t, busyAt(90))
	first, second := twoScalers(t, name, gpus)
	c := external(t, trigger(first, byName(name, first, nil)))
	for _, percent := range []float64{90, 40, 70} {
		gpus.show(busyAt(percent))
		eventually(t, "both have read it", func() bool {
			for range 4 { // each gets requests for a value, in any order
				if got, err := c.ask(); err != nil || got.value != percent {
					return false
				}
				c.specs()
			}
			return true
		})
		before := [2]int{callsOf(first), callsOf(second)}
		for range 10 {
			if got, err := c.ask(); err != nil || got != (answer{percent, true}) {
				t.Errorf("%+v, %v", got, err)
			}
		}
		asked := [2]int{callsOf(first) - before[0], callsOf(second) - before[1]}
		if asked[0]+asked[1] != 20 || asked[0] == 0 || asked[1] == 0 {
			t.Errorf("asked %v times, want 20 together and both", asked)
		}
	}
	t.Logf("GetMetrics %d and %d, IsActive %d and %d", first.calls("GetMetrics"),
		second.calls("GetMetrics"), first.calls("IsActive"), second.calls("IsActive"))
}

func TestOneOfTwoScalersKilledIsNoErrorToKeda(t *testing.T) {
	t.Parallel()
	const name = "killed.gpu-scaler.svc.cluster.local"
	first, second := twoScalers(t, name, newGpuFile(t, busyAt(90)))
	c := inCache(t, trigger(first, byName(name, first, nil)))
	c.comesTo(answer{90, true})
	eventually(t, "both are asked", func() bool {
		c.ask()
		return callsOf(first) > 0 && callsOf(second) > 0
	})
	p := poll(t, c.ask)
	before := callsOf(first)
	second.kill()
	eventually(t, "the other is asked on", func() bool { return callsOf(first) > before+100 })
	for _, one := range p.done() {
		if one.err != nil || one.answer != (answer{90, true}) {
			t.Errorf("%+v, %v", one.answer, one.err)
		}
	}
}

// A rolling update: each is stopped and back before the next.
func TestRollingUpdateOfTwoScalersIsNoErrorToKeda(t *testing.T) {
	t.Parallel()
	const name = "rolling.gpu-scaler.svc.cluster.local"
	first, second := twoScalers(t, name, newGpuFile(t, busyAt(90)))
	both := []*scaler{first, second}
	c := inCache(t, trigger(first, byName(name, first, nil)))
	c.comesTo(answer{90, true})
	pushed := push(t, trigger(first, byName(name, first, nil)))
	pushed.waitForTrue()
	p := poll(t, c.ask)
	for _, s := range both {
		hadStream, trues := s.streamsOpen("StreamIsActive") > 0, len(pushed.all())
		s.stop()
		s.start()
		eventually(t, "it is asked again", func() bool { return callsOf(s) > 0 })
		if hadStream { // it ended with OK, and KEDA opens another
			pushed.waitForTrueAfter(trues)
		}
	}
	for _, one := range p.done() {
		if one.err != nil || one.answer != (answer{90, true}) {
			t.Errorf("%+v, %v", one.answer, one.err)
		}
	}
	pushed.waitForTrueAfter(1) // one of them had its stream
	if errors := pushed.kedaLogged("error running StreamIsActive"); len(errors) > 0 {
		t.Errorf("%v", errors)
	}
}

// The replacement of a pod has another address.
func TestScalerThatMovedIsFoundByItsName(t *testing.T) {
	t.Parallel()
	const name = "moved.gpu-scaler.svc.cluster.local"
	first, second := twoScalers(t, name, newGpuFile(t, busyAt(90)))
	nameServer.set(name, first.ip)
	c := external(t, trigger(first, byName(name, first, nil)))
	c.comesTo(answer{90, true})
	if asked := callsOf(second); asked != 0 {
		t.Fatalf("the second was asked %d times", asked)
	}
	nameServer.set(name, second.ip)
	first.kill()
	c.comesTo(answer{90, true})
	if asked := callsOf(second); asked == 0 {
		t.Error("the second was not asked")
	}
}

// A scaler is added, and none is removed. KEDA looks a name up again only when a connection ends,
// so each connection ends after a while, without an error to any call or stream.
func TestAddedScalerIsFoundWhenAConnectionIsOldEnough(t *testing.T) {
	t.Parallel()
	const name = "added.gpu-scaler.svc.cluster.local"
	gpus := newGpuFile(t, busyAt(90))
	first, second := twoScalers(t, name, gpus, "--max-connection-age=2s")
	nameServer.set(name, first.ip)
	pushed := push(t, trigger(first, byName(name, first, nil)))
	pushed.waitForTrue()
	p := poll(t, inCache(t, trigger(first, byName(name, first, nil))).ask)
	p.until(t, time.Now(), "polls are answered", isAnswer)
	added := time.Now()
	nameServer.set(name, first.ip, second.ip)
	eventually(t, "the second is asked", func() bool { return callsOf(second) > 0 })
	t.Logf("asked %v after it was added", time.Since(added))
	for _, one := range p.done() {
		if one.err != nil || one.answer != (answer{90, true}) {
			t.Errorf("%+v, %v", one.answer, one.err)
		}
	}
	pushed.toggle(gpus)
	if again := pushed.kedaLogged("StreamIsActive"); len(again) > 0 {
		t.Errorf("the stream did not outlive its connection's age: %v", again)
	}
}

// The cluster's DNS fails while KEDA looks the name up: KEDA keeps the known addresses.
func TestFailingNameServerIsNoErrorToKeda(t *testing.T) {
	t.Parallel()
	const name = "servfail.gpu-scaler.svc.cluster.local"
	first, second := twoScalers(t, name, newGpuFile(t, busyAt(90)))
	c := inCache(t, trigger(first, byName(name, first, nil)))
	eventually(t, "both are asked", func() bool {
		c.ask()
		return callsOf(first) > 0 && callsOf(second) > 0
	})
	nameServer.fail(name)
	p := poll(t, c.ask)
	second.kill() // so that KEDA looks it up
	eventually(t, "the name is looked up", func() bool { return nameServer.failures(name) > 0 })
	before := callsOf(first)
	eventually(t, "the other is asked on", func() bool { return callsOf(first) > before+100 })
	for _, one := range p.done() {
		if one.err != nil || one.answer != (answer{90, true}) {
			t.Errorf("%+v, %v", one.answer, one.err)
		}
	}
}
