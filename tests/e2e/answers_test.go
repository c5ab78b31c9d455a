package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// noValue is an error of KEDA's, which tells an HPA that the scaler gave it none, and not why.
const noValue = "no value"

// answers are what real KEDA says of the first trigger of the ScaledObject llm, second by second. It is
// asked as the HPA asks, through its metrics API server, and asks the scaler anew each time: no trigger
// here has useCachedMetrics.
type answers struct {
	t    *testing.T
	path string // of the metric, on the API server

	mutex sync.Mutex
	all   []answer
}

type answer struct {
	asked time.Time
	said  string // a number, noValue, or an error that is none of those
}

// hearsKEDA asks from now on until the test ends.
func (w *workload) hearsKEDA() *answers {
	w.t.Helper()
	a := &answers{t: w.t, path: fmt.Sprintf("/apis/external.metrics.k8s.io/v1beta1/namespaces/%s/%s",
		w.namespace, w.firstMetric())}
	ctx, stop := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	asking.Go(func() { a.askEverySecond(ctx) })
	w.t.Cleanup(func() {
		stop()
		asking.Wait()
		if w.t.Failed() {
			w.t.Logf("KEDA said of %s: %v", w.namespace, a)
		}
	})
	return a
}

// firstMetric is what KEDA calls it.
func (w *workload) firstMetric() string {
	w.t.Helper()
	var names []string
	eventually(w.t, patience, "KEDA names the metric", func() bool {
		object, err := resource(w.t, w.namespace, scaledObjectKind).Get(w.t.Context(), "llm", metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		names, _, _ = unstructured.NestedStringSlice(object.Object, "status", "externalMetricNames")
		return len(names) > 0
	})
	return names[0]
}

func (a *answers) askEverySecond(ctx context.Context) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		asked := time.Now()
		said := a.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		a.mutex.Lock()
		a.all = append(a.all, answer{asked, said})
		a.mutex.Unlock()
		select {
		case <-second.C:
		case <-ctx.Done():
			return
		}
	}
}

func (a *answers) ask(ctx context.Context) string {
	page, err := kube.Discovery().RESTClient().Get().AbsPath(a.path).
		Param("labelSelector", "scaledobject.keda.sh/name=llm").DoRaw(ctx)
	var list struct {
		Items []struct {
			Value quantity.Quantity `json:"value"`
		} `json:"items"`
	}
	if err == nil {
		err = json.Unmarshal(page, &list)
	}
	switch {
	case err != nil && strings.Contains(err.Error()+string(page), "error when getting metric values"):
		return noValue
	case err != nil:
		return fmt.Sprintf("%v %s", err, page)
	case len(list.Items) != 1:
		return fmt.Sprintf("%d values", len(list.Items))
	}
	return fmt.Sprintf("%.6g", list.Items[0].Value.AsApproximateFloat64())
}

// since is a copy of those that were asked for from then on.
func (a *answers) since(from time.Time) []answer {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(a.all), func(one answer) bool { return one.asked.Before(from) })
}

// String has stretches of equal answers: "228 for 5 s, no value for 6 s, 228".
func (a *answers) String() string {
	var text strings.Builder
	all := a.since(time.Time{})
	for i := 0; i < len(all); {
		next := i
		for next < len(all) && all[next].said == all[i].said {
			next++
		}
		text.WriteString(all[i].said)
		if next < len(all) {
			fmt.Fprintf(&text, " for %.0f s, ", all[next].asked.Sub(all[i].asked).Seconds())
		}
		i = next
	}
	return text.String()
}

// forget drops what was answered until now.
func (a *answers) forget() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.all = nil
}

// becomes waits until a question from now on is answered so.
func (a *answers) becomes(said string) {
	a.t.Helper()
	now := time.Now()
	eventually(a.t, patience, "KEDA says "+said, func() bool {
		return slices.ContainsFunc(a.since(now), func(one answer) bool { return one.said == said })
	})
}

// recovers waits, when the fault is over, until three questions in a row are answered so, and tells what
// was said all the while. A busy machine has time for the longest delays, 10 s until an agent is connected
// to again or DNS is asked again.
func (a *answers) recovers(fault, said string) {
	a.t.Helper()
	const inARow, within = 3, time.Minute
	over := time.Now()
	var right time.Time
	eventually(a.t, within, "KEDA says "+said+" again", func() bool {
		all := a.since(over)
		if len(all) < inARow {
			return false
		}
		last := all[len(all)-inARow:]
		right = last[0].asked
		return !slices.ContainsFunc(last, func(one answer) bool { return one.said != said })
	})
	a.t.Logf("fault: %s: KEDA said %v, which was right %.1f s after its end", fault, a,
		right.Sub(over).Seconds())
}

// are fails when anything else was said.
func (a *answers) are(allowed ...string) {
	a.t.Helper()
	a.each(fmt.Sprint("none of ", allowed), func(said string) bool { return slices.Contains(allowed, said) })
}

// neverBelow fails when less was said, or no value.
func (a *answers) neverBelow(least float64) {
	a.t.Helper()
	a.each(fmt.Sprint("not from ", least), func(said string) bool {
		value, err := strconv.ParseFloat(said, 64)
		return err == nil && value >= least
	})
}

func (a *answers) each(why string, allowed func(said string) bool) {
	a.t.Helper()
	for _, one := range a.since(time.Time{}) {
		if !allowed(one.said) {
			a.t.Errorf("KEDA said %s, %s: %v", one.said, why, a)
			return
		}
	}
}
