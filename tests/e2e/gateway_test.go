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

// gateway stands before the engines of a model, as an endpoint picker does: each request goes to the
// ready engine that has the fewest under way. While none is ready requests wait here, and the page of
// metrics says how many.
type gateway struct {
	address string        // without the port, 8000
	refuses bool          // requests while no engine is ready, as a Service without a ready pod
	first   chan struct{} // closed when the first request comes
	firstAt time.Time     // when that was

	mutex    sync.Mutex
	changed  *sync.Cond
	came     int // requests, ever
	waiting  int
	underWay map[*engineProcess]int // of those that are ready
}

// An engine may end between two requests, and with it a connection that was kept.
var toEngines = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// As llm-d's endpoint picker has it, with the deprecated name beside it.
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
	paths.HandleFunc("GET /metrics", g.tellWaiting)
	paths.HandleFunc("POST /v1/completions", g.pass)
	server := &http.Server{Handler: paths}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return g
}

// tellWaiting shows a series for what has happened once, as endpoint pickers do, and the number of engines
// from the first.
func (g *gateway) tellWaiting(answer http.ResponseWriter, _ *http.Request) {
	came, waiting := g.counts()
	fmt.Fprintf(answer, "# TYPE inference_pool_ready_pods gauge\ninference_pool_ready_pods{name=\"llm\"} %d\n", g.ready())
	if came == 0 {
		return
	}
	fmt.Fprintf(answer, "# TYPE inference_extension_flow_control_queue_size gauge\n%s %d\n", deprecatedSeries, waiting)
	fmt.Fprintf(answer, "# TYPE llm_d_epp_flow_control_queue_size gauge\n%s %d\n", waitingSeries, waiting)
}

// counts are the requests that ever came, and those that wait here.
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
		// One that ends answers all that it took.
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

// refuses says whether an engine took no request: it ends. Any other may have it.
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

// pick waits for an engine that is ready. Returns nil if none is and requests are refused then.
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
