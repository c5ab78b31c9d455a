package e2e

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// forbiddenServer is a server that must never get a request, on port 8000, the engines', and on 80. It
// would report very many running requests.
type forbiddenServer struct {
	connections atomic.Int32
}

func startForbiddenServer(t *testing.T, address string) {
	t.Helper()
	s := &forbiddenServer{}
	server := &http.Server{
		Handler: http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(answer, `vllm:num_requests_running{engine="0",model_name="llm"} 1000`)
			fmt.Fprintln(answer, `vllm:num_requests_waiting{engine="0",model_name="llm"} 0`)
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.connections.Add(1)
			}
		},
	}
	for _, port := range []string{":80", ":8000"} {
		listener, err := net.Listen("tcp", address+port)
		if err != nil {
			t.Fatal(err)
		}
		go server.Serve(listener)
	}
	t.Cleanup(func() {
		server.Close()
		if count := s.connections.Load(); count > 0 {
			t.Errorf("%s was connected to %d times", address, count)
		}
	})
}

// metadataService has the address of a cloud's metadata service, in the network of these tests.
const metadataService = "169.254.169.254"

// engineFault is a fault of the engine that a trigger reads.
type engineFault struct {
	name string
	// the engine process's, after its current requests; empty: the name's address changes
	fault     string
	leads     string // the name's new address
	onPage    bool   // the trigger reads the same page as a metrics endpoint
	wantError string // the error that users see
	denied    bool   // KEDA gets PermissionDenied; else Unavailable
}

// code returns the gRPC code that KEDA got.
func (f engineFault) code() string {
	if f.denied {
		return "PermissionDenied"
	}
	return "Unavailable"
}

// One replica for every 10 requests. The fault may come with two more than the first 28.
const (
	perReplica    = 10
	beforeFault   = 28
	afterRecovery = 48
)

// trigger returns a trigger on the running requests of the engine at its name.
func (f engineFault) trigger(namespace string) map[string]any {
	metadata := map[string]string{
		"scalerAddress": "keda-gpu-scaler." + namespace + ":6000",
		"targetValue":   fmt.Sprint(perReplica),
	}
	if f.onPage {
		metadata["metricType"] = "prometheus"
		metadata["prometheusEndpoint"] = "http://engine:8000/metrics"
		metadata["prometheusMetric"] = "vllm:num_requests_running"
	} else {
		metadata["metricType"] = "requests_in_flight"
		metadata["engineEndpoint"] = "http://engine:8000"
		metadata["window"] = "0s"
		metadata["scope"] = "fleet"
	}
	return map[string]any{"type": "external", "metadata": metadata}
}

// endless are flags of an engine that takes requests and ends none.
var endless = []string{"--max-num-seqs=1000", "--tokens-per-second=0.1", "--full-batch-tokens-per-second=0.1"}

func TestReplicasStayWhileTheTriggersEngineFails(t *testing.T) {
	t.Parallel()
	if output, err := exec.Command("ip", "address", "replace", metadataService+"/32", "dev", "lo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	startForbiddenServer(t, metadataService)
	loopback := newAddress()
	startForbiddenServer(t, loopback)
	for _, one := range []engineFault{
		{name: "crash", fault: "crash", wantError: "onnection refused"},
		{name: "hang", fault: "hang", wantError: "no answer within 2s"},
		{name: "error", fault: "error", wantError: "it answers HTTP 500"},
		{name: "page of 10 MB", fault: "big-page", wantError: "its page is larger than 4 MiB"},
		{name: "garbage", fault: "garbage", wantError: "name of a metric expected"},
		{name: "endless page", fault: "endless", wantError: "its page is larger than 4 MiB"},
		{name: "redirect", fault: "redirect", wantError: "redirects are not followed"},
		{name: "name to loopback", leads: loopback, wantError: "only --allow-endpoints can open it", denied: true},
		{name: "name to the metadata service", leads: metadataService, wantError: "only --allow-endpoints can open it", denied: true},
		{name: "any page, garbage", onPage: true, fault: "garbage", wantError: "name of a metric expected"},
		{name: "any page, name to loopback", onPage: true, leads: loopback, wantError: "only --allow-endpoints can open it"},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			one.test(t)
		})
	}
}

