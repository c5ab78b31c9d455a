package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var addresses atomic.Int32

// newAddress returns an unused loopback address.
func newAddress() string {
	number := addresses.Add(1)
	return fmt.Sprintf("127.1.%d.%d", number/250, 1+number%250)
}

// scaler is the real binary on its own loopback address, at the default ports.
type scaler struct {
	t       *testing.T
	address string   // without the port
	flags   []string // without the address flags
	log     string
	process *os.Process
	ended   chan struct{}
}

// startScaler starts a scaler on a GPU file; `flags` override the defaults. It is ready on return.
func startScaler(t *testing.T, name, gpuFile string, flags ...string) *scaler {
	t.Helper()
	return startServing(t, name, append([]string{"--gpu-source=file:" + gpuFile,
		"--poll-interval=200ms"}, flags...)...)
}

// startServing starts the role in the flags.
func startServing(t *testing.T, name string, flags ...string) *scaler {
	t.Helper()
	s := &scaler{
		t:       t,
		address: newAddress(),
		log:     filepath.Join(logFolder, "scaler-"+name+".log"),
	}
	s.flags = append([]string{"--node-name=" + name}, flags...)
	os.Remove(s.log)
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			output, _ := os.ReadFile(s.log)
			t.Logf("%s\n%s", s.log, output)
		}
	})
	s.start()
	return s
}

func (s *scaler) start() {
	s.t.Helper()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	before := s.timesServing()
	arguments := append([]string{"serve", "--bind-address=" + s.address}, s.flags...)
	if !slices.Contains(s.flags, "--role=agent") {
		arguments = append(arguments, "--web-port=0")
	}
	command := exec.Command(binary, arguments...)
	command.Stderr = log
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	s.process, s.ended = command.Process, ended
	go func() {
		command.Wait()
		close(ended)
	}()
	eventually(s.t, 20*time.Second, "the scaler serves", func() bool {
		select {
		case <-ended:
			s.t.Fatal("the scaler ended")
		default:
		}
		return s.timesServing() > before
	})
}

func (s *scaler) timesServing() int {
	output, _ := os.ReadFile(s.log)
	return bytes.Count(output, []byte("event=serving"))
}

// kill is a crash: no stream is ended, no call answered.
func (s *scaler) kill() {
	if s.process == nil {
		return // it never started
	}
	s.process.Kill()
	<-s.ended
}

// move is a crash, and a start at another address.
func (s *scaler) move() {
	s.t.Helper()
	s.kill()
	s.address = newAddress()
	s.start()
}

// waitForLog waits until its log has the text.
func (s *scaler) waitForLog(text string) {
	s.t.Helper()
	eventually(s.t, timeout, "it logs "+text, func() bool {
		output, _ := os.ReadFile(s.log)
		return bytes.Contains(output, []byte(text))
	})
}

// giveName makes a Service's name resolve to scalers; several for a headless Service.
func giveName(t *testing.T, name string, to ...*scaler) {
	t.Helper()
	var addresses []string
	for _, s := range to {
		addresses = append(addresses, s.address)
	}
	giveNameTo(t, name, addresses...)
}

// giveNameTo makes a Service's name resolve to addresses.
func giveNameTo(t *testing.T, name string, to ...string) {
	t.Helper()
	var lines bytes.Buffer
	for _, address := range to {
		fmt.Fprintf(&lines, "%s %s.svc.cluster.local\n", address, name)
	}
	// Atomically: dnsmasq skips names with a leading dot, so it reads the whole file or nothing.
	half := filepath.Join(hostsFolder, "."+name)
	if err := os.WriteFile(half, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(half, filepath.Join(hostsFolder, name)); err != nil {
		t.Fatal(err)
	}
}

// waitForStreams waits until KEDA has opened that many streams for push triggers.
func (s *scaler) waitForStreams(want int) {
	s.t.Helper()
	eventually(s.t, timeout, fmt.Sprintf("%d streams", want), func() bool {
		open, err := s.metric("keda_gpu_scaler_scaler_streams_open{", `"StreamIsActive"`)
		return err == nil && open == float64(want)
	})
}

// waitForHeldGPUs waits until that many GPUs are in use in its newest reading. Before that KEDA
// would get the value of a workload without replicas.
func (s *scaler) waitForHeldGPUs(want int) {
	s.t.Helper()
	eventually(s.t, timeout, fmt.Sprintf("%d GPUs in use", want), func() bool {
		held, err := s.metric("keda_gpu_scaler_gpu_in_use{")
		return err == nil && held == float64(want)
	})
}

// answers returns how many calls of a method were answered, errors included.
func (s *scaler) answers(method string) float64 {
	s.t.Helper()
	count, err := s.metric("keda_gpu_scaler_scaler_requests_total{", `"`+method+`"`)
	if err != nil {
		s.t.Fatal(err)
	}
	return count
}

// errors returns how many calls of a method failed.
func (s *scaler) errors(method string) float64 {
	s.t.Helper()
	count, err := s.metric("keda_gpu_scaler_scaler_request_errors_total{", `"`+method+`"`)
	if err != nil {
		s.t.Fatal(err)
	}
	return count
}

// metric returns sumOf its metrics page.
func (s *scaler) metric(begin string, labels ...string) (float64, error) {
	page, err := s.metrics()
	return sumOf(page, begin, labels...), err
}

func (s *scaler) metrics() (string, error) {
	answer, err := http.Get("http://" + s.address + ":9090/metrics")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	return string(page), err
}

// sumOf adds up the series of a metrics page that begin with `begin` and have all the labels.
func sumOf(page, begin string, labels ...string) float64 {
	sum := 0.0
	for line := range strings.Lines(page) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err == nil && strings.HasPrefix(line, begin) && hasAll(line, labels) {
			sum += value
		}
	}
	return sum
}

func hasAll(line string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(line, part) {
			return false
		}
	}
	return true
}
