// Clients that use as much of the scaler's memory as its port allows.
package contract

import (
	"bufio"
	"bytes"
	encoding "encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/protobuf/proto"
)

// HTTP/2's frames (RFC 9113, section 6).
const (
	typeData     = 0
	typeHeaders  = 1
	typeSettings = 4
	typePing     = 6
	endStream    = 1
	endHeaders   = 4
)

// attackLasts is the longest wait of a client for the server.
const attackLasts = time.Minute

func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := encoding.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = append(head, flags)
	head = encoding.BigEndian.AppendUint32(head, stream)
	return append(head, payload...)
}

// text returns a string of less than 127 bytes (RFC 7541, section 5.2).
func text(s string) []byte { return append([]byte{byte(len(s))}, s...) }

// head returns a call's header block, with further fields.
func head(path string, more ...byte) []byte {
	fields := append([]byte{0x83, 0x86, 0x04}, text(path)...) // POST, http, :path
	fields = append(fields, 0x01, 1, 'a')                     // :authority
	fields = append(append(append(fields, 0), text("content-type")...), text("application/grpc")...)
	return append(fields, more...)
}

func message(bytes []byte) []byte {
	return append(encoding.BigEndian.AppendUint32([]byte{0}, uint32(len(bytes))), bytes...)
}

// attacker is a connection from its own client address.
type attacker struct {
	net.Conn
	answers *bufio.Reader
}

func attackFrom(t *testing.T, ip string, s *scaler, settings []byte) *attacker {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	connection := must(dialer.Dial("tcp", s.address()))
	t.Cleanup(func() { connection.Close() })
	connection.SetDeadline(time.Now().Add(attackLasts))
	connection.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(typeSettings, 0, 0, settings)...))
	return &attacker{connection, bufio.NewReader(connection)}
}

// next waits for a frame of that kind. Returns false if the server has closed the connection.
func (a *attacker) next(kind byte) bool {
	for {
		head := make([]byte, 9)
		if _, err := io.ReadFull(a.answers, head); err != nil {
			return false
		}
		if _, err := a.answers.Discard(int(encoding.BigEndian.Uint32(head) >> 8)); err != nil {
			return false
		}
		if head[3] == kind {
			return true
		}
	}
}

// peakMiB returns the process's peak memory.
func (s *scaler) peakMiB() int {
	status := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Pid)))
	return must(strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)[1]))) >> 10
}

func (s *scaler) hits(limit string) int {
	return s.metric(fmt.Sprintf(`keda_gpu_scaler_grpc_limits_total{limit="%s"}`, limit))
}

// An explanation of 512 GPUs has 50 KiB. An HTTP/2 window of zero bytes blocks all of it.
func TestAnswersThatClientsDoNotReadTakeLittleMemory(t *testing.T) {
	const calls, most = 3_000, 160 // MiB; all answers together have 300
	s := startScaler(t, newGpuFile(t, times(512, busyAt(50))...))
	request := message(must(proto.Marshal(&pb.ScaledObjectRef{
		Name: "llm", Namespace: "prod", ScalerMetadata: map[string]string{"targetValue": "80"}})))
	var all sync.WaitGroup
	for _, ip := range []string{"127.0.3.2", "127.0.3.3"} {
		attacker := attackFrom(t, ip, s, []byte{0, 4, 0, 0, 0, 0}) // INITIAL_WINDOW_SIZE
		all.Go(func() {
			for i := range uint32(calls) {
				attacker.Write(append(frame(typeHeaders, endHeaders, 1+2*i, head("/gpuscaler.v1.Explainer/Explain")),
					frame(typeData, endStream, 1+2*i, request)...))
				if !attacker.next(typeHeaders) {
					t.Errorf("%s: call %d is not answered", ip, i)
					return
				}
			}
		})
	}
	all.Wait()
	if peak := s.peakMiB(); peak > most {
		t.Errorf("the scaler took %d MiB, want at most %d", peak, most)
	} else {
		t.Logf("the scaler took %d MiB", peak)
	}
	if s.hits("unread_bytes") == 0 {
		t.Error("the limit is not counted")
	}
	external(t, trigger(s, nil)).comesTo(answer{512 * 50, true})
}

// openStreams opens a StreamIsActive for each metadata, and waits until the scaler has read all of them.
func (a *attacker) openStreams(t *testing.T, metadata ...map[string]string) {
	t.Helper()
	read := make(chan bool)
	go func() { read <- a.next(typePing) }()
	for i, each := range metadata {
		ref := &pb.ScaledObjectRef{Name: fmt.Sprint(i), Namespace: "prod", ScalerMetadata: each}
		request, id := message(must(proto.Marshal(ref))), stream(uint32(i))
		a.Write(frame(typeHeaders, endHeaders, id, head("/externalscaler.ExternalScaler/StreamIsActive")))
		for ; len(request) > 16<<10; request = request[16<<10:] {
			a.Write(frame(typeData, 0, id, request[:16<<10]))
		}
		a.Write(frame(typeData, endStream, id, request))
	}
	a.Write(frame(typePing, 0, 0, make([]byte, 8)))
	if !<-read {
		t.Error("the scaler has closed the connection")
	}
	go io.Copy(io.Discard, a.answers)
}

