package contract

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// KEDA has one connection for all of its triggers. No limit on clients may affect it, even if the
// deadlines of thousands of calls pass together.
func TestTenThousandPushTriggersOnOneConnectionHitNoLimit(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, unused()))
	connection := must(grpc.NewClient(s.address(), grpc.WithTransportCredentials(insecure.NewCredentials())))
	defer connection.Close()
	client := pb.NewExternalScalerClient(connection)
	if !expireTogether(t, s, client, 15*time.Second) && !expireTogether(t, s, client, time.Minute) {
		t.Fatal("the streams could not be open all at once")
	}
	if state := connection.GetState(); state != connectivity.Ready {
		t.Errorf("the connection is %v", state)
	}
	must(client.GetMetricSpec(t.Context(), &pb.ScaledObjectRef{
		Name: "llm", Namespace: "ai", ScalerMetadata: map[string]string{"targetValue": "80"}}))
	for _, limit := range []string{"resets", "control_frames", "streams", "streams_per_address", "unfinished_bytes", "unread_bytes"} {
		if hits := s.metric(fmt.Sprintf(`keda_gpu_scaler_grpc_limits_total{limit="%s"}`, limit)); hits != 0 {
			t.Errorf("the limit %s was hit %d times", limit, hits)
		}
	}
}

// expireTogether opens 10,000 streams that end together. Returns false if that took longer than
// `timeout`.
func expireTogether(t *testing.T, s *scaler, client pb.ExternalScalerClient, timeout time.Duration) bool {
	t.Helper()
	const triggers = 10_000
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var ended sync.WaitGroup
	for i := range triggers {
		stream, err := client.StreamIsActive(ctx, &pb.ScaledObjectRef{
			Name: fmt.Sprint("llm-", i), Namespace: "ai", ScalerMetadata: map[string]string{"targetValue": "80"}})
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		if err != nil {
			break
		}
		ended.Go(func() {
			if _, err := stream.Recv(); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("trigger %d: %v", i, err)
			}
		})
	}
	areOpen := false
	for !areOpen && ctx.Err() == nil {
		areOpen = s.streamsOpen("StreamIsActive") == triggers
		time.Sleep(50 * time.Millisecond)
	}
	ended.Wait()
	eventually(t, "none is open", func() bool { return s.streamsOpen("StreamIsActive") == 0 })
	return areOpen
}
