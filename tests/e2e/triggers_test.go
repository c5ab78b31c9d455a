package e2e

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHighestOfTwoTriggersCounts(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "two", start{signals: 2, replicas: 1})
	w.signals(100, 100)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{
		w.signal(0, target(50)), w.signal(1, target(20))}})
	w.line.reaches(5, patience)
	w.signals(100, 0)
	w.line.reaches(2, patience)
	w.signals(0, 60)
	w.line.reaches(3, patience)
	w.line.stays(3 * time.Second)
	w.line.neverAbove(5)
}

func TestFormulaOfScalingModifiersSeesBothValues(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "formula", start{signals: 2, replicas: 1})
	w.signals(100, 60)
	w.scale(scaledObject{min: 1, max: 8,
		advanced: map[string]any{"scalingModifiers": map[string]any{
			"formula": "min([signal0, signal1])", "target": "20", "activationTarget": "1"}},
		triggers: []any{w.signal(0), w.signal(1)}})
	w.line.reaches(3, patience)
	w.signals(40, 60)
	w.line.reaches(2, patience)
	w.line.stays(3 * time.Second)
	w.line.neverAbove(3)
}

func TestCachedMetricsAreAskedForOnceAPoll(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "cached", start{signals: 2, replicas: 1})
	w.signals(60)
	trigger := w.signal(0, target(20))
	trigger["useCachedMetrics"] = true
	w.scale(scaledObject{min: 1, max: 8, polling: 4, triggers: []any{trigger}})
	w.line.reaches(3, patience)
	before := w.scaler.answers("GetMetrics")
	w.line.stays(12 * time.Second) // the HPA asks KEDA every second
	if asked := w.scaler.answers("GetMetrics") - before; asked < 2 || asked > 4 {
		t.Errorf("asked %g times in 12 s, with a poll every 4 s", asked)
	}
	w.signals(100)
	w.line.reaches(5, patience)
}

func TestPausedScaledObjectStandsAndGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "paused", start{signals: 2, replicas: 1})
	w.signals(60)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{w.signal(0, target(20))}})
	w.line.reaches(3, patience)

	w.annotate("autoscaling.keda.sh/paused", `"true"`)
	eventually(t, patience, "KEDA has taken the HPA away", func() bool {
		hpas, err := kube.AutoscalingV2().HorizontalPodAutoscalers(w.namespace).List(t.Context(),
			metav1.ListOptions{})
		return err == nil && len(hpas.Items) == 0
	})
	w.line.stays(2 * time.Second) // a sync that had begun still writes what it read before
	w.signals(100)
	w.line.stays(5 * time.Second)
	w.annotate("autoscaling.keda.sh/paused", "null")
	w.line.reaches(5, patience)

	w.annotate("autoscaling.keda.sh/paused-replicas", `"2"`)
	w.line.reaches(2, patience)
	w.line.stays(3 * time.Second)
	w.annotate("autoscaling.keda.sh/paused-replicas", "null")
	w.line.reaches(5, patience)
}

func (w *workload) annotate(key, value string) {
	w.t.Helper()
	w.line.mark("%s: %s", key, value)
	patch(w.t, w.namespace, fmt.Sprintf(`
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: llm
  annotations: {%s: %s}
`, key, value))
}

func TestScaledJobStartsAJobForEachTargetOfLoad(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "jobs", start{signals: 1})
	w.signals(0)
	create(t, w.namespace, fmt.Sprintf(`
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: batch}
spec:
  pollingInterval: 1
  maxReplicaCount: 5
  jobTargetRef:
    template:
      metadata:
        annotations: {pod-complete.stage.kwok.x-k8s.io/delay: 1h}
      spec:
        restartPolicy: Never
        containers: [{name: batch, image: batch}]
        tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  triggers:
  - type: external
    metadata:
      {scalerAddress: "keda-gpu-scaler.%s:6000", gpuIndex: "0", window: 0s, activationWindow: 1s, targetValue: "30"}
`, w.namespace))
	w.line.stays(3 * time.Second)
	w.expectJobs(0)
	w.signals(60)
	eventually(t, patience, "2 jobs", func() bool { return w.jobs() == 2 })
	time.Sleep(3 * time.Second) // three polls: those that run are not started again
	w.expectJobs(2)
	w.signals(100)
	eventually(t, patience, "4 jobs", func() bool { return w.jobs() == 4 })
	w.signals(0)
	time.Sleep(3 * time.Second)
	w.expectJobs(4) // KEDA takes no job away that runs
}

func (w *workload) jobs() int {
	jobs, err := kube.BatchV1().Jobs(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	running := 0
	for _, job := range jobs.Items {
		if !hasEnded(job) {
			running++
		}
	}
	return running
}

func (w *workload) expectJobs(want int) {
	w.t.Helper()
	if got := w.jobs(); got != want {
		w.t.Errorf("%d jobs run, not %d", got, want)
	}
}

func hasEnded(job batchv1.Job) bool {
	return job.Status.CompletionTime != nil
}
