package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var addresses atomic.Int32

// newAddress is one of loopback that nothing else listens on.
func newAddress() string {
	number := addresses.Add(1)
	return fmt.Sprintf("127.1.%d.%d", number/250, 1+number%250)
}

// scaler is the real binary, on an address of loopback that is its own, at the default ports.
type scaler struct {
	t       *testing.T
	address string   // without the port
	flags   []string // but for the address
	log     string
	process *os.Process
	ended   chan struct{}
}

// startScaler serves the GPUs of a file; the flags come after ours. It is ready on return.
func startScaler(t *testing.T, name, gpuFile string, flags ...string) *scaler {
	t.Helper()
	return startServing(t, name, append([]string{"--gpu-source=file:" + gpuFile,
		"--poll-interval=200ms"}, flags...)...)
}

// startServing serves in the role that the flags say.
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
			said, _ := os.ReadFile(s.log)
			t.Logf("%s\n%s", s.log, said)
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
	command := exec.Command(binary, append([]string{"serve", "--bind-address=" + s.address}, s.flags...)...)
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
	said, _ := os.ReadFile(s.log)
	return bytes.Count(said, []byte("event=serving"))
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

// says waits until its log has the text.
func (s *scaler) says(text string) {
	s.t.Helper()
	eventually(s.t, patience, "it logs "+text, func() bool {
		said, _ := os.ReadFile(s.log)
		return bytes.Contains(said, []byte(text))
	})
}

// giveName makes a Service's name lead to scalers; a headless Service's leads to several.
func giveName(t *testing.T, name string, to ...*scaler) {
	t.Helper()
	var addresses []string
	for _, s := range to {
		addresses = append(addresses, s.address)
	}
	giveNameTo(t, name, addresses...)
}

// giveNameTo makes a Service's name lead to addresses.
func giveNameTo(t *testing.T, name string, to ...string) {
	t.Helper()
	var lines bytes.Buffer
	for _, address := range to {
		fmt.Fprintf(&lines, "%s %s.svc.cluster.local\n", address, name)
	}
	// In one step: dnsmasq, which passes over names that begin with a dot, reads the whole of it or nothing.
	half := filepath.Join(hostsFolder, "."+name)
	if err := os.WriteFile(half, lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(half, filepath.Join(hostsFolder, name)); err != nil {
		t.Fatal(err)
	}
}

// waitForStreams waits until KEDA has opened so many for push triggers.
func (s *scaler) waitForStreams(want int) {
	s.t.Helper()
	eventually(s.t, patience, fmt.Sprintf("%d streams", want), func() bool {
		open, err := s.metric("keda_gpu_scaler_scaler_streams_open{", `"StreamIsActive"`)
		return err == nil && open == float64(want)
	})
}

// waitForHeldGPUs waits until so many are in use by its newest reading: KEDA, asked before, would
// be told of a workload without replicas.
func (s *scaler) waitForHeldGPUs(want int) {
	s.t.Helper()
	eventually(s.t, patience, fmt.Sprintf("%d GPUs in use", want), func() bool {
		held, err := s.metric("keda_gpu_scaler_gpu_in_use{")
		return err == nil && held == float64(want)
	})
}

// answers is how many calls of a method it has answered, errors included.
func (s *scaler) answers(method string) float64 {
	s.t.Helper()
	count, err := s.metric("keda_gpu_scaler_scaler_requests_total{", `"`+method+`"`)
	if err != nil {
		s.t.Fatal(err)
	}
	return count
}

// errors is how many of them were errors.
func (s *scaler) errors(method string) float64 {
	s.t.Helper()
	count, err := s.metric("keda_gpu_scaler_scaler_request_errors_total{", `"`+method+`"`)
	if err != nil {
		s.t.Fatal(err)
	}
	return count
}

// metric is what sumOf says of its page of metrics.
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

// sumOf adds up the series of a page of metrics whose text begins so and has all the labels.
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
