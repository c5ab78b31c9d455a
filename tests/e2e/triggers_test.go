package e2e

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

func TestHighestOfTwoTriggersCounts(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "two", start{signals: 2, replicas: 1})
	w.signals(100, 100)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{
		w.signal(0, target(50)), w.signal(1, target(20))}})
	w.line.reaches(5, timeout)
	w.signals(100, 0)
	w.line.reaches(2, timeout)
	w.signals(0, 60)
	w.line.reaches(3, timeout)
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
	w.line.reaches(3, timeout)
	w.signals(40, 60)
	w.line.reaches(2, timeout)
	w.line.stays(3 * time.Second)
	w.line.neverAbove(3)
}

func TestCachedMetricsAreRequestedOncePerPoll(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "cached", start{signals: 2, replicas: 1})
	w.signals(60)
	trigger := w.signal(0, target(20))
	trigger["useCachedMetrics"] = true
	w.scale(scaledObject{min: 1, max: 8, polling: 4, triggers: []any{trigger}})
	w.line.reaches(3, timeout)
	before := w.scaler.answers("GetMetrics")
	w.line.stays(12 * time.Second) // the HPA polls KEDA every second
	if asked := w.scaler.answers("GetMetrics") - before; asked < 2 || asked > 4 {
		t.Errorf("asked %g times in 12 s, with a poll every 4 s", asked)
	}
	w.signals(100)
	w.line.reaches(5, timeout)
}

func TestPausedScaledObjectStaysAndResumes(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "paused", start{signals: 2, replicas: 1})
	w.signals(60)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{w.signal(0, target(20))}})
	w.line.reaches(3, timeout)

	w.annotate("autoscaling.keda.sh/paused", `"true"`)
	eventually(t, timeout, "KEDA has taken the HPA away", func() bool {
		hpas, err := kube.AutoscalingV2().HorizontalPodAutoscalers(w.namespace).List(t.Context(),
			metav1.ListOptions{})
		return err == nil && len(hpas.Items) == 0
	})
	w.line.stays(2 * time.Second) // a sync in progress may still write its old value
	w.signals(100)
	w.line.stays(5 * time.Second)
	w.annotate("autoscaling.keda.sh/paused", "null")
	w.line.reaches(5, timeout)

	w.annotate("autoscaling.keda.sh/paused-replicas", `"2"`)
	w.line.reaches(2, timeout)
	w.line.stays(3 * time.Second)
	w.annotate("autoscaling.keda.sh/paused-replicas", "null")
	w.line.reaches(5, timeout)
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
	jobs := w.watchJobs()
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
	jobs.stays(3 * time.Second)
	w.signals(60)
	jobs.reaches(2, timeout)
	jobs.stays(3 * time.Second) // three polls: running Jobs are not started again
	w.signals(100)
	jobs.reaches(4, timeout)
	w.signals(0)
	jobs.stays(5 * time.Second) // KEDA deletes no running Job
	jobs.risesOnly(0)
	jobs.neverAbove(4)
}

// watchJobs returns a timeline of the Jobs that have not ended.
func (w *workload) watchJobs() *timeline {
	line := newTimeline(w.t, "the jobs of "+w.namespace)
	running := map[types.UID]*batchv1.Job{}
	update := func() {
		ready := 0
		for _, job := range running {
			if job.Status.Ready != nil {
				ready += int(*job.Status.Ready)
			}
		}
		line.add(len(running), ready)
	}
	note := func(now any) {
		job := now.(*batchv1.Job)
		running[job.UID] = job
		if job.Status.CompletionTime != nil {
			delete(running, job.UID)
		}
		update()
	}
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(w.namespace))
	factory.Batch().V1().Jobs().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: note, UpdateFunc: func(_, now any) { note(now) },
		DeleteFunc: func(last any) {
			delete(running, lastKnown[*batchv1.Job](last).UID)
			update()
		},
	})
	follow(w.t, factory)
	return line
}
