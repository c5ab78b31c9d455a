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

// noValue is KEDA's error that the scaler returned no value; it does not contain the reason.
const noValue = "no value"

// answers are KEDA's values for the first trigger of the ScaledObject llm, polled every second.
// They are requested as by the HPA, from KEDA's metrics API server. Each request reaches the
// scaler, as no trigger here has useCachedMetrics.
type answers struct {
	t    *testing.T
	path string // the metric's, on the API server

	mutex sync.Mutex
	all   []answer
}

type answer struct {
	asked  time.Time
	result string // a number, noValue, or any other error
}

// pollKEDA polls KEDA from now on until the test ends.
func (w *workload) pollKEDA() *answers {
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
			w.t.Logf("KEDA's answers on %s: %v", w.namespace, a)
		}
	})
	return a
}

// firstMetric returns the metric's name in KEDA.
func (w *workload) firstMetric() string {
	w.t.Helper()
	var names []string
	eventually(w.t, timeout, "KEDA names the metric", func() bool {
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
		result := a.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		a.mutex.Lock()
		a.all = append(a.all, answer{asked, result})
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

// since returns a copy of the answers to requests since then.
func (a *answers) since(from time.Time) []answer {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return slices.DeleteFunc(slices.Clone(a.all), func(one answer) bool { return one.asked.Before(from) })
}

// String run-length encodes the answers: "228 for 5 s, no value for 6 s, 228".
func (a *answers) String() string {
	var text strings.Builder
	all := a.since(time.Time{})
	for i := 0; i < len(all); {
		next := i
		for next < len(all) && all[next].result == all[i].result {
			next++
		}
		text.WriteString(all[i].result)
		if next < len(all) {
			fmt.Fprintf(&text, " for %.0f s, ", all[next].asked.Sub(all[i].asked).Seconds())
		}
		i = next
	}
	return text.String()
}

// forget drops the answers so far.
func (a *answers) forget() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.all = nil
}

// becomes waits for that answer to a request that starts now or later.
func (a *answers) becomes(result string) {
	a.t.Helper()
	now := time.Now()
	eventually(a.t, timeout, "KEDA reports "+result, func() bool {
		return slices.ContainsFunc(a.since(now), func(one answer) bool { return one.result == result })
	})
}

// recovers waits, after the end of the fault, for three such answers in a row, and logs all answers
// since its start. The timeout covers the longest delays on a busy machine: 10 s until an agent is
// reconnected or DNS is queried again.
func (a *answers) recovers(fault, result string) {
	a.t.Helper()
	const inARow, within = 3, time.Minute
	over := time.Now()
	var right time.Time
	eventually(a.t, within, "KEDA reports "+result+" again", func() bool {
		all := a.since(over)
		if len(all) < inARow {
			return false
		}
		last := all[len(all)-inARow:]
		right = last[0].asked
		return !slices.ContainsFunc(last, func(one answer) bool { return one.result != result })
	})
	a.t.Logf("fault: %s: KEDA reported %v, which was right %.1f s after its end", fault, a,
		right.Sub(over).Seconds())
}

// areAmong fails if there was any other answer.
func (a *answers) areAmong(allowed ...string) {
	a.t.Helper()
	a.each(fmt.Sprint("none of ", allowed), func(result string) bool { return slices.Contains(allowed, result) })
}

// neverBelow fails if a value was lower, or missing.
func (a *answers) neverBelow(least float64) {
	a.t.Helper()
	a.each(fmt.Sprint("not from ", least), func(result string) bool {
		value, err := strconv.ParseFloat(result, 64)
		return err == nil && value >= least
	})
}

func (a *answers) each(why string, allowed func(result string) bool) {
	a.t.Helper()
	for _, one := range a.since(time.Time{}) {
		if !allowed(one.result) {
			a.t.Errorf("KEDA reported %s, %s: %v", one.result, why, a)
			return
		}
	}
}
