//go:build h2spec

// Run it on an idle machine: beside other programs a case may miss the frame that it waits for.
package interop_test

import (
	"encoding/xml"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/summerwind/h2spec"
	"github.com/summerwind/h2spec/config"
)

// The h2spec cases that our server fails, with the reasons.
var deviations = map[string]string{
	"generic/2: Sends a WINDOW_UPDATE frame on half-closed (remote) stream":                                 answered,
	"generic/2: Sends a PRIORITY frame on half-closed (remote) stream":                                      answered,
	"http2/3.5: Sends invalid connection preface":                                                           "the answer is HTTP/1.1's, for a client that speaks it",
	"http2/5.1: closed: Sends a DATA frame after sending RST_STREAM frame":                                  forgotten,
	"http2/5.1: closed: Sends a HEADERS frame after sending RST_STREAM frame":                               forgotten,
	"http2/5.1: closed: Sends a DATA frame":                                                                 forgotten,
	"http2/5.1: closed: Sends a HEADERS frame":                                                              forgotten,
	"http2/5.1.1: Sends stream identifier that is numerically smaller than previous":                        forgotten,
	"http2/5.1.2: Sends HEADERS frames that causes their advertised concurrent stream limit to be exceeded": answered,
	"http2/5.3.1: Sends PRIORITY frame that depend on itself":                                               withoutPriorities,
	"http2/6.3: Sends a PRIORITY frame with 0x0 stream identifier":                                          withoutPriorities,
	"http2/8.1: Sends a second HEADERS frame without the END_STREAM flag":                                   answered,
}

const (
	answered          = "h2spec's request is no call of gRPC: it is answered, and its stream closed, at its first headers"
	forgotten         = "streams that are closed are not remembered, so that they cost no memory: their frames are ignored"
	withoutPriorities = "SETTINGS_NO_RFC7540_PRIORITIES: the frames are ignored"
)

func TestH2spec(t *testing.T) {
	address := startServer(t)
	// Other programs may use the CPU while a case waits for its frame, so one of three attempts
	// must pass.
	for try := 1; ; try++ {
		failed := h2specFailures(t, address)
		unexpected, passed := difference(failed, deviations), difference(deviations, failed)
		// Whether the answer arrives before a case's next frame depends on timing.
		passed = slices.DeleteFunc(passed, func(name string) bool { return deviations[name] == answered })
		if len(unexpected) == 0 && len(passed) == 0 {
			return
		}
		t.Logf("fails: %q; passes by now: %q", unexpected, passed)
		if try == 3 {
			t.FailNow()
		}
	}
}

func difference[A, B any](of map[string]A, without map[string]B) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(of)), func(name string) bool {
		_, has := without[name]
		return has
	})
}

// h2specFailures returns the names of the cases that fail.
func h2specFailures(t *testing.T, address string) map[string]bool {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(t.TempDir(), "report.xml")
	stdout := os.Stdout
	if os.Stdout, err = os.Open(os.DevNull); err != nil { // it prints every case
		t.Fatal(err)
	}
	_, err = h2spec.Run(&config.Config{Host: host, Port: number, Path: "/", Timeout: time.Second,
		MaxHeaderLen: 4000, JUnitReport: report})
	os.Stdout = stdout
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Suites []struct {
			Cases []struct {
				Section string    `xml:"package,attr"`
				Name    string    `xml:"classname,attr"`
				Failure *struct{} `xml:"failure"`
				Error   *struct{} `xml:"error"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(text, &suites); err != nil {
		t.Fatal(err)
	}
	failed := map[string]bool{}
	cases, skipped := 0, 0
	for _, suite := range suites.Suites {
		for _, one := range suite.Cases {
			cases++
			if one.Skipped != nil {
				skipped++
			}
			if one.Failure != nil || one.Error != nil {
				failed[one.Section+": "+one.Name] = true
			}
		}
	}
	t.Logf("%d of %d cases pass, h2spec skips %d", cases-len(failed)-skipped, cases, skipped)
	if cases < 140 {
		t.Fatalf("h2spec ran %d cases", cases)
	}
	return failed
}
