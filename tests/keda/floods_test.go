// Floods by single clients: the scaler's memory stays small, and other clients get answers.
package contract

import (
	"bytes"
	"context"
	encoding "encoding/binary"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	floodLasts = 3 * time.Second
	// The median and the 99th percentile, as multiples of the median without a flood. Flooders and the
	// other client share the CPU with the scaler.
	mostSlowdown     = 100
	mostSlowdownOf99 = 1000
	longestCall      = 1500 * time.Millisecond
	// The memory of an aggregator's container.
	containerBytes = "1073741824"
)

// HTTP/2's frames (RFC 9113, section 6).
const (
	typePriority     = 2
	typeReset        = 3
	typeWindowUpdate = 8
	typeContinuation = 9
	padded           = 8
	withPriority     = 32
)

const (
	checkPath = "/grpc.health.v1.Health/Check"
	watchPath = "/grpc.health.v1.Health/Watch" // waits for its message
)

// repeat returns the frames of `count` steps.
func repeat(count int, step func(i uint32) []byte) []byte {
	var all bytes.Buffer
	for i := range count {
		all.Write(step(uint32(i)))
	}
	return all.Bytes()
}

func stream(i uint32) uint32 { return 1 + 2*i }

// literal returns a header field without indexing (RFC 7541, section 6.2.2), name and value of less
// than 127 bytes each.
func literal(name, value string) []byte {
	return append(append([]byte{0}, text(name)...), text(value)...)
}

// open starts a call with a request that never ends.
func open(i uint32, path string, more ...byte) []byte {
	return frame(typeHeaders, endHeaders, stream(i), head(path, more...))
}

// answeredCall is a call that the scaler answers, which resets its count of control frames.
func answeredCall(i uint32) []byte {
	return frame(typeHeaders, endHeaders|endStream, stream(i), head(checkPath))
}

type flood struct {
	name  string
	bytes []byte
	// Concurrent connections, and how long each stays open after its bytes are sent.
	connections int
	stays       time.Duration
	// The limit that is hit and counted. Empty: another limit may be hit first.
	limit string
}

