package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// moment is a workload's state at a time, or a step of the test.
type moment struct {
	at       time.Duration // since the timeline started
	replicas int           // the Deployment's spec
	ready    int
	mark     string // the test's step; empty: a number changed
}

// timeline records every change of a Deployment's replicas since its creation. A failed test prints
// it.
type timeline struct {
	t     *testing.T
	began time.Time

	mutex   sync.Mutex
	moments []moment
}

func newTimeline(t *testing.T, name string) *timeline {
	line := &timeline{t: t, began: time.Now()}
	t.Cleanup(func() {
		if t.Failed() || testing.Verbose() {
			t.Logf("timeline of %s\n%s", name, line)
		}
	})
	return line
}

func (line *timeline) add(replicas, ready int) {
	line.mutex.Lock()
	defer line.mutex.Unlock()
	last := line.last()
	if len(line.moments) > 0 && last.replicas == replicas && last.ready == ready {
		return
	}
	line.moments = append(line.moments, moment{time.Since(line.began), replicas, ready, ""})
}

// last must be called with the lock.
func (line *timeline) last() moment {
	if len(line.moments) == 0 {
		return moment{}
	}
	return line.moments[len(line.moments)-1]
}

// mark records a step of the test, and returns its index.
func (line *timeline) mark(format string, values ...any) int {
	line.mutex.Lock()
	defer line.mutex.Unlock()
	now := line.last()
	now.at, now.mark = time.Since(line.began), fmt.Sprintf(format, values...)
	line.moments = append(line.moments, now)
	return len(line.moments) - 1
}

// replicas returns the number in the spec now.
func (line *timeline) replicas() int {
	line.mutex.Lock()
	defer line.mutex.Unlock()
	return line.last().replicas
}

func (line *timeline) ready() int {
	line.mutex.Lock()
	defer line.mutex.Unlock()
	return line.last().ready
}

// since returns a copy from a mark on, beginning with the state at the mark.
func (line *timeline) since(mark int) []moment {
	line.mutex.Lock()
	defer line.mutex.Unlock()
	return append([]moment(nil), line.moments[mark:]...)
}

func (line *timeline) String() string {
	var text strings.Builder
	for _, one := range line.since(0) {
		fmt.Fprintf(&text, "%8.2f s  %3d replicas %3d ready  %s\n", one.at.Seconds(), one.replicas,
			one.ready, one.mark)
	}
	return text.String()
}

// reaches waits until that many replicas are in the spec and ready.
func (line *timeline) reaches(replicas int, timeout time.Duration) {
	line.t.Helper()
	eventually(line.t, timeout, fmt.Sprintf("%d replicas, ready", replicas), func() bool {
		return line.replicas() == replicas && line.ready() == replicas
	})
}

// stays fails if the number of replicas changes within the time.
func (line *timeline) stays(duration time.Duration) {
	line.t.Helper()
	want := line.replicas()
	for deadline := time.Now().Add(duration); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got := line.replicas(); got != want {
			line.t.Fatalf("%d replicas became %d, which were to stay for %v", want, got, duration)
		}
	}
}

// changed returns whether the number of replicas changed between two marks.
func (line *timeline) changed(from, to int) bool {
	moments := line.since(from)[:to-from]
	for _, one := range moments {
		if one.replicas != moments[0].replicas {
			return true
		}
	}
	return false
}

// reachedZero returns whether the number of replicas was zero at any time since the mark.
func (line *timeline) reachedZero(mark int) bool {
	return slices.ContainsFunc(line.since(mark), func(one moment) bool { return one.replicas == 0 })
}

// comesToRest waits until the number of replicas has been in that range, constant and all ready,
// for 5 s.
func (line *timeline) comesToRest(least, most int) {
	line.t.Helper()
	what := fmt.Sprintf("%d to %d replicas, ready, for 5 s", least, most)
	eventually(line.t, timeout, what, func() bool {
		line.mutex.Lock()
		defer line.mutex.Unlock()
		last := line.last()
		return last.replicas >= least && last.replicas <= most && last.ready == last.replicas &&
			time.Since(line.began)-last.at >= 5*time.Second
	})
}

// risesOnly fails if the number of replicas fell at any time since the mark.
func (line *timeline) risesOnly(mark int) {
	line.t.Helper()
	line.eachStep(mark, func(from, to int) bool { return to >= from }, "fell")
}

func (line *timeline) fallsOnly(mark int) {
	line.t.Helper()
	line.eachStep(mark, func(from, to int) bool { return to <= from }, "rose")
}

func (line *timeline) eachStep(mark int, allowed func(from, to int) bool, what string) {
	line.t.Helper()
	moments := line.since(mark)
	for i := 1; i < len(moments); i++ {
		if !allowed(moments[i-1].replicas, moments[i].replicas) {
			line.t.Errorf("replicas %s from %d to %d after %q", what, moments[i-1].replicas,
				moments[i].replicas, moments[0].mark)
		}
	}
}

// neverAbove fails if the number of replicas was ever higher.
func (line *timeline) neverAbove(most int) {
	line.t.Helper()
	for _, one := range line.since(0) {
		if one.replicas > most {
			line.t.Errorf("%d replicas at %.2f s, which is more than %d", one.replicas, one.at.Seconds(),
				most)
		}
	}
}

// changes returns the moments after the mark at which the number of replicas changed.
func (line *timeline) changes(mark int) []moment {
	var found []moment
	moments := line.since(mark)
	for i := 1; i < len(moments); i++ {
		if moments[i].replicas != moments[i-1].replicas {
			found = append(found, moments[i])
		}
	}
	return found
}

// firstChange returns the time from the mark to the first change.
func (line *timeline) firstChange(mark int) time.Duration {
	line.t.Helper()
	changes := line.changes(mark)
	if len(changes) == 0 {
		line.t.Fatalf("no change of replicas after %q", line.since(mark)[0].mark)
	}
	return changes[0].at - line.since(mark)[0].at
}
