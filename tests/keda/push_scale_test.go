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

	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

// The size of KEDA's own test of its push scaler, TestExternalPushScaler_Run.
const (
	pushServers      = 5
	clientsPerServer = 500
	gpusPerServer    = 50
)

// Ten clients watch the same GPU.
func TestFiveServersOfFiveHundredPushClientsEachSendEveryEdge(t *testing.T) {
	nodes := make([]*gpuFile, pushServers)
	scalers := make([]*scaler, pushServers)
	for i := range scalers {
		nodes[i] = newGpuFile(t, times(gpusPerServer, unused())...)
		scalers[i] = startScaler(t, nodes[i], "--poll-interval=500ms")
	}
	everyClientSeesItsEdge(t, nodes, gpusPerServer, scalers,
		func(s *scaler, i int) *scalersconfig.ScalerConfig {
			return trigger(s, ofGpu(i%gpusPerServer))
		})
}

// Each client's workload has its own pod, with a GPU on one of five nodes. Half of the triggers
// name the workload; the other ScaledObjects have its name.
func TestFiveAggregatorsOfFiveHundredPushClientsEachSendEveryEdge(t *testing.T) {
	const gpusPerNode = clientsPerServer / pushServers
	nodes := make([]*gpuFile, pushServers)
	agents := make([]string, pushServers)
	for i := range nodes {
		nodes[i] = newGpuFile(t, times(gpusPerNode, unused())...)
		kubelet := startKubelet(t)
		for gpu := range gpusPerNode {
			kubelet.addPod(podOf(i*gpusPerNode+gpu), gpu)
		}
		agents[i] = startAgent(t, fmt.Sprintf("gpu-%d", i), nodes[i], kubelet).address()
	}
	aggregators := make([]*scaler, pushServers)
	for i := range aggregators {
		aggregators[i] = startAggregator(t, agents)
	}
	config := func(s *scaler, i int) *scalersconfig.ScalerConfig {
		if i%4 < 2 {
			return trigger(s, map[string]string{"workload": workload(i)})
		}
		config := trigger(s, nil)
		config.ScalableObjectName = workload(i)
		return config
	}
	for _, s := range aggregators {
		external(t, config(s, 0)).comesTo(answer{0, false}) // all agents are connected
	}
	everyClientSeesItsEdge(t, nodes, gpusPerNode, aggregators, config)
}

func workload(i int) string { return fmt.Sprintf("llm%d", i) }
func podOf(i int) string    { return workload(i) + "-6d4cf56db6-x7k2p" }

// everyClientSeesItsEdge first changes the GPUs of clients with an odd number, so that an edge sent
// to the wrong stream is detected.
func everyClientSeesItsEdge(t *testing.T, nodes []*gpuFile, gpusPerNode int, scalers []*scaler,
	config func(s *scaler, i int) *scalersconfig.ScalerConfig) {
	t.Helper()
	var even, odd []*pushing
	for i := range clientsPerServer {
		for _, s := range scalers {
			c := push(t, config(s, i))
			if i%2 == 0 {
				even = append(even, c)
			} else {
				odd = append(odd, c)
			}
		}
	}
	all := slices.Concat(even, odd)
	for i, s := range scalers {
		eventually(t, fmt.Sprintf("all are open at server %d", i), func() bool {
			return s.streamsOpen("StreamIsActive") == clientsPerServer
		})
	}

	half := make([]gpu, gpusPerNode)
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
			last = max(last, c.waitForTrue().Sub(changed))
		}
		t.Logf("%s, the last of %d after %v", what, len(who), last)
	}
	edge("every second one gets its edge", half, odd)
	edge("the others get theirs", times(gpusPerNode, busyAt(90)), even)
	for _, c := range odd {
		if trues := c.all(); len(trues) != 1 {
			t.Errorf("%s: %d times true, want once", c.config.ScalableObjectName, len(trues))
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
