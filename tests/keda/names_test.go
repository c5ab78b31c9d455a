package contract

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// resolutionInterval is the minimum between two lookups of a KEDA channel's name: 30 s in KEDA,
// gRPC's default.
const resolutionInterval = 100 * time.Millisecond

// nameServer answers for the names of Services, for all of this process.
var nameServer = &names{addresses: map[string][]string{}, failed: map[string]int{}}

type names struct {
	mutex     sync.Mutex
	addresses map[string][]string
	failed    map[string]int // number of queries for a name that is to fail
}

// set makes a name resolve to these addresses, as a headless Service's does to its pods.
func (n *names) set(name string, addresses ...string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.addresses[name+"."] = addresses
	delete(n.failed, name+".")
}

// fail makes a name fail with SERVFAIL until it is set again.
func (n *names) fail(name string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.failed[name+"."] = 0
}

func (n *names) failures(name string) int {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.failed[name+"."]
}

func (n *names) of(name string) ([]string, dnsmessage.RCode) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	name = strings.ToLower(name)
	if _, fails := n.failed[name]; fails {
		n.failed[name]++
		return nil, dnsmessage.RCodeServerFailure
	}
	found, known := n.addresses[name]
	if !known {
		return nil, dnsmessage.RCodeNameError
	}
	return found, dnsmessage.RCodeSuccess
}

// useOurNameServer makes the resolver of KEDA's channels use our server.
func useOurNameServer() {
	server := must(net.ListenPacket("udp", "127.0.0.1:0"))
	go serveNames(server)
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, "udp", server.LocalAddr().String())
		},
	}
}

func serveNames(server net.PacketConn) {
	packet := make([]byte, 512)
	for {
		size, from, err := server.ReadFrom(packet)
		if err != nil {
			return
		}
		var message dnsmessage.Message
		if message.Unpack(packet[:size]) == nil && len(message.Questions) == 1 {
			answerQuestion(&message)
			server.WriteTo(must(message.Pack()), from)
		}
	}
}

func answerQuestion(message *dnsmessage.Message) {
	question := message.Questions[0]
	message.Header = dnsmessage.Header{ID: message.ID, Response: true, Authoritative: true,
		RecursionDesired: message.RecursionDesired, RecursionAvailable: true}
	message.Additionals = nil
	addresses, code := nameServer.of(question.Name.String())
	message.RCode = code
	if question.Type != dnsmessage.TypeA {
		return
	}
	for _, address := range addresses {
		message.Answers = append(message.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA,
				Class: dnsmessage.ClassINET},
			Body: &dnsmessage.AResource{A: netip.MustParseAddr(address).As4()},
		})
	}
}