// Refused streams that wait for a window would keep their metadata. Credentials would be kept in each
// trigger, in its source, and in what its stream watches. All sources are one here, since the store
// has a limit of its own.
func TestStreamsTakeLittleMemory(t *testing.T) {
	for _, attack := range []struct {
		name     string
		streams  int
		outcome  string // as the scaler decides on the streams that it accepts
		mostMiB  int
		metadata map[string]string
	}{
		{"refused, 240 MiB of metadata", 4_000, "bad_metadata", 160,
			map[string]string{"targetValue": strings.Repeat("8", 60<<10)}},
		{"with credentials, 38 MiB of metadata", 1_000, "unavailable", 140, map[string]string{
			"metricType": "prometheus", "prometheusEndpoint": "http://gateway:9090/metrics", "prometheusMetric": "held",
			"bearerToken": strings.Repeat("t", 8<<10),
			"endpointCa":  "-----BEGIN CERTIFICATE-----" + strings.Repeat("c", 31<<10)}},
	} {
		t.Run(attack.name, func(t *testing.T) {
			s := startScaler(t, newGpuFile(t, busyAt(50)))
			attacker := attackFrom(t, "127.0.3.7", s, []byte{0, 4, 0, 0, 0, 0}) // INITIAL_WINDOW_SIZE
			attacker.openStreams(t, slices.Repeat([]map[string]string{attack.metadata}, attack.streams)...)
			eventually(t, "all streams are refused or decided on", func() bool {
				accepted, refused := s.streamsOpen("StreamIsActive"), s.calls("StreamIsActive")
				decided := s.metric(fmt.Sprintf(`keda_gpu_scaler_decisions_total{outcome="%s"}`, attack.outcome))
				return accepted > 500 && accepted+refused == attack.streams && decided >= accepted
			})
			if peak := s.peakMiB(); peak > attack.mostMiB {
				t.Errorf("the scaler took %d MiB, want at most %d", peak, attack.mostMiB)
			} else {
				t.Logf("the scaler took %d MiB", peak)
			}
			external(t, trigger(s, nil)).comesTo(answer{50, true})
		})
	}
}

func startFloodedAgent(t *testing.T) *scaler {
	t.Helper()
	agent := newServing(t, newGpuFile(t, busyAt(50)).source(), "--role=agent", "--node-name=node",
		"--attribution=none", "--poll-interval=500ms")
	agent.portFlag = "--telemetry-port="
	agent.start()
	return agent
}

// survives checks that the agent took little memory, and that an aggregator can read it.
func (s *scaler) survives(t *testing.T) {
	t.Helper()
	const most = 96 // MiB
	if peak := s.peakMiB(); peak > most {
		t.Errorf("the agent took %d MiB, want at most %d", peak, most)
	} else {
		t.Logf("the agent took %d MiB", peak)
	}
	aggregator := startAggregator(t, []string{s.address()})
	external(t, trigger(aggregator, map[string]string{"scope": "fleet"})).comesTo(answer{50, true})
}

// All calls stay open: each has headers of 1.5 KiB, which HPACK sends in 46 bytes, and a message of
// 2,000 bytes, and the client never ends one. An agent has 256 MiB.
func TestUnfinishedCallsTakeLittleMemoryOfAnAgent(t *testing.T) {
	const calls = 8_000
	agent := startFloodedAgent(t)
	const path = "/grpc.health.v1.Health/Check"
	repeated := head(path, bytes.Repeat([]byte{0xbe}, 46)...)
	data := message([]byte(strings.Repeat("x", 2_000)))
	var all sync.WaitGroup
	for _, ip := range []string{"127.0.3.4", "127.0.3.5", "127.0.3.6"} {
		attacker := attackFrom(t, ip, agent, nil)
		all.Go(func() {
			// The first field is added to the decoder's dynamic table.
			attacker.Write(frame(typeHeaders, endHeaders, 1, head(path, 0x40, 1, 'k', 1, 'v')))
			ended := make(chan bool)
			go func() { ended <- attacker.next(typePing) }()
			for i := range uint32(calls) {
				attacker.Write(append(frame(typeHeaders, endHeaders, 3+2*i, repeated), frame(typeData, 0, 3+2*i, data)...))
			}
			attacker.Write(frame(typePing, 0, 0, make([]byte, 8)))
			<-ended
		})
	}
	all.Wait()
	if agent.hits("streams") == 0 {
		t.Error("the limit is not counted")
	}
	agent.survives(t)
}

// Together these addresses may have more streams than all clients of an agent.
func TestStreamsOfManyAddressesKeepNoAggregatorOut(t *testing.T) {
	const addresses, streams = 24, 256
	agent := startFloodedAgent(t)
	for i := range addresses {
		attacker := attackFrom(t, fmt.Sprint("127.0.4.", i+1), agent, nil)
		attacker.Write(append(repeat(streams, func(i uint32) []byte { return open(i, watchPath) }),
			frame(typePing, 0, 0, make([]byte, 8))...))
		attacker.next(typePing)
	}
	if agent.hits("streams") == 0 {
		t.Error("the limit is not counted")
	}
	agent.survives(t)
}
