package contract

import (
	"os"
	"strings"
	"testing"
	"time"

	v2 "k8s.io/api/autoscaling/v2"
)

func TestPushWakesWhatIsBusyWhenItOpens(t *testing.T) {
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	external(t, trigger(s, nil)).ask() // waits for the first reading
	within(t, time.Second, "after it was opened", func() time.Duration {
		opened := time.Now()
		return push(t, trigger(s, nil)).waitForTrue().Sub(opened)
	})
}

func TestPushWakesWhatBecomesBusy(t *testing.T) {
	gpus := newGpuFile(t, unused())
	s := startScaler(t, gpus)
	within(t, time.Second, "true after the GPU was busy", func() time.Duration {
		p := push(t, trigger(s, nil))
		eventually(t, "it is open", func() bool { return s.streamsOpen("StreamIsActive") == 1 })
		p.comesTo(answer{0, false})
		changed := time.Now()
		gpus.show(busyAt(90))
		took := p.waitForTrue().Sub(changed)
		p.close()
		gpus.show(unused())
		eventually(t, "it is closed", func() bool { return s.streamsOpen("StreamIsActive") == 0 })
		return took
	})
}

func TestPushSendsTrueOnceWhileItStaysBusy(t *testing.T) {
	t.Parallel()
	gpus := newGpuFile(t, busyAt(90))
	s := startScaler(t, gpus)
	p := push(t, trigger(s, nil))
	p.waitForTrue()
	p.toggle(gpus)
	time.Sleep(2 * time.Second) // an active stream polls once a second
	if trues := p.all(); len(trues) != 2 {
		t.Errorf("%d times true, want 2", len(trues))
	}
}

// KEDA may have missed a `true`, or failed to act on it: it is repeated after 1 and 4 s.
func TestPushRepeatsTrueWhileThereIsNoReplica(t *testing.T) {
	t.Parallel()
	gpus := newGpuFile(t, busyAt(90))
	s := startScaler(t, gpus)
	external(t, trigger(s, nil)).comesTo(answer{90, true})
	gpus.show(unused())
	left := time.Now()
	p := push(t, trigger(s, map[string]string{"activationWindow": "5m"}))
	for count, least := range []time.Duration{0, 500 * time.Millisecond, 3 * time.Second} {
		if after := p.waitForTrueAfter(count).Sub(left); after < least {
			t.Errorf("true number %d came after %v, not before %v", count+1, after, least)
		}
	}
}

// In a rolling update the stream ends with OK: KEDA waits 2 s and logs no error.
func TestPushStreamOfAScalerThatStopsIsOpenedAgain(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	p := push(t, trigger(s, nil))
	p.waitForTrue()
	s.stop()
	if waits := p.reconnects(1); waits != "2s" {
		t.Errorf("KEDA waits %s", waits)
	}
	if errors := p.kedaLogged("error running StreamIsActive"); len(errors) > 0 {
		t.Errorf("the stream's end was an error to KEDA: %v", errors)
	}
	s.start()
	p.waitForTrueAfter(1)
}

// After a crash KEDA waits longer each time, up to a minute.
func TestPushStreamOfAScalerThatIsKilledIsOpenedAgain(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	p := push(t, trigger(s, nil))
	p.waitForTrue()
	s.kill()
	first, second := p.reconnects(1), p.reconnects(2)
	if first != "2s" || second != "4s" {
		t.Errorf("KEDA waits %s, then %s", first, second)
	}
	s.start()
	p.waitForTrueAfter(1)
}

func TestPushStreamOfBadMetadataEndsWithTheError(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	p := push(t, trigger(s, map[string]string{"targetValeu": "80"}))
	eventually(t, "KEDA logs why", func() bool {
		return len(p.kedaLogged(`did you mean \"targetValue\"?`)) > 0
	})
	p.spec()
}

// The stream stays open without messages while the scaler cannot read any GPU.
func TestPushStreamStaysWhileGpusCannotBeRead(t *testing.T) {
	t.Parallel()
	gpus := newGpuFile(t, busyAt(90))
	s := startScaler(t, gpus, "--stale-after=200ms")
	p := push(t, trigger(s, nil))
	p.waitForTrue()
	if err := os.Remove(gpus.path); err != nil {
		t.Fatal(err)
	}
	eventually(t, "polls fail", func() bool { _, err := p.ask(); return err != nil })
	if open := s.streamsOpen("StreamIsActive"); open != 1 {
		t.Errorf("%d streams open", open)
	}
	gpus.show(busyAt(90))
	p.comesTo(answer{90, true})
	if trues := p.all(); len(trues) != 1 {
		t.Errorf("%d times true, want 1", len(trues))
	}
	p.toggle(gpus)
}

func TestPushScalerIsPolledAsWell(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	push(t, trigger(s, nil)).comesTo(answer{90, true})
}

func TestWithoutProfilesKedaAsksForTheSpecAlone(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	p := push(t, trigger(s, nil))
	eventually(t, "KEDA takes UNIMPLEMENTED for good", func() bool {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return p.ended
	})
	p.spec()
	p.waitForTrue()
}

func TestChangedProfileReachesKedaThroughTheStream(t *testing.T) {
	t.Parallel()
	const profile = "profiles: {ours: {extends: triton-inference, targetValue: 60}}"
	profiles := writeProfiles(t, profile)
	s := startScaler(t, newGpuFile(t, busyAt(90)), "--profiles="+profiles)
	p := push(t, trigger(s, map[string]string{"profile": "ours"}))
	same := func(streamed v2.MetricSpec) {
		t.Helper()
		asked := p.spec()
		if streamed.External.Metric.Name != asked.Metric.Name ||
			!streamed.External.Target.AverageValue.Equal(*asked.Target.AverageValue) {
			t.Errorf("streamed %+v, asked %+v", streamed.External, asked)
		}
	}
	same(p.streamsSpec())
	change := func(target string) {
		t.Helper()
		replaceFile(t, profiles, strings.Replace(profile, "60", target, 1))
		same(p.streamsSpecWhere(func(spec v2.MetricSpec) bool {
			return spec.External.Target.AverageValue.String() == target
		}))
	}
	change("45")
	s.stop()
	s.start()
	change("30") // over a stream that KEDA reopened
}
