package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	groupLabel  = "leaderworkerset.sigs.k8s.io/group-index"
	workerLabel = "leaderworkerset.sigs.k8s.io/worker-index"
	nameLabel   = "leaderworkerset.sigs.k8s.io/name"
)

var groupKind = schema.GroupVersionKind{
	Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}

// Only what KEDA and the HPA use: LeaderWorkerSet's scale subresource.
const groupDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: leaderworkersets.leaderworkerset.x-k8s.io}
spec:
  group: leaderworkerset.x-k8s.io
  names: {kind: LeaderWorkerSet, plural: leaderworkersets, singular: leaderworkerset}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources:
      status: {}
      scale:
        specReplicasPath: .spec.replicas
        statusReplicasPath: .status.replicas
        labelSelectorPath: .status.hpaPodSelector
`

// LeaderWorkerSet's webhook labels a leader with its group.
const groupPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: leaders}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchConditions:
  - name: leader
    expression: has(object.metadata.labels) && "` + workerLabel + `" in object.metadata.labels
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("` + groupLabel + `"),
        value: object.metadata.labels["apps.kubernetes.io/pod-index"]}]
`

const groupPolicyBinding = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: leaders}
spec: {policyName: leaders}
`

// defineGroups adds LeaderWorkerSet to the API server.
func defineGroups(t *testing.T) {
	t.Helper()
	for _, text := range []string{groupDefinition, groupPolicy, groupPolicyBinding} {
		create(t, "", text)
	}
	eventually(t, timeout, "LeaderWorkerSet is served", func() bool {
		meta.MaybeResetRESTMapper(mapper)
		_, err := mapper.RESTMapping(groupKind.GroupKind(), groupKind.Version)
		return err == nil
	})
}

// groups replaces LeaderWorkerSet's controller, for one object with a leader and a worker in each
// group. Like that controller it creates the pods by StatefulSets: one for the leaders, and one for
// each leader's workers. They are deleted with their owners.
type groups struct {
	w     *workload
	nodes *gpuNodes
}

func newGroups(t *testing.T, nodes *gpuNodes, namespace string, aggregators ...*scaler) *workload {
	t.Helper()
	w := nodes.newWorkload(t, namespace, `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: llm}
spec: {replicas: 0}
status: {replicas: 0, readyReplicas: 0}
`, aggregators...)
	w.demand.podsOfReplica = 2
	g := &groups{w, nodes}
	stop := make(chan struct{})
	var controlling sync.WaitGroup
	controlling.Go(func() { g.control(stop) })
	t.Cleanup(func() {
		close(stop)
		controlling.Wait()
	})
	return w
}

// control retries after errors, as controllers do, unless they last.
func (g *groups) control(stop <-chan struct{}) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for worked := time.Now(); ; {
		select {
		case <-ticker.C:
		case <-stop:
			return
		}
		err := g.reconcile(context.Background())
		if err == nil {
			worked = time.Now()
		} else if time.Since(worked) > timeout/3 {
			g.w.t.Errorf("LeaderWorkerSets are not controlled any more: %v", err)
			return
		}
	}
}

func (g *groups) reconcile(ctx context.Context) error {
	sets, err := clientOf(g.w.namespace, groupKind)
	if err != nil {
		return err
	}
	set, err := sets.Get(ctx, "llm", metav1.GetOptions{})
	if err != nil {
		return err
	}
	wanted, _, _ := unstructured.NestedInt64(set.Object, "spec", "replicas")
	if err := g.scaleLeaders(ctx, set, wanted); err != nil {
		return err
	}
	pods, err := kube.CoreV1().Pods(g.w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ready, leaders := map[string]int{}, 0
	for _, pod := range pods.Items {
		if isReady(&pod) {
			ready[pod.Labels[groupLabel]]++
		}
		if pod.Labels[workerLabel] != "0" {
			continue
		}
		leaders++
		if err := g.makeWorkers(ctx, &pod); err != nil {
			return err
		}
	}
	status := map[string]any{"replicas": leaders, "readyReplicas": 0,
		"hpaPodSelector": nameLabel + "=llm," + workerLabel + "=0"}
	whole := 0
	for _, count := range ready {
		if count == g.w.demand.podsOfReplica {
			whole++
		}
	}
	status["readyReplicas"] = whole
	change := must(json.Marshal(map[string]any{"status": status}))
	_, err = sets.Patch(ctx, "llm", types.MergePatchType, change, metav1.PatchOptions{}, "status")
	return err
}

// scaleLeaders creates the leaders if there are none.
func (g *groups) scaleLeaders(ctx context.Context, set *unstructured.Unstructured, wanted int64) error {
	change := fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, wanted)
	sets := kube.AppsV1().StatefulSets(g.w.namespace)
	_, err := sets.Patch(ctx, "llm", types.MergePatchType, change, metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	return g.make(ctx, "llm", wanted, 0, owner(groupKind, set.GetName(), set.GetUID()),
		fmt.Sprintf(`{app: llm, %s: llm, %s: "0"}`, nameLabel, workerLabel),
		spread(fmt.Sprintf(`{%s: "0"}`, workerLabel)))
}

// makeWorkers creates the workers of a leader, on another node.
func (g *groups) makeWorkers(ctx context.Context, leader *corev1.Pod) error {
	if leader.DeletionTimestamp != nil {
		return nil
	}
	labels := fmt.Sprintf(`{app: llm, %s: llm, %s: "%s"}`, nameLabel, groupLabel, leader.Labels[groupLabel])
	err := g.make(ctx, leader.Name, 1, 1,
		owner(corev1.SchemeGroupVersion.WithKind("Pod"), leader.Name, leader.UID), labels,
		"affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "+
			"[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: "+labels+"}}]}}")
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func owner(kind schema.GroupVersionKind, name string, uid types.UID) string {
	return fmt.Sprintf("{apiVersion: %s, kind: %s, name: %s, uid: %s, controller: true}",
		kind.GroupVersion(), kind.Kind, name, uid)
}

// make creates a StatefulSet with pod ordinals from `first`.
func (g *groups) make(ctx context.Context, name string, replicas int64, first int, owner, labels,
	placement string) error {
	object, client, err := objectOf(g.w.namespace, fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %s, ownerReferences: [%s]}
spec:
  replicas: %d
  ordinals: {start: %d}
  podManagementPolicy: Parallel
  selector: {matchLabels: %s}
  template:
    metadata: {labels: %[5]s}
    spec: %s
`, name, owner, replicas, first, labels, g.nodes.podSpec("llm", 1, placement)))
	if err != nil {
		return err
	}
	_, err = client.Create(ctx, object, metav1.CreateOptions{})
	return err
}
