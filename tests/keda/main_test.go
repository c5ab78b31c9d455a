// Package contract tests the scaler against KEDA's side of the protocol: KEDA's own external scaler
// and external push scaler, unmodified, call the real binary. Tests assert what KEDA sees.
//
//	go test -vet=off .
//
// SCALER_BINARY names a binary other than that of the preset dev.
package contract

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"google.golang.org/grpc/resolver/dns"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	root = "../.."
	// Far longer than anything takes: only a test that fails waits that long.
	timeout = 30 * time.Second
)

var binary = func() string {
	if named := os.Getenv("SCALER_BINARY"); named != "" {
		return named
	}
	return filepath.Join(root, "build/dev/src/app/keda-gpu-scaler")
}()

func TestMain(m *testing.M) {
	if _, err := os.Stat(binary); err != nil {
		fmt.Fprintf(os.Stderr, "%v: build it, or name another by SCALER_BINARY\n", err)
		os.Exit(1)
	}
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy"} {
		os.Unsetenv(name) // all requests go to loopback
		os.Unsetenv(strings.ToUpper(name))
	}
	logf.SetLogger(funcr.New(kedaLog.add, funcr.Options{Verbosity: 1}))
	dns.SetMinResolutionInterval(resolutionInterval)
	useOurNameServer()
	// Tests mostly wait without using the CPU; the flag -parallel has precedence.
	flag.Set("test.parallel", "12")
	os.Exit(m.Run())
}

// kedaLog is KEDA's log, the only output about a push scaler's streams.
var kedaLog kedaLines

type kedaLines struct {
	mutex sync.Mutex
	lines []string
}

func (log *kedaLines) add(_, line string) {
	log.mutex.Lock()
	defer log.mutex.Unlock()
	log.lines = append(log.lines, line)
}

// about returns the lines about one ScaledObject that contain a text.
func (log *kedaLines) about(name, text string) []string {
	log.mutex.Lock()
	defer log.mutex.Unlock()
	var found []string
	for _, line := range log.lines {
		if strings.Contains(line, fmt.Sprintf(`"name"=%q`, name)) && strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// eventually fails the test if the condition does not become true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", timeout, what)
		}
	}
}

// within fails the test unless one of three attempts was quick: a busy machine is slow at times.
// Tests that call it are not parallel.
func within(t *testing.T, most time.Duration, what string, attempt func() time.Duration) {
	t.Helper()
	best := timeout
	for attempts := 0; attempts < 3 && best > most; attempts++ {
		took := attempt()
		t.Logf("%s: %v", what, took)
		best = min(best, took)
	}
	if best > most {
		t.Errorf("%s: %v at best, want %v", what, best, most)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