func (f engineFault) test(t *testing.T) {
	namespace := "fault-" + strings.NewReplacer(" ", "-", ",", "").Replace(strings.ToLower(f.name))
	faulty := append([]string{"--fault-after=" + fmt.Sprint(beforeFault+1)}, endless...)
	if f.fault != "" {
		faulty = append(faulty, "--fault="+f.fault)
	}
	first := startEngine(t, namespace+"-1", faulty...)
	second := startEngine(t, namespace+"-2", endless...)
	giveNameTo(t, "engine."+namespace, first.address)
	w := newWorkload(t, namespace, start{replicas: 3, flags: []string{"--engine-interval=200ms", "--stale-after=3s",
		"--allow-endpoints=" + first.address + "," + second.address}})
	first.hold(beforeFault)
	first.waitForRunning(beforeFault)
	w.line.reaches(3, timeout)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{f.trigger(namespace)}})
	w.holds(2 * time.Second)

	began := w.line.mark("fault")
	given := w.failures()
	if f.fault != "" {
		first.hold(2)
	} else {
		giveNameTo(t, "engine."+namespace, f.leads)
	}
	eventually(t, timeout, "the HPA knows nothing", func() bool {
		return strings.Contains(w.scalingActive(), "False FailedGetExternalMetric")
	})
	noticed := w.line.mark("the HPA knows nothing")
	eventually(t, timeout, "an event of the ScaledObject with code and reason, and a condition", func() bool {
		return hasLineWith(describe(t, namespace, "llm"), "code = "+f.code(), f.wantError) && !w.is("HPAActive")
	})
	w.line.stays(6 * time.Second)
	if w.failures() <= given {
		t.Errorf("no question of KEDA's got an error")
	}

	second.hold(afterRecovery)
	second.waitForRunning(afterRecovery)
	back := w.line.mark("fault is over")
	giveNameTo(t, "engine."+namespace, second.address)
	w.line.reaches(5, timeout)
	w.line.risesOnly(began)
	w.line.neverAbove(5)
	if w.line.changed(began, back) {
		t.Errorf("replicas changed")
	}
	eventually(t, timeout, "the HPA knows again", func() bool {
		return strings.HasPrefix(w.scalingActive(), "True")
	})
	moments := w.line.since(0)
	fmt.Fprintf(os.Stderr, "e2e: engine at fault: %-26s known after %4.1f s, 3 replicas unchanged for %4.1f s, "+
		"5 were asked for %4.1f s after its end; KEDA got %s, users read %q\n", f.name,
		(moments[noticed].at - moments[began].at).Seconds(), (moments[back].at - moments[began].at).Seconds(),
		w.line.firstChange(back).Seconds(), f.code(), f.wantError)
}

// Three engines with 8 requests each need 3 replicas, two of them need 2.
func TestOneFailingEngineOfThreeCountsAsTheTarget(t *testing.T) {
	t.Parallel()
	const each = 8
	const namespace = "fault-one-of-three"
	faulty := startEngine(t, namespace+"-1", append([]string{"--fault=hang", "--fault-after=" + fmt.Sprint(each+1)}, endless...)...)
	engines := []*engineProcess{faulty, startEngine(t, namespace+"-2", endless...), startEngine(t, namespace+"-3", endless...)}
	var addresses []string
	for _, engine := range engines {
		addresses = append(addresses, engine.address)
		engine.hold(each)
		engine.waitForRunning(each)
	}
	giveNameTo(t, "engine."+namespace, addresses...)
	w := newWorkload(t, namespace, start{replicas: 3, flags: []string{"--engine-interval=200ms", "--stale-after=3s",
		"--allow-endpoints=" + strings.Join(addresses, ",")}})
	w.line.reaches(3, timeout)
	trigger := engineFault{}.trigger(namespace)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{trigger}})
	hasValue := func(want float64) func() bool {
		return func() bool {
			value, ok := w.valueOf(trigger)
			return ok && value == want
		}
	}
	eventually(t, timeout, "all three count", hasValue(3*each))
	w.holds(2 * time.Second)

	began := w.line.mark("fault")
	faulty.hold(2)
	eventually(t, timeout, "the one at fault counts the target", hasValue(2*each+perReplica))
	known := w.line.mark("it counts the target")
	w.line.stays(8 * time.Second)
	moments := w.line.since(0)
	fmt.Fprintf(os.Stderr, "e2e: one engine of three hangs: its share is the target after %.1f s, 3 replicas unchanged\n",
		(moments[known].at - moments[began].at).Seconds())
}

// scalingActive returns that condition of the namespace's only HPA: status, reason and message.
func (w *workload) scalingActive() string {
	w.t.Helper()
	hpas, err := kube.AutoscalingV2().HorizontalPodAutoscalers(w.namespace).List(w.t.Context(),
		metav1.ListOptions{})
	if err != nil || len(hpas.Items) != 1 {
		w.t.Fatalf("%d HPAs, %v", len(hpas.Items), err)
	}
	for _, condition := range hpas.Items[0].Status.Conditions {
		if condition.Type == "ScalingActive" {
			return fmt.Sprintf("%s %s: %s", condition.Status, condition.Reason, condition.Message)
		}
	}
	return ""
}

// hasLineWith returns whether one line of the text contains all of these strings.
func hasLineWith(text string, all ...string) bool {
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(all, func(one string) bool { return !strings.Contains(line, one) }) {
			return true
		}
	}
	return false
}
