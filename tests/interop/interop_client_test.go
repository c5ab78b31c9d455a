// Runs our client's interoperability cases against grpc-go's server: plain text, TLS, a unix socket.
package interop_test

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

const client = "../../build/dev/tests/interop/interop_client"

func serveGo(t *testing.T, network, address string, options ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	testgrpc.RegisterTestServiceServer(server, interop.NewTestServer())
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func runClientCases(t *testing.T, args ...string) {
	for _, name := range []string{
		"empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong",
		"empty_stream", "cancel_after_begin", "cancel_after_first_response",
		"timeout_on_sleeping_server", "status_code_and_message", "special_status_message",
		"custom_metadata", "unimplemented_method", "unimplemented_service",
	} {
		t.Run(name, func(t *testing.T) {
			process := exec.CommandContext(t.Context(), client, append([]string{args[0], name}, args[1:]...)...)
			process.WaitDelay = time.Second
			if output, err := process.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
}

func TestClientPlainText(t *testing.T) {
	runClientCases(t, serveGo(t, "tcp", "127.0.0.1:0"))
}

func TestClientTLS(t *testing.T) {
	certificate, key := selfSigned(t)
	transport, err := credentials.NewServerTLSFromFile(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	runClientCases(t, serveGo(t, "tcp", "127.0.0.1:0", grpc.Creds(transport)), certificate)
}

func TestClientUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grpc.sock")
	serveGo(t, "unix", path)
	runClientCases(t, "unix:"+path)
}
