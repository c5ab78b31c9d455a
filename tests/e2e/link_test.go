package e2e

import (
	"io"
	"net"
	"sync"
	"testing"
)

// link is a TCP relay on loopback from a client to a server, which a test can cut and restore.
type link struct {
	address string
	server  string

	mutex  sync.Mutex
	isCut  bool
	opened map[net.Conn]bool
}

func newLink(t *testing.T, server string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{address: listener.Addr().String(), server: server, opened: map[net.Conn]bool{}}
	t.Cleanup(func() {
		listener.Close()
		l.cut()
	})
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go l.relay(client)
		}
	}()
	return l
}

// cut closes all connections, and new ones immediately.
func (l *link) cut() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.isCut = true
	for client := range l.opened {
		client.Close()
	}
}

func (l *link) restore() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.isCut = false
}

func (l *link) relay(client net.Conn) {
	defer client.Close()
	if !l.open(client) {
		return
	}
	defer l.close(client)
	server, err := net.Dial("tcp", l.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		io.Copy(server, client)
		server.Close()
	}()
	io.Copy(client, server)
}

func (l *link) open(client net.Conn) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.isCut {
		l.opened[client] = true
	}
	return !l.isCut
}

func (l *link) close(client net.Conn) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.opened, client)
}
