package contract

import (
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// polled is one of many answers.
type polled struct {
	at time.Time
	answer
	err error
}

// polling polls 200 times a second until done.
type polling struct {
	mutex sync.Mutex
	all   []polled
	stop  chan struct{}
	ended sync.WaitGroup
}

func poll(t *testing.T, ask func() (answer, error)) *polling {
	t.Helper()
	p := &polling{stop: make(chan struct{})}
	p.ended.Go(func() {
		for {
			select {
			case <-p.stop:
				return
			case <-time.After(5 * time.Millisecond):
				got, err := ask()
				p.add(polled{time.Now(), got, err})
			}
		}
	})
	t.Cleanup(func() { p.done() })
	return p
}

func (p *polling) add(one polled) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all = append(p.all, one)
}

func (p *polling) newest() polled {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.all) == 0 {
		return polled{}
	}
	return p.all[len(p.all)-1]
}

// done stops it and returns every answer.
func (p *polling) done() []polled {
	p.mutex.Lock()
	select {
	case <-p.stop:
	default:
		close(p.stop)
	}
	p.mutex.Unlock()
	p.ended.Wait()
	return p.all
}

// until waits for such an answer after `begin`, and returns how long it took.
func (p *polling) until(t *testing.T, begin time.Time, what string, as func(polled) bool) time.Duration {
	t.Helper()
	var found polled
	eventually(t, what, func() bool {
		found = p.newest()
		return found.at.After(begin) && as(found)
	})
	return found.at.Sub(begin)
}

// checkAnswers fails the test for a wrong value, or for an error other than that the scaler is down.
// gRPC itself answers CANCELLED to calls during a shutdown.
func checkAnswers(t *testing.T, all []polled, truth answer) {
	t.Helper()
	for _, one := range all {
		if one.err == nil && one.answer != truth {
			t.Errorf("%+v was made up", one.answer)
		}
		code := status.Code(one.err)
		if code != codes.OK && code != codes.Unavailable && code != codes.Canceled {
			t.Errorf("%v: %v", code, one.err)
		}
	}
}

func isError(one polled) bool  { return one.err != nil }
func isAnswer(one polled) bool { return one.err == nil }

// KEDA's channel waits 1 s after a failed connection, then longer. So KEDA gets answers soon after
// the scaler is back.
func TestKilledScalerGivesErrorsThenTheValueAgain(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	c := external(t, trigger(s, nil))
	c.comesTo(answer{90, true})
	p := poll(t, c.ask)
	for range 3 {
		killed := time.Now()
		s.kill()
		p.until(t, killed, "KEDA sees an error", isError)
		started := time.Now()
		s.start()
		t.Logf("answers again %v after its start", p.until(t, started, "KEDA sees answers again", isAnswer))
	}
	checkAnswers(t, p.done(), answer{90, true})
}

// After SIGTERM the calls in flight get an answer, later ones an error, and none a wrong value.
func TestStoppedScalerReturnsNoWrongValue(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	c := external(t, trigger(s, nil))
	c.comesTo(answer{90, true})
	p := poll(t, c.ask)
	stopped := time.Now()
	s.stop()
	p.until(t, stopped, "KEDA sees an error", isError)
	checkAnswers(t, p.done(), answer{90, true})
}

// A poll that waits for a reading gets an error message, not a broken connection.
func TestWaitingPollIsAnsweredByAScalerThatStops(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t), "--gpu-source=none")
	c := external(t, trigger(s, nil))
	c.spec() // connected
	asked := make(chan error, 1)
	began := time.Now()
	go func() {
		_, err := c.ask()
		asked <- err
	}()
	select {
	case err := <-asked:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	s.stop()
	err := <-asked
	if err == nil || !strings.Contains(err.Error(), "no GPU is read: --gpu-source none") {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// A workload is inactive only with evidence: KEDA scales from N to 0 on the first inactive answer
// after an outage, and a scaler that has just started has no readings.
func TestRestartedScalerStaysActiveForTheActivationWindow(t *testing.T) {
	t.Parallel()
	const activationWindow = 15 * time.Second // far longer than the channel takes to connect again
	gpus := newGpuFile(t, busyAt(90))
	s := startScaler(t, gpus)
	c := external(t, trigger(s, map[string]string{"activationWindow": activationWindow.String()}))
	c.comesTo(answer{90, true})
	s.kill()
	gpus.show(busyAt(0)) // held, and idle for a moment
	p := poll(t, c.ask)
	started := time.Now()
	s.start()
	inactive := p.until(t, started, "KEDA receives that it is idle", func(one polled) bool {
		return one.err == nil && !one.active
	})
	if inactive < activationWindow {
		t.Errorf("inactive %v after the start, with an activationWindow of %v", inactive, activationWindow)
	}
	answers := 0
	for _, one := range p.done() {
		if one.err == nil && one.active {
			answers++
		}
	}
	if answers == 0 {
		t.Error("the first answer after the start was inactive")
	}
}

// The scaler serves before its first GPU reading: KEDA waits for the reading and gets no error. On
// a slow machine the reading may take longer than a request waits.
func TestFirstAnswerWaitsForTheFirstReading(t *testing.T) {
	t.Parallel()
	const longestWait = 1500 * time.Millisecond
	answered := 0
	for range 5 {
		s := startScaler(t, newGpuFile(t, busyAt(90)))
		asked := time.Now()
		got, err := external(t, trigger(s, nil)).ask()
		switch waited := time.Since(asked); {
		case err == nil && got == (answer{90, true}):
			answered++
		case err == nil || waited < longestWait:
			t.Errorf("%+v, %v after %v", got, err, waited)
		}
	}
	if answered == 0 {
		t.Error("no first question got an answer")
	}
}
