package e2e

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// demand is the load on a workload, in percent of a GPU: 250 fills two and a half. The ready
// replicas share it, and each of a replica's GPUs shows its replica's share.
//
// It also serves the length of the queue before the workload, in the same unit, for KEDA's
// metrics-api trigger: without replicas no GPU shows the demand. The first replica takes all that
// waits, and from then on only the GPUs keep the workload active.
type demand struct {
	mutex         *sync.Mutex // shared by all users of its GPUs
	shows         replica
	podsOfReplica int
	changed       func() // writes the GPU file; must be called with the mutex
	queue         *httptest.Server

	load float64
	pods map[string]*corev1.Pod // those with GPUs, by UID
}

func newDemand(t *testing.T, mutex *sync.Mutex, shows replica, changed func()) *demand {
	t.Helper()
	d := &demand{mutex: mutex, shows: shows, podsOfReplica: 1, changed: changed,
		pods: map[string]*corev1.Pod{}}
	d.queue = httptest.NewServer(http.HandlerFunc(d.serveLoad))
	t.Cleanup(d.queue.Close)
	return d
}

func (d *demand) setLoad(load float64) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.load = load
	d.changed()
}

func (d *demand) setShows(shows replica) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.shows = shows
}

func (d *demand) serveLoad(answer http.ResponseWriter, _ *http.Request) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	waiting := d.load
	if len(d.pods) > 0 {
		waiting = 0
	}
	fmt.Fprintf(answer, `{"load": %g}`, waiting)
}

// show makes a pod's GPU show the pod's share of the load. A pod that is ready before the rest of
// its replica, or outlives it, is idle.
func (d *demand) show(pod *corev1.Pod, gpu *device) {
	ready := d.readyReplicas()
	share := 0.0
	if ready[replicaOf(pod)] {
		share = math.Min(100, d.load/float64(len(ready)))
	}
	d.shows(share, isReady(pod), gpu)
}

// readyReplicas returns the replicas in which every pod is ready and none is being deleted.
func (d *demand) readyReplicas() map[string]bool {
	pods, ready := map[string]int{}, map[string]bool{}
	for _, pod := range d.pods {
		if !isReady(pod) || pod.DeletionTimestamp != nil {
			continue
		}
		name := replicaOf(pod)
		if pods[name]++; pods[name] == d.podsOfReplica {
			ready[name] = true
		}
	}
	return ready
}

// replicaOf returns the same key for all pods of one replica.
func replicaOf(pod *corev1.Pod) string {
	if group, ok := pod.Labels[groupLabel]; ok {
		return group
	}
	return string(pod.UID)
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