var floods = []flood{
	{"rapid reset", repeat(100_000, func(i uint32) []byte {
		return append(open(i, checkPath), frame(typeReset, 0, stream(i), []byte{0, 0, 0, 8})...)
	}), 2, 0, "resets"},
	{"endless continuation", append(frame(typeHeaders, 0, 1, head(checkPath)), repeat(50_000, func(i uint32) []byte {
		return frame(typeContinuation, 0, 1, literal(fmt.Sprint("x", i%1000), strings.Repeat("y", 32)))
	})...), 2, 0, "continuations"},
	{"one endless header", append(frame(typeHeaders, 0, 1, []byte{0, 0x7f, 0xff, 0xff, 0xff, 0x1f}), repeat(4_000, func(uint32) []byte {
		return frame(typeContinuation, 0, 1, bytes.Repeat([]byte("a"), 16_000))
	})...), 2, 0, ""},
	{"100,000 streams", repeat(50_000, func(i uint32) []byte { return open(i, watchPath) }), 2, floodLasts, "streams"},
	{"unfinished messages", repeat(20_000, func(i uint32) []byte {
		message := append([]byte{0, 0, 0x1f, 0xff, 0xff}, make([]byte, 10_000)...)
		return append(open(i, checkPath), frame(typeData, 0, stream(i), message)...)
	}), 2, floodLasts, "unfinished_bytes"},
	{"pings", repeat(300_000, func(uint32) []byte { return frame(typePing, 0, 0, make([]byte, 8)) }), 2, 0, "control_frames"},
	{"settings", repeat(300_000, func(uint32) []byte { return frame(typeSettings, 0, 0, nil) }), 2, 0, "control_frames"},
	{"settings of all windows", append(repeat(20_000, func(i uint32) []byte { return open(i, watchPath) }), repeat(50_000, func(i uint32) []byte {
		if i%100 == 0 {
			return answeredCall(20_000 + i/100)
		}
		return frame(typeSettings, 0, 0, []byte{0, 4, 0, 0, 1, byte(i)})
	})...), 2, floodLasts, "control_frames"},
	{"a chain of priorities", append(repeat(20_000, func(i uint32) []byte {
		parent := uint32(0)
		if i > 0 {
			parent = stream(i - 1)
		}
		return frame(typeHeaders, endHeaders|withPriority, stream(i),
			append(append(encoding.BigEndian.AppendUint32(nil, parent), 15), head(watchPath)...))
	}), repeat(100_000, func(i uint32) []byte {
		if i%500 == 0 {
			return answeredCall(20_000 + i/500)
		}
		return frame(typePriority, 0, stream(i%20_000),
			append(encoding.BigEndian.AppendUint32(nil, stream((i+10_000)%20_000)), 15))
	})...), 2, floodLasts, ""},
	{"large headers in few bytes", repeat(20_000, func(i uint32) []byte {
		if i == 0 { // its field is added to the decoder's dynamic table
			field := append([]byte{0x40, 1, 'k', 0x7f}, 0xbd, 0x1d) // 127 + 61 + 29 * 128 = 3,900
			return open(i, watchPath, append(field, strings.Repeat("v", 3_900)...)...)
		}
		return open(i, watchPath, 0xbe, 0xbe, 0xbe, 0xbe)
	}), 100, floodLasts, "streams_per_address"},
	{"headers beyond the limit", open(0, watchPath, append(append(
		[]byte{0x40, 1, 'k', 0x7f, 0xbd, 0x1d}, strings.Repeat("v", 3_900)...), bytes.Repeat([]byte{0xbe}, 12_000)...)...), 2, 0, "header_list"},
	{"empty data", append(open(0, checkPath), repeat(500_000, func(uint32) []byte {
		return frame(typeData, 0, 1, nil)
	})...), 2, 0, "control_frames"},
	{"padded data without a byte", append(open(0, checkPath), repeat(500_000, func(uint32) []byte {
		return frame(typeData, padded, 1, []byte{0})
	})...), 2, 0, "control_frames"},
	{"a message byte by byte", append(append(open(0, checkPath), frame(typeData, 0, 1, []byte{0, 0, 0x1f, 0xff, 0xff})...),
		repeat(500_000, func(uint32) []byte { return frame(typeData, 0, 1, []byte{0}) })...), 2, 0, "control_frames"},
	{"window updates", repeat(500_000, func(uint32) []byte { return frame(typeWindowUpdate, 0, 0, []byte{0, 0, 0, 1}) }), 2, 0, "control_frames"},
	{"frames of an unknown type", repeat(500_000, func(uint32) []byte { return frame(0x77, 0, 0, nil) }), 2, 0, "control_frames"},
	{"compressed messages", repeat(20_000, func(i uint32) []byte {
		return append(open(i, checkPath), frame(typeData, endStream, stream(i), []byte{1, 0, 0, 0, 3, 0x1f, 0x8b, 8})...)
	}), 2, 0, ""},
	{"connections without data", nil, 300, floodLasts, "handshakes_per_address"},
	connectAndReset,
}

var connectAndReset = flood{"connect and reset", nil, 6, 0, ""}

// send floods the scaler from one address with one connection after another until the context ends,
// and counts them.
func (f flood) send(ctx context.Context, address, from string, connected *atomic.Int64) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	for ctx.Err() == nil {
		connection, err := dialer.Dial("tcp", address)
		if err != nil {
			continue
		}
		connected.Add(1)
		end, _ := ctx.Deadline()
		connection.SetDeadline(end)
		if f.bytes == nil {
			connection.(*net.TCPConn).SetLinger(0) // it ends by a reset
		} else {
			// answers are read, so that the scaler never waits for the flooder
			go io.Copy(io.Discard, connection)
			connection.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(typeSettings, 0, 0, nil)...))
			connection.Write(f.bytes)
		}
		select {
		case <-ctx.Done():
		case <-time.After(f.stays):
		}
		connection.Close()
	}
}

// latencies are the times of a client's calls.
type latencies struct{ p50, p99, longest time.Duration }

func (l latencies) String() string {
	return fmt.Sprintf("p50 %v, p99 %v, longest %v", l.p50, l.p99, l.longest)
}

