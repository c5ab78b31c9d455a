package e2e

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// recording is a run of a workload of engines: arriving requests, KEDA's values and the replicas.
// If E2E_RECORDING names a file, the table is written there.
type recording struct {
	workload *workload
	gateway  *gateway
	began    time.Time
	stop     chan struct{}
	stopped  chan struct{}
	rows     []recorded
}

// recorded is the state at one time.
type recorded struct {
	at              time.Duration
	rate            float64 // requests that arrived per second, since the row before
	held            int     // waiting in the gateway
	value           float64 // the three-line trigger's
	isKnown         bool
	replicas, ready int
}

const recordEvery = time.Second

// record starts a recording.
func (w *workload) record(from *gateway) *recording {
	r := &recording{workload: w, gateway: from, began: time.Now(), stop: make(chan struct{}), stopped: make(chan struct{})}
	go r.run()
	w.t.Cleanup(func() { r.end() })
	return r
}

func (r *recording) run() {
	defer close(r.stopped)
	ticker := time.NewTicker(recordEvery)
	defer ticker.Stop()
	before, at := 0, r.began
	for {
		select {
		case <-r.stop:
			return
		case now := <-ticker.C:
			came, held := r.gateway.counts()
			row := recorded{at: now.Sub(r.began), rate: float64(came-before) / now.Sub(at).Seconds(), held: held,
				replicas: r.workload.line.replicas(), ready: r.workload.line.ready()}
			row.value, row.isKnown = r.workload.valueOf(r.workload.pressure())
			r.rows = append(r.rows, row)
			before, at = came, now
		}
	}
}

// end may be called more than once.
func (r *recording) end() *recording {
	select {
	case <-r.stop:
	default:
		close(r.stop)
	}
	<-r.stopped
	return r
}

// highest returns the highest known value.
func (r *recording) highest() float64 {
	highest := 0.0
	for _, row := range r.rows {
		highest = max(highest, row.value)
	}
	return highest
}

// write writes the table if E2E_RECORDING is set: a row for each change of replicas, and every 20 s
// a row for other changes.
func (r *recording) write(load loadResult) {
	r.workload.t.Helper()
	path := os.Getenv("E2E_RECORDING")
	if path == "" {
		return
	}
	var text strings.Builder
	text.WriteString("| time | requests a second | held | V | replicas asked for | ready |\n|---|---|---|---|---|---|\n")
	var last recorded
	for i, row := range r.rows {
		isDue := row.at-last.at >= 20*time.Second && row.cells() != last.cells()
		if i > 0 && !isDue && row.replicas == last.replicas && row.ready == last.ready {
			continue
		}
		last = row
		fmt.Fprintf(&text, "| %.0f s | %s |\n", row.at.Seconds(), row.cells())
	}
	fmt.Fprintf(&text, "\n%d of %d requests answered, latency %v\n", load.Answered, load.Requests, load.Latency)
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		r.workload.t.Error(err)
	}
}

// cells returns its row of the table, without the time.
func (row recorded) cells() string {
	value := "unknown"
	if row.isKnown {
		value = fmt.Sprintf("%.0f", row.value)
	}
	return fmt.Sprintf("%.0f | %d | %s | %d | %d", row.rate, row.held, value, row.replicas, row.ready)
}
