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

// holderWatch polls the metrics of an agent and records the pods that hold its GPUs.
type holderWatch struct {
	t     *testing.T
	agent *scaler
	read  int // bytes of its log that were searched

	mutex sync.Mutex
	seen  []seenHolders // each differs from the one before
}

type seenHolders struct {
	at   time.Time
	pods map[string][]string // key: UUID of their GPU; nil: unknown
}

func (s seenHolders) String() string {
	if s.pods == nil {
		return "unknown"
	}
	return fmt.Sprint(s.pods)
}

// names returns the pods, sorted, once for each GPU that they hold.
func (s seenHolders) names() []string {
	var names []string
	for _, pods := range s.pods {
		names = append(names, pods...)
	}
	slices.Sort(names)
	return names
}

// watchHolders starts an agent on the kubelet's node.
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

// label returns the value of a label on a line of a metrics page.
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

// holds returns whether these pods are the holders now, with one GPU each.
func (w *holderWatch) holds(pods []string) bool {
	seen := w.all()
	return len(seen) > 0 && seen[len(seen)-1].pods != nil &&
		slices.Equal(seen[len(seen)-1].names(), slices.Sorted(slices.Values(pods)))
}

// becomes waits until these pods are the holders, and drops earlier records.
func (w *holderWatch) becomes(pods ...string) {
	w.t.Helper()
	eventually(w.t, timeout, fmt.Sprintf("%s: %v hold GPUs", w.agent.log, pods), func() bool { return w.holds(pods) })
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.seen = w.seen[len(w.seen)-1:]
}

// logs waits for a text in the agent's log, after the text of the last call.
func (w *holderWatch) logs(text string) {
	w.t.Helper()
	eventually(w.t, timeout, w.agent.log+" has "+text, func() bool {
		log, _ := os.ReadFile(w.agent.log)
		at := strings.Index(string(log[w.read:]), text)
		if at >= 0 {
			w.read += at + len(text)
		}
		return at >= 0
	})
}
