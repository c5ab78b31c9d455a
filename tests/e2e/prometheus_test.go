package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// againstPrometheus is the file for the measurements of the comparison below. It takes two minutes
// and most of the GPUs, so it runs only if a file is given: tools/bench signals.
var againstPrometheus = os.Getenv("E2E_AGAINST_PROMETHEUS")

const (
	promPairs  = 6 // workloads of each kind
	promScrape = 15 * time.Second
	promPoll   = 30 * time.Second // KEDA's own default
	promTarget = 8                // requests for each replica
	promMost   = 8                // replicas
)

// promGateway exports the number of requests in flight.
type promGateway struct {
	address  string // without the port
	inFlight atomic.Int64
}

func startPromGateway(t *testing.T) *promGateway {
	t.Helper()
	gateway := &promGateway{address: newAddress()}
	listener, err := net.Listen("tcp", gateway.address+":8080")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(gateway.serveMetrics)}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return gateway
}

func (gateway *promGateway) serveMetrics(answer http.ResponseWriter, _ *http.Request) {
	answer.Header().Set("Content-Type", "text/plain; version=0.0.4")
	fmt.Fprintf(answer, "# TYPE gateway_requests_in_flight gauge\ngateway_requests_in_flight %d\n",
		gateway.inFlight.Load())
}

// promServer is Debian's Prometheus. It scrapes the same page for several jobs, each at a different
// time within the interval.
type promServer struct{ url string }

func startPromServer(t *testing.T, gateway *promGateway) *promServer {
	t.Helper()
	folder := t.TempDir()
	var config strings.Builder
	fmt.Fprintf(&config, "global: {scrape_interval: %v}\nscrape_configs:\n", promScrape)
	for number := range promPairs {
		fmt.Fprintf(&config, "- {job_name: %s, static_configs: [{targets: [\"%s:8080\"]}]}\n",
			promJob(number), gateway.address)
	}
	file := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(logFolder, "prometheus.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	at := newAddress() + ":9090"
	command := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(folder, "data"),
		"--web.listen-address="+at)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	return &promServer{url: "http://" + at}
}

func promJob(number int) string { return fmt.Sprintf("gateway-%d", number) }

func promQuery(number int) string {
	return fmt.Sprintf(`sum(gateway_requests_in_flight{job="%s"})`, promJob(number))
}

// waitForAllJobs returns when each job was scraped.
func (server *promServer) waitForAllJobs(t *testing.T) {
	t.Helper()
	eventually(t, timeout, "Prometheus has scraped every job", func() bool {
		answer, err := http.Get(server.url + "/api/v1/query?query=" + url.QueryEscape("count(gateway_requests_in_flight)"))
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		output, err := io.ReadAll(answer.Body)
		return err == nil && strings.Contains(string(output), fmt.Sprintf(`"%d"]`, promPairs))
	})
}

// scalingPath is one of the two paths from the page to replicas.
type scalingPath struct {
	Name string `json:"name"`
	// Times of each workload, from the load on: to the first replica in the spec, and to all of them.
	First []float64 `json:"first_seconds"`
	All   []float64 `json:"all_seconds"`

	workloads []*workload
}

// add creates a workload that is at zero until there is load.
func (path *scalingPath) add(t *testing.T, namespace string, trigger func(w *workload) map[string]any) {
	t.Helper()
	w := newWorkload(t, namespace, start{gpus: promMost, flags: []string{allowLoopback}})
	w.scale(scaledObject{min: 0, max: promMost, polling: int(promPoll.Seconds()),
		triggers: []any{trigger(w)}})
	path.workloads = append(path.workloads, w)
}

// measure waits for all replicas of each workload since the marks.
func (path *scalingPath) measure(marks []int) {
	for number, w := range path.workloads {
		w.line.reaches(promMost, timeout)
		mark := marks[number]
		began := w.line.since(mark)[0].at
		path.First = append(path.First, w.line.firstChange(mark).Seconds())
		for _, change := range w.line.changes(mark) {
			if change.replicas == promMost {
				path.All = append(path.All, (change.at - began).Seconds())
				break
			}
		}
	}
}

func (path *scalingPath) mark() (marks []int) {
	for _, w := range path.workloads {
		marks = append(marks, w.line.mark("load"))
	}
	return marks
}

func promMedian(values []float64) float64 {
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}

// Both use the same page, load, target and limits. One workload of each pair is scaled by our
// trigger, the other by KEDA's Prometheus trigger, both with KEDA's default polling. The pairs
// start one after another, so that KEDA's polls are spread over their interval, as Prometheus'
// scrapes are.
func TestDemandReachesAllReplicasBeforeKedasTriggerThroughPrometheus(t *testing.T) {
	if againstPrometheus == "" {
		t.Skip("tools/bench signals asks for it")
	}
	gateway := startPromGateway(t)
	prometheus := startPromServer(t, gateway)
	ours, kedas := &scalingPath{Name: "ours"}, &scalingPath{Name: "keda's prometheus trigger"}
	for number := range promPairs {
		began := time.Now()
		ours.add(t, fmt.Sprintf("prom-ours-%d", number), func(w *workload) map[string]any {
			giveNameTo(t, "gateway."+w.namespace, gateway.address)
			return map[string]any{"type": "external-push", "metadata": map[string]string{
				"scalerAddress":      "keda-gpu-scaler." + w.namespace + ":6000",
				"metricType":         "prometheus",
				"prometheusEndpoint": "http://gateway:8080/metrics",
				"prometheusMetric":   "gateway_requests_in_flight",
				"targetValue":        fmt.Sprint(promTarget),
			}}
		})
		kedas.add(t, fmt.Sprintf("prom-keda-%d", number), func(*workload) map[string]any {
			return map[string]any{"type": "prometheus", "metadata": map[string]string{
				"serverAddress": prometheus.url,
				"query":         promQuery(number),
				"threshold":     fmt.Sprint(promTarget),
			}}
		})
		ours.workloads[number].scaler.waitForStreams(1)
		time.Sleep(time.Until(began.Add(promPoll / promPairs)))
	}
	prometheus.waitForAllJobs(t)

	ourMarks, kedasMarks := ours.mark(), kedas.mark()
	gateway.inFlight.Store(promMost * promTarget)
	ours.measure(ourMarks)
	kedas.measure(kedasMarks)

	for _, path := range []*scalingPath{ours, kedas} {
		fmt.Fprintf(os.Stderr, "e2e: %s: first replica asked for after %.1f s (%.1f to %.1f), %d after %.1f s (%.1f to %.1f)\n",
			path.Name, promMedian(path.First), slices.Min(path.First), slices.Max(path.First), promMost,
			promMedian(path.All), slices.Min(path.All), slices.Max(path.All))
	}
	text := must(json.Marshal(map[string]any{"replicas": promMost, "ours": ours, "keda": kedas,
		"scrape_seconds": promScrape.Seconds(), "poll_seconds": promPoll.Seconds()}))
	if err := os.WriteFile(againstPrometheus, text, 0o644); err != nil {
		t.Error(err)
	}
	if promMedian(ours.All) >= promMedian(kedas.All) {
		t.Errorf("%d replicas after %v s, by Prometheus after %v s", promMost, ours.All, kedas.All)
	}
}
