package contract

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// pollInterval is the scalers' GPU polling interval here; 2 s by default.
const pollInterval = 50 * time.Millisecond

var scalersStarted atomic.Int32

// scaler is the real binary on a loopback address that no other test uses, so that a restarted
// scaler can have its port again.
type scaler struct {
	t     *testing.T
	ip    string
	flags []string

	port        string // the gRPC port; the same after each start
	portFlag    string
	metricsPort string
	log         syncedBuffer
	process     *os.Process
	ended       chan error
}

// startScaler starts a scaler on these GPUs, ready on return; `flags` override the defaults.
func startScaler(t *testing.T, gpus *gpuFile, flags ...string) *scaler {
	t.Helper()
	s := newScaler(t, gpus, flags...)
	s.start()
	return s
}

// newScaler returns a scaler that is not started, but has its address; its port can still be
// chosen.
func newScaler(t *testing.T, gpus *gpuFile, flags ...string) *scaler {
	return newServing(t, append([]string{gpus.source(), "--node-name=node",
		"--poll-interval=" + pollInterval.String()}, flags...)...)
}

// newServing returns a scaler in the role of the flags.
func newServing(t *testing.T, flags ...string) *scaler {
	number := scalersStarted.Add(1)
	s := &scaler{
		t:        t,
		ip:       fmt.Sprintf("127.%d.%d.%d", 2+os.Getpid()%250, number/250, 1+number%250),
		port:     "any",
		portFlag: "--port=",
	}
	s.flags = append([]string{"serve", "--bind-address=" + s.ip, "--metrics-port=any",
		"--probe-port=0"}, flags...)
	if !slices.Contains(flags, "--role=agent") {
		s.flags = append(s.flags, "--web-port=0")
	}
	t.Cleanup(func() {
		if s.process != nil && !s.hasEnded() {
			s.stop()
		}
		if t.Failed() {
			t.Logf("scaler at %s\n%s", s.address(), s.log.String())
		}
	})
	return s
}

// address is a trigger's scalerAddress.
func (s *scaler) address() string { return s.ip + ":" + s.port }

var serving = regexp.MustCompile(`event=serving .*(?:grpc|telemetry)_port=(\d+) metrics_port=(\d+)`)

// start starts it, on its former port after the first time; it serves on return.
func (s *scaler) start() {
	s.t.Helper()
	s.launch()
	eventually(s.t, "the scaler serves", func() bool {
		if s.hasEnded() {
			s.t.Fatalf("the scaler ended:\n%s", s.log.String())
		}
		return serving.MatchString(s.log.sinceStart())
	})
	ports := serving.FindStringSubmatch(s.log.sinceStart())
	s.port, s.metricsPort = ports[1], ports[2]
}

// launch does not wait.
func (s *scaler) launch() {
	s.t.Helper()
	s.log.mark()
	command := exec.Command(binary, append(slices.Clone(s.flags), s.portFlag+s.port)...)
	command.Stderr = &s.log
	command.Env = []string{} // without our environment
	for _, name := range []string{"LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"} {
		if value, set := os.LookupEnv(name); set {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	// It must not outlive a killed test binary. The signal is sent when the thread ends, so the
	// thread is kept: the goroutine that starts the process also waits for it.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			ended <- command.Wait()
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		s.t.Fatal(err)
	}
	s.process, s.ended = command.Process, ended
}

func (s *scaler) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// kill is a crash: no stream is ended, no call answered.
func (s *scaler) kill() {
	if s.process == nil {
		return // it never started
	}
	s.process.Kill()
	for range s.ended {
	}
}

// stop is SIGTERM, as in a rolling update: it shuts down in order.
func (s *scaler) stop() {
	s.t.Helper()
	s.process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("after SIGTERM: %v", err)
		}
	case <-time.After(timeout):
		s.t.Errorf("still there %v after SIGTERM:\n%s", timeout, s.threads())
		s.kill()
	}
}

// threads returns the kernel function in which each of its threads waits.
func (s *scaler) threads() string {
	var all strings.Builder
	folders, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", s.process.Pid))
	for _, folder := range folders {
		for _, file := range []string{"comm", "wchan", "syscall"} {
			text, err := os.ReadFile(filepath.Join(folder, file))
			if err != nil {
				text = []byte(err.Error())
			}
			fmt.Fprintf(&all, "%s ", bytes.TrimSpace(text))
		}
		all.WriteByte('\n')
	}
	return all.String()
}

// calls returns how often KEDA has called an RPC, by the scaler's own count; for streams, how many
// have ended.
func (s *scaler) calls(rpc string) int {
	s.t.Helper()
	return s.metric(fmt.Sprintf(`keda_gpu_scaler_scaler_requests_total{method="%s"}`, rpc))
}

func (s *scaler) streamsOpen(rpc string) int {
	s.t.Helper()
	return s.metric(fmt.Sprintf(`keda_gpu_scaler_scaler_streams_open{method="%s"}`, rpc))
}

func (s *scaler) metric(series string) int {
	s.t.Helper()
	reply, err := http.Get("http://" + s.ip + ":" + s.metricsPort + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer reply.Body.Close()
	page := must(io.ReadAll(reply.Body))
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\d+)$`).FindSubmatch(page)
	if line == nil {
		s.t.Fatalf("no %s in\n%s", series, page)
	}
	return must(strconv.Atoi(string(line[1])))
}

// syncedBuffer is a log that can be read while it is written.
type syncedBuffer struct {
	mutex   sync.Mutex
	text    bytes.Buffer
	started int
}

func (b *syncedBuffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(text)
}

func (b *syncedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

func (b *syncedBuffer) mark() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.started = b.text.Len()
}

func (b *syncedBuffer) sinceStart() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return string(b.text.Bytes()[b.started:])
}
