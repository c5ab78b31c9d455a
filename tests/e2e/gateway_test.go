package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// gateway is in front of a model's engines, as an endpoint picker is: each request goes to the
// ready engine with the fewest requests in flight. While no engine is ready requests wait here, and
// the metrics page has their number.
type gateway struct {
	address string        // without the port, 8000
	refuses bool          // refuses requests while no engine is ready, as a Service without a ready pod
	first   chan struct{} // closed when the first request arrives
	firstAt time.Time     // arrival of the first request

	mutex    sync.Mutex
	changed  *sync.Cond
	came     int // requests in total
	waiting  int
	underWay map[*engineProcess]int // requests in flight by ready engine
}

// No keep-alive: an engine may end between two requests, and with it a kept connection.
var toEngines = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// Named as in llm-d's endpoint picker, which also exports the deprecated name.
const (
	waitingSeries    = `llm_d_epp_flow_control_queue_size{inference_pool="llm"}`
	deprecatedSeries = `inference_extension_flow_control_queue_size{inference_pool="llm"}`
)

func startGateway(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{address: newAddress(), first: make(chan struct{}), underWay: map[*engineProcess]int{}}
	g.changed = sync.NewCond(&g.mutex)
	listener, err := net.Listen("tcp", g.address+":8000")
	if err != nil {
		t.Fatal(err)
	}
	paths := http.NewServeMux()
	paths.HandleFunc("GET /metrics", g.serveMetrics)
	paths.HandleFunc("POST /v1/completions", g.pass)
	server := &http.Server{Handler: paths}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return g
}

// serveMetrics exports the series only after a first request, as endpoint pickers do; the number of
// ready engines is always there.
func (g *gateway) serveMetrics(answer http.ResponseWriter, _ *http.Request) {
	came, waiting := g.counts()
	fmt.Fprintf(answer, "# TYPE inference_pool_ready_pods gauge\ninference_pool_ready_pods{name=\"llm\"} %d\n", g.ready())
	if came == 0 {
		return
	}
	fmt.Fprintf(answer, "# TYPE inference_extension_flow_control_queue_size gauge\n%s %d\n", deprecatedSeries, waiting)
	fmt.Fprintf(answer, "# TYPE llm_d_epp_flow_control_queue_size gauge\n%s %d\n", waitingSeries, waiting)
}

// counts returns the total number of requests, and of those waiting here.
func (g *gateway) counts() (came, waiting int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.came, g.waiting
}

func (g *gateway) ready() int {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return len(g.underWay)
}

func (g *gateway) add(engine *engineProcess) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.underWay[engine] = 0
	g.changed.Broadcast()
}

func (g *gateway) remove(engine *engineProcess) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	delete(g.underWay, engine)
}

func (g *gateway) pass(answer http.ResponseWriter, request *http.Request) {
	work, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	g.take()
	for {
		engine := g.pick()
		if engine == nil {
			answer.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		reply, err := toEngines.Post(engine.url("/v1/completions"), "application/json", bytes.NewReader(work))
		g.done(engine)
		// An engine that shuts down answers all requests that it took.
		if refuses(reply, err) || err != nil && !g.isReady(engine) {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if err != nil {
			answer.WriteHeader(http.StatusBadGateway)
			return
		}
		defer reply.Body.Close()
		answer.WriteHeader(reply.StatusCode)
		io.Copy(answer, reply.Body)
		return
	}
}

func (g *gateway) take() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.came == 0 {
		g.firstAt = time.Now()
		close(g.first)
	}
	g.came++
}

// refuses returns whether the engine took no request, because it is shutting down. After any other
// error it may have taken it.
func refuses(reply *http.Response, err error) bool {
	var failed *net.OpError
	if errors.As(err, &failed) {
		return failed.Op == "dial"
	}
	if err == nil && reply.StatusCode == http.StatusServiceUnavailable {
		reply.Body.Close()
		return true
	}
	return false
}

// pick waits for a ready engine. Returns nil if none is and the gateway refuses requests.
func (g *gateway) pick() *engineProcess {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.refuses && len(g.underWay) == 0 {
		return nil
	}
	g.waiting++
	for len(g.underWay) == 0 {
		g.changed.Wait()
	}
	g.waiting--
	var picked *engineProcess
	for engine, requests := range g.underWay {
		if picked == nil || requests < g.underWay[picked] {
			picked = engine
		}
	}
	g.underWay[picked]++
	return picked
}

func (g *gateway) isReady(engine *engineProcess) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	_, isReady := g.underWay[engine]
	return isReady
}

func (g *gateway) done(engine *engineProcess) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if _, isReady := g.underWay[engine]; isReady {
		g.underWay[engine]--
	}
}
