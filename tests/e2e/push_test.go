package e2e

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Other programs may delay a wake, so the best of several counts.
const wakes = 3

// usualWrite is the longest write to the API server on a machine where a replica wakes within a
// second.
const usualWrite = 20 * time.Millisecond

// second is a second, or longer on a slow machine: in proportion to the time of a write to the API
// server.
func (w *workload) second() time.Duration {
	w.t.Helper()
	const writes = 9
	took := make([]time.Duration, writes)
	for i := range took {
		began := time.Now()
		note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "write-"}}
		_, err := kube.CoreV1().ConfigMaps(w.namespace).Create(w.t.Context(), note, metav1.CreateOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return max(time.Second, time.Second*took[writes/2]/usualWrite)
}

// newSleeper is a workload at zero that a GPU without a pod wakes, by a trigger of this type.
func newSleeper(t *testing.T, name, kind string) *workload {
	t.Helper()
	w := newWorkload(t, name, start{signals: 1})
	trigger := w.signal(0)
	trigger["type"] = kind
	w.scale(scaledObject{min: 0, max: 1, polling: 30, triggers: []any{trigger}})
	return w
}

// Not parallel: KEDA's API client is limited to 20 requests a second, which thirty new
// ScaledObjects use up.
func TestPushWakesWithinASecondAndPollingWithinItsInterval(t *testing.T) {
	var pushed []*workload
	for number := range wakes {
		pushed = append(pushed, newSleeper(t, fmt.Sprintf("push-%d", number), "external-push"))
	}
	polled := newSleeper(t, "poll", "external")
	for _, w := range pushed {
		w.scaler.waitForStreams(1)
	}
	polled.line.stays(2 * time.Second) // KEDA's first polls are over

	busy := polled.signals(60)
	push := time.Hour
	for _, w := range pushed {
		mark := w.signals(60)
		w.line.reaches(1, timeout)
		push = min(push, w.line.firstChange(mark))
	}
	polled.line.reaches(1, timeout)
	poll := polled.line.firstChange(busy)

	fmt.Fprintf(os.Stderr, "e2e: first replica %.2f s after a GPU is busy by push (the best of %d), "+
		"%.1f s by polling every 30 s\n", push.Seconds(), wakes, poll.Seconds())
	second := polled.second()
	if push > second {
		t.Errorf("by push the first replica took %v", push)
	}
	// Push need not be faster than one poll: one in fifty polls happens at that moment.
	if poll > 30*time.Second+5*second {
		t.Errorf("by polling every 30 s the first replica took %v", poll)
	}
}

// pushSleeper returns a ScaledObject on one GPU and its Deployment, which never gets replicas, as
// text.
func pushSleeper(name, namespace string, gpu int) []string {
	return []string{
		fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 0
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: llm, image: llm}]
      nodeSelector: {no: such-node}
`, name),
		fmt.Sprintf(`
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: %[1]s}
spec:
  scaleTargetRef: {name: %[1]s}
  minReplicaCount: 0
  maxReplicaCount: 1
  triggers:
  - type: external-push
    metadata: {scalerAddress: "keda-gpu-scaler.%[2]s:6000", gpuIndex: "%[3]d", window: 0s}
`, name, namespace, gpu),
	}
}

func (w *workload) makeSleeper(name string, gpu int) {
	w.t.Helper()
	for _, text := range pushSleeper(name, w.namespace, gpu) {
		create(w.t, w.namespace, text)
	}
}

// awake returns whether a Deployment should have a replica.
func (w *workload) awake(name string) bool {
	w.t.Helper()
	found, err := kube.AppsV1().Deployments(w.namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return *found.Spec.Replicas == 1
}

// Each `true` of a stream is a PATCH of the ScaledObject's status, and KEDA's client is limited to
// 20 requests a second. With streams that repeat `true` too often, a new trigger would wait. Not
// parallel, because it would delay other tests.
func TestNewPushTriggerWakesAtOnceBesideManyActiveOnes(t *testing.T) {
	const others = 150
	w := newWorkload(t, "many", start{signals: 1 + wakes})
	percents := make([]float64, 1+wakes)
	percents[0] = 60
	w.signals(percents...)
	for number := range others {
		w.makeSleeper(fmt.Sprintf("sleeper-%d", number), 0)
	}
	w.scaler.waitForStreams(others)
	newcomer := func(number int) string { return fmt.Sprintf("newcomer-%d", number) }
	for number := range wakes {
		w.makeSleeper(newcomer(number), 1+number)
	}
	w.scaler.waitForStreams(others + wakes)

	before, since := statusPatches(t), time.Now()
	time.Sleep(10 * time.Second) // the period of the rate
	rate := float64(statusPatches(t)-before) / time.Since(since).Seconds()
	best := time.Hour
	for number := range wakes {
		if w.awake(newcomer(number)) {
			t.Errorf("%s is awake before its GPU is busy", newcomer(number))
		}
		percents[1+number] = 60
		began := time.Now()
		w.signals(percents...)
		eventually(t, timeout, "1 replica", func() bool { return w.awake(newcomer(number)) })
		best = min(best, time.Since(began))
	}
	fmt.Fprintf(os.Stderr, "e2e: beside %d push triggers that are active, a new one's first replica "+
		"came after %.2f s (the best of %d); %.1f status PATCHes a second\n", others, best.Seconds(),
		wakes, rate)
	if rate >= 10 {
		t.Errorf("%.1f status PATCHes a second", rate)
	}
	if best > w.second() {
		t.Errorf("the first replica took %v", best)
	}
}
