package e2e

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tpotSlo is the accepted time per output token of the triggers here, in seconds.
const tpotSlo = 0.045

// requestsPerReplica returns the planned rate of one engine of enginePace: 91 % of its rate at the
// batch size that keeps 90 % of tpotSlo. A request has 100 tokens.
func requestsPerReplica() float64 {
	const alone, full, batch = 1. / 60, 1. / 20, 16
	const perRequest = (full - alone) / (batch - 1)
	const base = alone - perRequest
	const planned = 0.9 * tpotSlo
	return 0.91 * (planned - base) / perRequest / planned / 100
}

// byDemand returns a trigger with the engines' limit and the accepted time per output token.
func (w *workload) byDemand() map[string]any {
	metadata := map[string]string{
		"scalerAddress":    "keda-gpu-scaler." + w.namespace + ":6000",
		"profile":          "vllm-inference",
		"maxConcurrency":   "16",
		"tpotSloMs":        fmt.Sprint(1000 * tpotSlo),
		"window":           "5s",
		"activationWindow": "15s",
	}
	return map[string]any{"type": "external-push", "metadata": metadata}
}

// behindGateway is byDemand() with what the gateway holds.
func (w *workload) behindGateway() map[string]any {
	trigger := w.byDemand()
	maps.Copy(trigger["metadata"].(map[string]string), map[string]string{
		"gatewayUrl":       "http://gateway:8000/metrics",
		"prometheusMetric": waitingSeries,
		"prometheusAbsent": "0", // before its first request
	})
	return trigger
}

// demandOf returns the scaler's demand in replicas, or 0 if it is unknown.
func (w *workload) demandOf() float64 {
	known, err := w.scaler.metric("keda_gpu_scaler_demand_known{")
	if err != nil || known == 0 {
		return 0
	}
	replicas, _ := w.scaler.metric("keda_gpu_scaler_demand_replicas{")
	return replicas
}

// lowerMinimum lowers minReplicaCount and waits until the HPA has it.
func (w *workload) lowerMinimum(least int) {
	w.t.Helper()
	patch(w.t, w.namespace, fmt.Sprintf("{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: %s}, "+
		"spec: {minReplicaCount: %d}}", w.scaledObject(), least))
	eventually(w.t, timeout, "the HPA has the new minimum", func() bool {
		hpas, err := kube.AutoscalingV2().HorizontalPodAutoscalers(w.namespace).List(w.t.Context(), metav1.ListOptions{})
		return err == nil && len(hpas.Items) == 1 && *hpas.Items[0].Spec.MinReplicas == int32(least)
	})
}

// The minimum keeps the replicas until the demand is known; then it is lowered to 1.
func rollsOutUnderLoad(t *testing.T, name, strategy string) {
	const load = 3.6 // replicas
	need := int(math.Ceil(load))
	w, gateway := newEngineWorkload(t, namespaceOf("engines "+name), engineStart{replicas: need, strategy: strategy})
	gateway.refuses = true
	w.line.reaches(need, timeout)
	w.scale(scaledObject{min: need, max: 20, behavior: calm, triggers: []any{w.byDemand()}})
	startLoad(t, fmt.Sprintf("0 %g\n900 0\n", load*requestsPerReplica()), gateway, "--poisson")
	eventually(t, 2*timeout, fmt.Sprintf("the demand is about %g replicas", load), func() bool {
		return math.Ceil(w.demandOf()) == float64(need)
	})
	w.lowerMinimum(1)
	began := w.line.mark("%s", name)
	gone := restarts(w)
	eventually(t, 2*timeout, "it is over", func() bool { return w.isWholeWithout(gone) })
	w.line.reaches(need, timeout) // one replica more may have been asked for while pods came and went
	over := w.line.mark("over")
	w.holds(30 * time.Second)
	w.line.isWithin(began, need, need+max(1, need/10))
	if last := w.line.since(over); last[len(last)-1].replicas != need {
		t.Errorf("%d replicas at the end, not %d", last[len(last)-1].replicas, need)
	}
}

func TestEnginesRollOutUnderLoad(t *testing.T) {
	t.Parallel()
	for name, strategy := range map[string]string{
		"rolling": "", "surge of one": surgeOfOne, "recreate": "strategy: {type: Recreate}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rollsOutUnderLoad(t, name, strategy)
		})
	}
}
