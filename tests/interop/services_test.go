// Calls our health and reflection services with grpc-go's clients.
package interop_test

import (
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionalpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

func connect(t *testing.T) *grpc.ClientConn {
	t.Helper()
	address := startServer(t)
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

func TestHealth(t *testing.T) {
	client := healthgrpc.NewHealthClient(connect(t))
	checked, err := client.Check(t.Context(), &healthgrpc.HealthCheckRequest{})
	if err != nil || checked.GetStatus() != healthgrpc.HealthCheckResponse_SERVING {
		t.Errorf("Check: %v, %v", checked, err)
	}
	_, err = client.Check(t.Context(), &healthgrpc.HealthCheckRequest{Service: "a"})
	if status.Code(err) != codes.NotFound {
		t.Errorf("Check of an unknown service: %v", err)
	}
	watch, err := client.Watch(t.Context(), &healthgrpc.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	watched, err := watch.Recv()
	if err != nil || watched.GetStatus() != healthgrpc.HealthCheckResponse_SERVING {
		t.Errorf("Watch: %v, %v", watched, err)
	}
}

// checkServices fails unless both services of the server are listed.
func checkServices(t *testing.T, listed []string) {
	t.Helper()
	if want := []string{"grpc.health.v1.Health", "grpc.testing.TestService"}; !slices.Equal(listed, want) {
		t.Errorf("listed %v, want %v", listed, want)
	}
}

// checkHealthFile fails unless the only file has the health service.
func checkHealthFile(t *testing.T, files [][]byte) {
	t.Helper()
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	var file descriptorpb.FileDescriptorProto
	if err := proto.Unmarshal(files[0], &file); err != nil {
		t.Fatal(err)
	}
	if got := file.GetPackage() + "." + file.GetService()[0].GetName(); got != "grpc.health.v1.Health" {
		t.Errorf("the file has %v", got)
	}
}

func TestReflection(t *testing.T) {
	stream, err := reflection.NewServerReflectionClient(connect(t)).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(request *reflection.ServerReflectionRequest) *reflection.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	var listed []string
	for _, each := range ask(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{},
	}).GetListServicesResponse().GetService() {
		listed = append(listed, each.GetName())
	}
	checkServices(t, listed)
	symbol := func(name string) *reflection.ServerReflectionResponse {
		return ask(&reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
		})
	}
	checkHealthFile(t, symbol("grpc.health.v1.Health").GetFileDescriptorResponse().GetFileDescriptorProto())
	if code := symbol("no.such").GetErrorResponse().GetErrorCode(); codes.Code(code) != codes.NotFound {
		t.Errorf("an unknown symbol has code %v", code)
	}
}

func TestReflectionAlpha(t *testing.T) {
	stream, err := reflectionalpha.NewServerReflectionClient(connect(t)).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(request *reflectionalpha.ServerReflectionRequest) *reflectionalpha.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	var listed []string
	for _, each := range ask(&reflectionalpha.ServerReflectionRequest{
		MessageRequest: &reflectionalpha.ServerReflectionRequest_ListServices{},
	}).GetListServicesResponse().GetService() {
		listed = append(listed, each.GetName())
	}
	checkServices(t, listed)
	checkHealthFile(t, ask(&reflectionalpha.ServerReflectionRequest{
		MessageRequest: &reflectionalpha.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "grpc.health.v1.Health",
		},
	}).GetFileDescriptorResponse().GetFileDescriptorProto())
}
