package contract

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The size of KEDA's own test of its push scaler, TestExternalPushScaler_Run.
const (
	pushServers      = 5
	clientsPerServer = 500
	gpusPerServer    = 50
)

// Ten clients watch the same GPU; the edges of half of the GPUs come first, so that one that goes to
// another's stream is seen.
func TestFiveServersOfFiveHundredPushClientsEachTellEveryEdge(t *testing.T) {
	nodes := make([]*gpuFile, pushServers)
	scalers := make([]*scaler, pushServers)
	for i := range scalers {
		nodes[i] = newGpuFile(t, times(gpusPerServer, unused())...)
		scalers[i] = startScaler(t, nodes[i], "--poll-interval=500ms")
	}
	var even, odd []*pushing // by their GPU
	for i := range clientsPerServer {
		for _, s := range scalers {
			c := push(t, trigger(s, ofGpu(i%gpusPerServer)))
			if i%2 == 0 {
				even = append(even, c)
			} else {
				odd = append(odd, c)
			}
		}
	}
	all := slices.Concat(even, odd)
	for _, c := range all {
		c.says(false)
	}

	half := make([]gpu, gpusPerServer)
	for i := range half {
		half[i] = unused()
		if i%2 == 1 {
			half[i] = busyAt(90)
		}
	}
	edge := func(what string, gpus []gpu, who []*pushing) {
		changed := time.Now()
		for _, node := range nodes {
			node.show(gpus...)
		}
		var last time.Duration
		for _, c := range who {
			last = max(last, c.saysAfter(1, true).at.Sub(changed))
		}
		t.Logf("%s, the last of %d after %v", what, len(who), last)
	}
	edge("every second one is told of its edge", half, odd)
	edge("the others are told of theirs", times(gpusPerServer, busyAt(90)), even)
	for _, c := range odd {
		if said := c.all(); len(said) != 2 {
			t.Errorf("%s: said %v, want false and true", c.config.ScalableObjectName, said)
		}
	}

	for i, s := range scalers {
		if open := s.streamsOpen("StreamIsActive"); open != clientsPerServer {
			t.Errorf("server %d: %d streams open, want %d", i, open, clientsPerServer)
		}
		memory := s.residentMiB()
		t.Logf("server %d: %d MiB resident", i, memory)
		if memory > 100 {
			t.Errorf("server %d: %d MiB resident with %d streams, want 100 at most", i, memory,
				clientsPerServer)
		}
	}
	var closed sync.WaitGroup
	for _, c := range all {
		closed.Go(c.close)
	}
	closed.Wait()
	for i, s := range scalers {
		eventually(t, fmt.Sprintf("no stream is left at server %d", i), func() bool {
			return s.streamsOpen("StreamIsActive") == 0
		})
	}
}

func (s *scaler) residentMiB() int {
	s.t.Helper()
	status := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Pid)))
	found := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		s.t.Fatalf("no VmRSS in\n%s", status)
	}
	return must(strconv.Atoi(string(found[1]))) / 1024
}