// measure sends requests until the context ends. Every call must be answered.
func measure(t *testing.T, ctx context.Context, client pb.ExternalScalerClient) latencies {
	t.Helper()
	var took []time.Duration
	for ctx.Err() == nil {
		begin := time.Now()
		reply, err := client.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: &pb.ScaledObjectRef{
			Name: "llm", Namespace: "ai", ScalerMetadata: map[string]string{"targetValue": "80", "scope": "node"}}})
		if err != nil || reply.MetricValues[0].MetricValueFloat != 50 {
			t.Errorf("a bystander's call: %v, %v", reply, err)
			break
		}
		took = append(took, time.Since(begin))
		time.Sleep(2 * time.Millisecond)
	}
	if len(took) == 0 {
		t.Fatal("no call was answered")
	}
	slices.Sort(took)
	measured := latencies{took[len(took)/2], took[len(took)*99/100], took[len(took)-1]}
	t.Logf("%d calls: %v", len(took), measured)
	return measured
}

func TestFloodsTakeLittleMemoryAndDelayNoOtherClient(t *testing.T) {
	for _, f := range floods {
		t.Run(f.name, func(t *testing.T) {
			// Other programs may use the CPU for a moment, so one of three attempts must pass.
			for try := 1; ; try++ {
				idle, busy, isLimited := f.effect(t)
				isFast := busy.p50 <= mostSlowdown*idle.p50 && busy.p99 <= mostSlowdownOf99*idle.p50 && busy.longest <= longestCall
				if isFast && isLimited || t.Failed() {
					return
				}
				if try == 3 && !isLimited {
					t.Fatalf("the limit %s is not counted", f.limit)
				}
				if try == 3 {
					t.Fatalf("a bystander's calls take %v; without the flood %v. At most %d times that p50, a p99 of %d times, and %v",
						busy, idle, mostSlowdown, mostSlowdownOf99, longestCall)
				}
			}
		})
	}
}

func TestFloodsTakeLittleMemoryOfAnAgent(t *testing.T) {
	const lasts = 500 * time.Millisecond
	agent := startFloodedAgent(t)
	for _, f := range floods {
		ctx, cancel := context.WithTimeout(t.Context(), lasts)
		all, _ := f.start(ctx, agent.address())
		all.Wait()
		cancel()
	}
	agent.survives(t)
}

// start floods the scaler from two addresses until the context ends. Returns a group that waits for
// all flooders, and the number of their connections.
func (f flood) start(ctx context.Context, address string) (*sync.WaitGroup, *atomic.Int64) {
	var all sync.WaitGroup
	var connected atomic.Int64
	for i := range f.connections {
		all.Go(func() { f.send(ctx, address, fmt.Sprint("127.0.3.", 10+i%2), &connected) })
	}
	return &all, &connected
}

func TestTheScalerEndsUnderAFloodOfConnections(t *testing.T) {
	within(t, 5*time.Second, "the scaler ends after SIGTERM", func() time.Duration {
		s := startScaler(t, newGpuFile(t, busyAt(50)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		all, connected := connectAndReset.start(ctx, s.address())
		eventually(t, "1,000 connections", func() bool { return connected.Load() >= 1000 })
		begin := time.Now()
		s.stop()
		took := time.Since(begin)
		cancel()
		all.Wait()
		return took
	})
}

// effect measures another client's calls before and during the flood. isLimited: the flood's limit
// was hit, if it has one.
func (f flood) effect(t *testing.T) (idle, busy latencies, isLimited bool) {
	const mostGrowth = 80 // MiB: two addresses with 24,000 streams each take most of it
	s := startScaler(t, newGpuFile(t, busyAt(50)))
	must(exec.Command("prlimit", fmt.Sprint("--pid=", s.process.Pid), "--as="+containerBytes).Output())
	connection := must(grpc.NewClient(s.address(), grpc.WithTransportCredentials(insecure.NewCredentials())))
	defer connection.Close()
	client := pb.NewExternalScalerClient(connection)
	calm, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	idle = measure(t, calm, client)
	before := s.peakMiB()
	ctx, cancel := context.WithTimeout(t.Context(), floodLasts)
	defer cancel()
	all, _ := f.start(ctx, s.address())
	busy = measure(t, ctx, client)
	all.Wait()
	grown := s.peakMiB() - before
	t.Logf("%d MiB, %d more than before", s.peakMiB(), grown)
	if grown > mostGrowth {
		t.Errorf("the scaler took %d MiB more", grown)
	}
	isLimited = f.limit == "" || s.hits(f.limit) > 0
	s.stop()
	return idle, busy, isLimited
}
