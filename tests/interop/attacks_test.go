// Attacks by single clients: the server must keep its memory small, and answer everybody else.
package interop_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

const (
	attackLasts = 3 * time.Second
	attackers   = 2
	mostMemory  = 160 << 10 // KiB: 2 connections with 24,000 streams each take most of it
	// The attackers and the bystander share the processors with the server.
	mostSlowdown = 100
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// HTTP/2's frames (RFC 9113, section 6).
const (
	typeData         = 0
	typeHeaders      = 1
	typePriority     = 2
	typeReset        = 3
	typeSettings     = 4
	typePing         = 6
	typeContinuation = 9
	endStream        = 1
	endHeaders       = 4
	withPriority     = 32
)

func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = append(head, flags)
	head = binary.BigEndian.AppendUint32(head, stream)
	return append(head, payload...)
}

// literal is a header field without indexing (RFC 7541, section 6.2.2), of less than 127 bytes each.
func literal(name, value string) []byte {
	field := append([]byte{0, byte(len(name))}, name...)
	return append(append(field, byte(len(value))), value...)
}

// request has the headers of a call of EmptyCall.
func request() []byte { return requestOf("/grpc.testing.TestService/EmptyCall") }

// sleepingRequest has those of a call that waits for its messages.
func sleepingRequest() []byte { return requestOf("/grpc.testing.TestService/FullDuplexCall") }

func requestOf(path string) []byte {
	fields := append([]byte{0x83, 0x86, 0x04, byte(len(path))}, path...) // POST, http, :path
	fields = append(fields, 0x01, 1, 'a')                                // :authority
	fields = append(fields, literal("content-type", "application/grpc")...)
	return append(fields, literal("te", "trailers")...)
}

func repeat(count int, one func(i uint32) []byte) []byte {
	var all bytes.Buffer
	for i := range count {
		all.Write(one(uint32(i)))
	}
	return all.Bytes()
}

func stream(i uint32) uint32 { return 1 + 2*i }

type attackOn struct {
	name  string
	bytes []byte
	// The connection stays open so long after its bytes have gone.
	stays time.Duration
}

var attacks = []attackOn{
	{"rapid reset", repeat(100_000, func(i uint32) []byte {
		return append(frame(typeHeaders, endHeaders, stream(i), request()),
			frame(typeReset, 0, stream(i), []byte{0, 0, 0, 8})...)
	}), 0},
	{"endless continuation", append(frame(typeHeaders, 0, 1, request()),
		repeat(50_000, func(i uint32) []byte {
			return frame(typeContinuation, 0, 1, literal(fmt.Sprint("x", i%1000), "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"))
		})...), 0},
	{"one endless header", append(frame(typeHeaders, 0, 1, []byte{0, 0x7f, 0xff, 0xff, 0xff, 0x1f}),
		repeat(4_000, func(uint32) []byte {
			return frame(typeContinuation, 0, 1, bytes.Repeat([]byte("a"), 16_000))
		})...), 0},
	{"100,000 streams", repeat(50_000, func(i uint32) []byte {
		return frame(typeHeaders, endHeaders, stream(i), request())
	}), attackLasts},
	{"unfinished messages", repeat(20_000, func(i uint32) []byte {
		message := append([]byte{0, 0, 0x1f, 0xff, 0xff}, make([]byte, 10_000)...)
		return append(frame(typeHeaders, endHeaders, stream(i), request()),
			frame(typeData, 0, stream(i), message)...)
	}), attackLasts},
	{"pings", repeat(300_000, func(uint32) []byte { return frame(typePing, 0, 0, make([]byte, 8)) }), 0},
	{"settings", repeat(300_000, func(uint32) []byte { return frame(typeSettings, 0, 0, nil) }), 0},
	{"settings of all windows", append(repeat(20_000, func(i uint32) []byte {
		return frame(typeHeaders, endHeaders, stream(i), sleepingRequest())
	}), repeat(50_000, func(i uint32) []byte {
		if i%100 == 0 { // its answer is one that the client asked for
			return frame(typeHeaders, endHeaders|endStream, stream(20_000+i/100), request())
		}
		return frame(typeSettings, 0, 0, []byte{0, 4, 0, 0, 1, byte(i)})
	})...), attackLasts},
	{"a chain of priorities", append(repeat(20_000, func(i uint32) []byte {
		parent := uint32(0)
		if i > 0 {
			parent = stream(i - 1)
		}
		return frame(typeHeaders, endHeaders|withPriority, stream(i),
			append(append(binary.BigEndian.AppendUint32(nil, parent), 15), sleepingRequest()...))
	}), repeat(100_000, func(i uint32) []byte {
		if i%500 == 0 {
			return frame(typeHeaders, endHeaders|endStream, stream(20_000+i/500), request())
		}
		return frame(typePriority, 0, stream(i%20_000),
			append(binary.BigEndian.AppendUint32(nil, stream((i+10_000)%20_000)), 15))
	})...), attackLasts},
	{"large headers in few bytes", repeat(20_000, func(i uint32) []byte {
		if i == 0 { // its field enters the table of the server's decoder
			value := strings.Repeat("v", 3_900)
			field := append([]byte{0x40, 1, 'k', 0x7f}, 0xbd, 0x1d) // 127 + 61 + 29 * 128 = 3,900
			return frame(typeHeaders, endHeaders, stream(i), append(sleepingRequest(), append(field, value...)...))
		}
		return frame(typeHeaders, endHeaders, stream(i), append(sleepingRequest(), 0xbe, 0xbe, 0xbe, 0xbe))
	}), attackLasts},
	{"empty data", append(frame(typeHeaders, endHeaders, 1, request()),
		repeat(500_000, func(uint32) []byte { return frame(typeData, 0, 1, nil) })...), 0},
}

