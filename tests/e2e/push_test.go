package e2e

import (
	"fmt"
	"testing"
	"time"
)

// timeToWake is how long a workload at zero takes to its first replica, from the moment at which
// a GPU became busy.
func timeToWake(t *testing.T, name, kind string, streams int) time.Duration {
	t.Helper()
	w := newWorkload(t, name, start{signals: 1})
	trigger := w.signal(0)
	trigger["type"] = kind
	w.scale(scaledObject{min: 0, max: 1, polling: 30, triggers: []any{trigger}})
	w.scaler.waitForStreams(streams)
	w.line.stays(2 * time.Second) // KEDA's poll as it begins is over
	began := time.Now()
	w.signals(60)
	eventually(t, 40*time.Second, "1 replica", func() bool { return w.line.replicas() == 1 })
	took := time.Since(began)
	t.Logf("%s: first replica after %.2f s", kind, took.Seconds())
	return took
}

// Not beside the others: KEDA's client of the API server is held to 20 requests a second, which
// thirty new ScaledObjects use up.
func TestPushWakesWithinASecond(t *testing.T) {
	if took := timeToWake(t, "push", "external-push", 1); took > time.Second {
		t.Errorf("the first replica took %v", took)
	}
}

func TestPollingWakesWithinItsInterval(t *testing.T) {
	t.Parallel()
	if took := timeToWake(t, "poll", "external", 0); took > 35*time.Second {
		t.Errorf("the first replica took %v, at pollingInterval 30", took)
	}
}

// pushSleeper is a ScaledObject of a Deployment whose replicas never come, both as text.
func pushSleeper(name, namespace string) []string {
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
    metadata: {scalerAddress: "keda-gpu-scaler.%[2]s:6000", gpuIndex: "0", window: 0s}
`, name, namespace),
	}
}

// Each `true` of a stream is a PATCH of the ScaledObject's status, and of requests KEDA's client has
// 20 a second: with streams that repeat themselves a newcomer waits for its turn. Not beside the
// other tests, which would wait for theirs.
func TestNewPushTriggerWakesAtOnceBesideManyActiveOnes(t *testing.T) {
	const others = 150
	w := newWorkload(t, "many", start{signals: 2})
	w.signals(60, 0)
	for number := range others {
		name := fmt.Sprintf("sleeper-%d", number)
		for _, text := range pushSleeper(name, w.namespace) {
			create(t, w.namespace, text)
		}
	}
	t.Cleanup(func() { w.deleteScaledObjects() })
	w.scaler.waitForStreams(others)

	trigger := w.signal(1)
	trigger["type"] = "external-push"
	w.scale(scaledObject{min: 0, max: 1, polling: 30, triggers: []any{trigger}})
	w.scaler.waitForStreams(others + 1)

	before, since := statusPatches(t), time.Now()
	w.line.stays(10 * time.Second)
	rate := float64(statusPatches(t)-before) / time.Since(since).Seconds()
	t.Logf("%.1f status PATCHes a second", rate)
	if rate >= 10 {
		t.Errorf("%.1f status PATCHes a second", rate)
	}

	began := time.Now()
	w.signals(60, 60)
	eventually(t, 40*time.Second, "1 replica", func() bool { return w.line.replicas() == 1 })
	if took := time.Since(began); took > time.Second {
		t.Errorf("the first replica took %v", took)
	}
}
