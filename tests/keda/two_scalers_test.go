package contract

import (
	"testing"
	"time"
)

// twoScalers are behind one name, as the pods of a headless Service are; both read the same GPUs.
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

func asksOf(s *scaler) int { return s.asked("GetMetrics") + s.asked("IsActive") }

func TestBothScalersBehindANameAreAskedAndAnswerAlike(t *testing.T) {
	t.Parallel()
	const name = "both.gpu-scaler.svc.cluster.local"
	gpus := newGpuFile(t, busyAt(90))
	first, second := twoScalers(t, name, gpus)
	c := external(t, trigger(first, byName(name, first, nil)))
	for _, percent := range []float64{90, 40, 70} {
		gpus.show(busyAt(percent))
		eventually(t, "both have read it", func() bool {
			for range 4 { // each is asked for a value, whoever is first
				if got, err := c.ask(); err != nil || got.value != percent {
					return false
				}
				c.specs()
			}
			return true
		})
		before := [2]int{asksOf(first), asksOf(second)}
		for range 10 {
			if got, err := c.ask(); err != nil || got != (answer{percent, true}) {
				t.Errorf("%+v, %v", got, err)
			}
		}
		asked := [2]int{asksOf(first) - before[0], asksOf(second) - before[1]}
		if asked[0]+asked[1] != 20 || asked[0] == 0 || asked[1] == 0 {
			t.Errorf("asked %v times, want 20 together and both", asked)
		}
	}
	t.Logf("GetMetrics %d and %d, IsActive %d and %d", first.asked("GetMetrics"),
		second.asked("GetMetrics"), first.asked("IsActive"), second.asked("IsActive"))
}

func TestOneOfTwoScalersKilledIsNoErrorToKeda(t *testing.T) {
	t.Parallel()
	const name = "killed.gpu-scaler.svc.cluster.local"
	first, second := twoScalers(t, name, newGpuFile(t, busyAt(90)))
	c := inCache(t, trigger(first, byName(name, first, nil)))
	c.comesTo(answer{90, true})
	eventually(t, "both are asked", func() bool {
		c.ask()
		return asksOf(first) > 0 && asksOf(second) > 0
	})
	p := poll(t, c.ask)
	before := asksOf(first)
	second.kill()
	eventually(t, "the other is asked on", func() bool { return asksOf(first) > before+100 })
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
	pushed.wakes()
	p := poll(t, c.ask)
	for _, s := range both {
		hadStream, trues := s.streamsOpen("StreamIsActive") > 0, len(pushed.all())
		s.stop()
		s.start()
		eventually(t, "it is asked again", func() bool { return asksOf(s) > 0 })
		if hadStream { // it ended with OK, and KEDA opens another
			pushed.wakesAfter(trues)
		}
	}
	for _, one := range p.done() {
		if one.err != nil || one.answer != (answer{90, true}) {
			t.Errorf("%+v, %v", one.answer, one.err)
		}
	}
	pushed.wakesAfter(1) // its stream was on one of them
	if errors := pushed.kedaSaid("error running StreamIsActive"); len(errors) > 0 {
		t.Errorf("%v", errors)
	}
}

// A pod's successor has another address.
func TestScalerThatMovedIsFoundByItsName(t *testing.T) {
	t.Parallel()
	const name = "moved.gpu-scaler.svc.cluster.local"
	first, second := twoScalers(t, name, newGpuFile(t, busyAt(90)))
	nameServer.set(name, first.ip)
	c := external(t, trigger(first, byName(name, first, nil)))
	c.comesTo(answer{90, true})
	if asked := asksOf(second); asked != 0 {
		t.Fatalf("the second was asked %d times", asked)
	}
	nameServer.set(name, second.ip)
	first.kill()
	c.comesTo(answer{90, true})
	if asked := asksOf(second); asked == 0 {
		t.Error("the second was not asked")
	}
}

// A scaler is added, and none goes away: KEDA looks a name up again only when a connection ends. So
// each ends after a while, without an error to any call or stream.
func TestAddedScalerIsFoundWhenAConnectionIsOldEnough(t *testing.T) {
	t.Parallel()
	const name = "added.gpu-scaler.svc.cluster.local"
	gpus := newGpuFile(t, busyAt(90))
	first, second := twoScalers(t, name, gpus, "--max-connection-age=2s")
	nameServer.set(name, first.ip)
	pushed := push(t, trigger(first, byName(name, first, nil)))
	pushed.wakes()
	p := poll(t, inCache(t, trigger(first, byName(name, first, nil))).ask)
	p.until(t, time.Now(), "polls are answered", isAnswer)
	added := time.Now()
	nameServer.set(name, first.ip, second.ip)
	eventually(t, "the second is asked", func() bool { return asksOf(second) > 0 })
	t.Logf("asked %v after it was added", time.Since(added))
	for _, one := range p.done() {
		if one.err != nil || one.answer != (answer{90, true}) {
			t.Errorf("%+v, %v", one.answer, one.err)
		}
	}
	pushed.wakesAgain(gpus)
	if again := pushed.kedaSaid("StreamIsActive"); len(again) > 0 {
		t.Errorf("the stream did not outlive its connection's age: %v", again)
	}
}

// The cluster's DNS fails while KEDA looks the name up: what it knew it goes on using.
func TestFailingNameServerIsNoErrorToKeda(t *testing.T) {
	t.Parallel()
	const name = "servfail.gpu-scaler.svc.cluster.local"
	first, second := twoScalers(t, name, newGpuFile(t, busyAt(90)))
	c := inCache(t, trigger(first, byName(name, first, nil)))
	eventually(t, "both are asked", func() bool {
		c.ask()
		return asksOf(first) > 0 && asksOf(second) > 0
	})
	nameServer.fail(name)
	p := poll(t, c.ask)
	second.kill() // so that KEDA looks it up
	eventually(t, "the name is looked up", func() bool { return nameServer.failures(name) > 0 })
	before := asksOf(first)
	eventually(t, "the other is asked on", func() bool { return asksOf(first) > before+100 })
	for _, one := range p.done() {
		if one.err != nil || one.answer != (answer{90, true}) {
			t.Errorf("%+v, %v", one.answer, one.err)
		}
	}
}