// attack sends the bytes on one connection after the other until the context ends, from an address
// other than the bystander's.
func attack(ctx context.Context, address string, bytes []byte, stays time.Duration) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	for ctx.Err() == nil {
		connection, err := dialer.Dial("tcp", address)
		if err != nil {
			continue
		}
		end, _ := ctx.Deadline()
		connection.SetDeadline(end)
		go func() { // answers are read, so that the server never waits for the attacker
			buffer := make([]byte, 1<<16)
			for {
				if _, err := connection.Read(buffer); err != nil {
					return
				}
			}
		}()
		connection.Write([]byte(preface))
		connection.Write(frame(typeSettings, 0, 0, nil))
		connection.Write(bytes)
		select {
		case <-ctx.Done():
		case <-time.After(stays):
		}
		connection.Close()
	}
}

// medianLatency calls until the context ends. Every call must be answered.
func medianLatency(t *testing.T, ctx context.Context, client testgrpc.TestServiceClient) time.Duration {
	t.Helper()
	var took []time.Duration
	for ctx.Err() == nil {
		begin := time.Now()
		if _, err := client.EmptyCall(t.Context(), &testgrpc.Empty{}); err != nil {
			t.Errorf("a bystander's call: %v", err)
			break
		}
		took = append(took, time.Since(begin))
		time.Sleep(2 * time.Millisecond)
	}
	if len(took) == 0 {
		t.Fatal("no call was answered")
	}
	slices.Sort(took)
	t.Logf("%d calls: p50 %v, p99 %v", len(took), took[len(took)/2], took[len(took)*99/100])
	return took[len(took)/2]
}

func peakMemory(t *testing.T, process int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	if err != nil {
		t.Fatal(err)
	}
	peak, err := strconv.Atoi(string(regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(status)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return peak
}

func TestAttacks(t *testing.T) {
	for _, one := range attacks {
		t.Run(one.name, func(t *testing.T) {
			// Other programs may take the processors for a moment: one try of three must do.
			for try := 1; ; try++ {
				slowdown := slowdownUnder(t, one)
				if slowdown <= mostSlowdown || t.Failed() {
					return
				}
				if try == 3 {
					t.Fatalf("a bystander's call takes %.0f times as long as without the attack", slowdown)
				}
			}
		})
	}
}

// slowdownUnder returns how many times as long as before a bystander's call takes under the attack.
func slowdownUnder(t *testing.T, one attackOn) float64 {
	address, process := startServer(t)
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client := testgrpc.NewTestServiceClient(connection)
	calm, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	idle := medianLatency(t, calm, client)
	ctx, cancel := context.WithTimeout(t.Context(), attackLasts)
	defer cancel()
	var all sync.WaitGroup
	for range attackers {
		all.Go(func() { attack(ctx, address, one.bytes, one.stays) })
	}
	busy := medianLatency(t, ctx, client)
	all.Wait()
	peak := peakMemory(t, process)
	t.Logf("peak %d MiB", peak>>10)
	if peak > mostMemory {
		t.Errorf("the server took %d KiB", peak)
	}
	return float64(busy) / float64(idle)
}
