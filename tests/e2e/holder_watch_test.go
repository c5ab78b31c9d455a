package e2e

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// holderWatch reads the metrics of an agent all the time, and keeps which pods hold its GPUs.
type holderWatch struct {
	t     *testing.T
	agent *scaler
	read  int // bytes of its log

	mutex sync.Mutex
	seen  []seenHolders // each differs from the one before
}

type seenHolders struct {
	at   time.Time
	pods map[string][]string // the key is the UUID of the GPU that they hold; nil: unknown
}

func (s seenHolders) String() string {
	if s.pods == nil {
		return "unknown"
	}
	return fmt.Sprint(s.pods)
}

// names are the pods, sorted, one for each GPU that it holds.
func (s seenHolders) names() []string {
	var names []string
	for _, pods := range s.pods {
		names = append(names, pods...)
	}
	slices.Sort(names)
	return names
}

// watchHolders starts an agent beside the kubelet.
func (k *realKubelet) watchHolders(gpuFile, name string, flags ...string) *holderWatch {
	k.t.Helper()
	flags = append(append(k.flags(), "--role=agent", "--gpu-source=file:"+gpuFile, "--poll-interval=200ms",
		"--discover-engines=false"), flags...)
	w := &holderWatch{t: k.t, agent: startServing(k.t, k.node+"-"+name, flags...)}
	repeat(k.t, 50*time.Millisecond, w.look)
	return w
}

func (w *holderWatch) look() {
	page, err := w.agent.metrics()
	if err != nil {
		return
	}
	now := seenHolders{time.Now(), holdersOn(page)}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if len(w.seen) == 0 || !reflect.DeepEqual(w.seen[len(w.seen)-1].pods, now.pods) {
		w.seen = append(w.seen, now)
	}
}

func holdersOn(page string) map[string][]string {
	if sumOf(page, "keda_gpu_scaler_attribution_known ") != 1 {
		return nil
	}
	pods := map[string][]string{}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "keda_gpu_scaler_gpu_holder_share{") {
			gpu := label(line, "gpu_uuid")
			pods[gpu] = append(pods[gpu], label(line, "pod"))
		}
	}
	return pods
}

// label is the value of a label on a line of a page of metrics.
func label(line, name string) string {
	_, rest, _ := strings.Cut(line, name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func (w *holderWatch) all() []seenHolders {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.Clone(w.seen)
}

// holds is whether these pods are the holders now, one GPU each.
func (w *holderWatch) holds(pods []string) bool {
	seen := w.all()
	return len(seen) > 0 && seen[len(seen)-1].pods != nil &&
		slices.Equal(seen[len(seen)-1].names(), slices.Sorted(slices.Values(pods)))
}

// becomes waits until these pods are the holders, and forgets what was seen before.
func (w *holderWatch) becomes(pods ...string) {
	w.t.Helper()
	eventually(w.t, patience, fmt.Sprintf("%s: %v hold GPUs", w.agent.log, pods), func() bool { return w.holds(pods) })
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen = w.seen[len(w.seen)-1:]
}

// logs waits for a text in the agent's log, after the one that it waited for last.
func (w *holderWatch) logs(text string) {
	w.t.Helper()
	eventually(w.t, patience, w.agent.log+" has "+text, func() bool {
		log, _ := os.ReadFile(w.agent.log)
		at := strings.Index(string(log[w.read:]), text)
		if at >= 0 {
			w.read += at + len(text)
		}
		return at >= 0
	})
}
