// Runs grpc-go's interoperability cases against our server, in plain text, over TLS and over a unix socket.
package interop_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

const server = "../../build/dev/tests/interop/interop_server"

// startServer returns the server's address. The server ends with the test and must then exit with
// 0.
func startServer(t *testing.T, args ...string) string {
	t.Helper()
	process := exec.Command(server, args...)
	process.Stderr = os.Stderr
	input, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		if err := process.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	port, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the server has no port: %v", err)
	}
	return "127.0.0.1:" + strings.TrimSpace(port)
}

// A failing gRPC case ends the whole test program.
func runCases(t *testing.T, address string, transport credentials.TransportCredentials) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(transport))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client := testgrpc.NewTestServiceClient(connection)
	for _, one := range []struct {
		name string
		run  func(context.Context, testgrpc.TestServiceClient, ...grpc.CallOption)
	}{
		{"empty_unary", interop.DoEmptyUnaryCall},
		{"large_unary", interop.DoLargeUnaryCall},
		{"client_streaming", interop.DoClientStreaming},
		{"server_streaming", interop.DoServerStreaming},
		{"ping_pong", interop.DoPingPong},
		{"empty_stream", interop.DoEmptyStream},
		{"timeout_on_sleeping_server", interop.DoTimeoutOnSleepingServer},
		{"cancel_after_begin", interop.DoCancelAfterBegin},
		{"cancel_after_first_response", interop.DoCancelAfterFirstResponse},
		{"status_code_and_message", interop.DoStatusCodeAndMessage},
		{"special_status_message", interop.DoSpecialStatusMessage},
		{"custom_metadata", interop.DoCustomMetadata},
		{"unimplemented_method", func(ctx context.Context, _ testgrpc.TestServiceClient, _ ...grpc.CallOption) {
			interop.DoUnimplementedMethod(ctx, connection)
		}},
		{"unimplemented_service", func(ctx context.Context, _ testgrpc.TestServiceClient, _ ...grpc.CallOption) {
			interop.DoUnimplementedService(ctx, testgrpc.NewUnimplementedServiceClient(connection))
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			one.run(ctx, client)
		})
	}
}

func TestPlainText(t *testing.T) {
	address := startServer(t)
	runCases(t, address, insecure.NewCredentials())
}

func TestTLS(t *testing.T) {
	certificate, key := selfSigned(t)
	pool := x509.NewCertPool()
	text, err := os.ReadFile(certificate)
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatalf("no certificate: %v", err)
	}
	address := startServer(t, "--tls", certificate, key)
	runCases(t, address, credentials.NewTLS(&tls.Config{RootCAs: pool}))
}

func TestUnixSocket(t *testing.T) {
	folder, err := os.MkdirTemp("", "wire") // t.TempDir() may be too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	path := filepath.Join(folder, "s")
	t.Cleanup(func() { // after the server's end
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the socket's file is still there: %v", err)
		}
	})
	startServer(t, "--unix", path)
	runCases(t, "unix:"+path, insecure.NewCredentials())
}

// selfSigned returns the files of a certificate for 127.0.0.1 and of its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(t.TempDir(), name)
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("tls.crt", "CERTIFICATE", signed), write("tls.key", "PRIVATE KEY", encoded)
}
