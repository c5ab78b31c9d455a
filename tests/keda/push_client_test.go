package contract

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	v2 "k8s.io/api/autoscaling/v2"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

// pushing is KEDA's push scaler for one trigger, and what it sent on its channels.
type pushing struct {
	*client
	close func() // as KEDA does when the ScaledObject is deleted

	mutex sync.Mutex
	trues []time.Time     // when each `true` arrived
	specs []v2.MetricSpec // the latest; nil before the first
	ended bool            // the channel of specs is closed
}

func push(t *testing.T, config *scalersconfig.ScalerConfig) *pushing {
	t.Helper()
	made, err := scalers.NewExternalPushScaler(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &pushing{client: &client{t, config, made}}
	ctx, cancel := context.WithCancel(context.Background())
	active := make(chan bool)
	var done sync.WaitGroup
	done.Go(func() { made.Run(ctx, active) })
	done.Go(func() {
		for one := range active {
			if !one { // KEDA up to 2.17 acts on it
				t.Errorf("StreamIsActive sent false")
			}
			p.add()
		}
	})
	done.Go(func() {
		for specs := range made.(scalers.MetricSpecStreamer).MetricSpecChan() {
			p.setSpecs(specs)
		}
		p.setEnded()
	})
	p.close = sync.OnceFunc(func() {
		cancel()
		done.Wait()
		made.Close(context.Background())
	})
	t.Cleanup(p.close)
	return p
}

func (p *pushing) add() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.trues = append(p.trues, time.Now())
}

func (p *pushing) setSpecs(specs []v2.MetricSpec) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.specs = specs
}

func (p *pushing) setEnded() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.ended = true
}

func (p *pushing) all() []time.Time {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return append([]time.Time(nil), p.trues...)
}

// waitForTrue waits for the first `true` and returns its arrival.
func (p *pushing) waitForTrue() time.Time {
	p.t.Helper()
	return p.waitForTrueAfter(0)
}

// waitForTrueAfter waits for the next `true` after the first `count` and returns its arrival.
func (p *pushing) waitForTrueAfter(count int) time.Time {
	p.t.Helper()
	eventually(p.t, "StreamIsActive sends true", func() bool { return len(p.all()) > count })
	return p.all()[count]
}

// toggle makes the GPU idle, until the stream has seen it, and busy again.
func (p *pushing) toggle(gpus *gpuFile) {
	p.t.Helper()
	count := len(p.all())
	gpus.show(unused())
	p.comesTo(answer{0, false})
	time.Sleep(1500 * time.Millisecond) // an active stream polls once a second
	gpus.show(busyAt(90))
	p.waitForTrueAfter(count)
}

func (p *pushing) streamsSpec() v2.MetricSpec {
	p.t.Helper()
	return p.streamsSpecWhere(func(v2.MetricSpec) bool { return true })
}

func (p *pushing) streamsSpecWhere(as func(v2.MetricSpec) bool) v2.MetricSpec {
	p.t.Helper()
	var only v2.MetricSpec
	eventually(p.t, "StreamMetricSpec gives the spec", func() bool {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		if len(p.specs) != 1 {
			return false
		}
		only = p.specs[0]
		return as(only)
	})
	return only
}

func (p *pushing) kedaLogged(text string) []string {
	return kedaLog.about(p.config.ScalableObjectName, text)
}

// reconnects waits until KEDA has decided to reopen the stream, and returns its backoff.
func (p *pushing) reconnects(times int) string {
	p.t.Helper()
	const line = `"StreamIsActive retry backoff"`
	eventually(p.t, "KEDA opens the stream again", func() bool { return len(p.kedaLogged(line)) >= times })
	_, after, _ := strings.Cut(p.kedaLogged(line)[times-1], `"duration"="`)
	duration, _, _ := strings.Cut(after, `"`)
	return duration
}
