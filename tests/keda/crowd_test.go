package contract

import (
	"strconv"
	"sync"
	"testing"
	"time"
)

const crowdSize = 100

// crowd has one GPU for each ScaledObject, so that each has a different value: GPU i is at i+1 %.
func crowd() []gpu {
	gpus := make([]gpu, crowdSize)
	for i := range gpus {
		gpus[i] = busyAt(float64(i + 1))
	}
	return gpus
}

func ofGpu(i int) map[string]string { return map[string]string{"gpuIndex": strconv.Itoa(i)} }

func TestHundredScaledObjectsAtOnceGetTheirOwnAnswers(t *testing.T) {
	s := startScaler(t, newGpuFile(t, crowd()...))
	clients := make([]*client, crowdSize)
	for i := range clients {
		clients[i] = external(t, trigger(s, ofGpu(i)))
	}
	within(t, 2*time.Second, "the slowest of 1000 polls", func() time.Duration {
		const rounds = 10
		var slowest time.Duration
		var mutex sync.Mutex
		var all sync.WaitGroup
		for i, c := range clients {
			all.Go(func() {
				want := answer{float64(i + 1), true}
				for range rounds {
					asked := time.Now()
					got, err := c.ask()
					took := time.Since(asked)
					if err != nil || got != want {
						t.Errorf("ScaledObject %d: %+v, %v, want %+v", i, got, err, want)
					}
					mutex.Lock()
					slowest = max(slowest, took)
					mutex.Unlock()
				}
			})
		}
		all.Wait()
		return slowest
	})
}

// All on KEDA's one channel for an address: streams delay no call.
func TestHundredPushScaledObjectsWakeAtOnce(t *testing.T) {
	gpus := newGpuFile(t, times(crowdSize, unused())...)
	s := startScaler(t, gpus)
	open := func() int { return s.streamsOpen("StreamIsActive") }
	within(t, time.Second, "the last of a hundred wakes", func() time.Duration {
		all := make([]*pushing, crowdSize)
		for i := range all {
			all[i] = push(t, trigger(s, ofGpu(i)))
		}
		eventually(t, "all are open", func() bool { return open() == crowdSize })
		external(t, trigger(s, ofGpu(0))).comesTo(answer{0, false})
		busy := time.Now()
		gpus.show(crowd()...)
		var last time.Duration
		for _, p := range all {
			last = max(last, p.waitForTrue().Sub(busy))
		}
		gpus.show(times(crowdSize, unused())...)
		for _, p := range all {
			p.close()
		}
		eventually(t, "no stream is left", func() bool { return open() == 0 })
		return last
	})
}

// After a restart KEDA reopens all streams at the same moment, 2 s later.
func TestHundredPushScaledObjectsComeBackToAScalerThatStopped(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, crowd()...))
	all := make([]*pushing, crowdSize)
	for i := range all {
		all[i] = push(t, trigger(s, ofGpu(i)))
	}
	for _, p := range all {
		p.waitForTrue()
	}
	stopped := time.Now()
	s.stop()
	s.start()
	var last time.Duration
	for _, p := range all {
		last = max(last, p.waitForTrueAfter(1).Sub(stopped))
	}
	t.Logf("the last of %d got it %v after the stop", crowdSize, last)
}

// Connections end all the time, but no poll fails, not even at the first attempt.
func TestEndingConnectionsFailNoPoll(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, crowd()...), "--max-connection-age=1s")
	all := make([]*polling, 10)
	for i := range all {
		c := external(t, trigger(s, ofGpu(i)))
		c.comesTo(answer{float64(i + 1), true})
		all[i] = poll(t, c.ask)
	}
	time.Sleep(4 * time.Second) // about four connections; their end is not visible here
	for i, p := range all {
		for _, one := range p.done() {
			if one.err != nil || one.answer != (answer{float64(i + 1), true}) {
				t.Errorf("ScaledObject %d: %+v, %v", i, one.answer, one.err)
			}
		}
	}
}

// Each `true` is a PATCH by KEDA, which is limited to 20 a second. If no replicas come, all
// ScaledObjects together repeat at most 5 a second, which delays no other's first `true`.
func TestRepeatsForAHundredScaledObjectsAreFew(t *testing.T) {
	gpus := newGpuFile(t, crowd()...)
	s := startScaler(t, gpus)
	all := make([]*pushing, crowdSize)
	for i := range all {
		metadata := ofGpu(i)
		metadata["activationWindow"] = "5m"
		all[i] = push(t, trigger(s, metadata))
	}
	for _, p := range all {
		p.waitForTrue()
	}
	gpus.show(times(crowdSize, unused())...) // still active, and without a replica
	began := time.Now()
	repeats := func() int {
		count := -crowdSize
		for _, p := range all {
			count += len(p.all())
		}
		return count
	}
	eventually(t, "repeats come", func() bool { return repeats() >= 10 })
	count, seconds := repeats(), time.Since(began).Seconds()
	t.Logf("%d repeats in %.1f s", count, seconds)
	if float64(count) > 5*(seconds+1) {
		t.Errorf("%d repeats in %.1f s, want 5 a second at most", count, seconds)
	}
	metadata := ofGpu(0)
	metadata["activationWindow"] = "5m"
	within(t, time.Second, "a new one gets it", func() time.Duration {
		opened := time.Now()
		return push(t, trigger(s, metadata)).waitForTrue().Sub(opened)
	})
}

func TestStreamsBeyondTheLimitAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)), "--max-streams-per-peer=1")
	push(t, trigger(s, nil)).waitForTrue()
	refused := push(t, trigger(s, nil))
	eventually(t, "KEDA logs why", func() bool {
		return len(refused.kedaLogged("code = ResourceExhausted desc = this address has 1 streams open")) > 0
	})
	refused.comesTo(answer{90, true}) // polls still work
}
