package contract

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// rssKiB returns the process's present memory.
func (s *scaler) rssKiB() int {
	status := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Pid))))
	_, after, _ := strings.Cut(status, "VmRSS:")
	return must(strconv.Atoi(strings.Fields(after)[0]))
}

// After many streams have ended, an aggregator returns their memory to the system.
func TestMemoryOfStreamsThatEndedGoesBackToTheSystem(t *testing.T) {
	t.Parallel()
	const streams = 16_000
	s := startScaler(t, newGpuFile(t, unused()))
	before := s.rssKiB()
	connection := must(grpc.NewClient(s.address(), grpc.WithTransportCredentials(insecure.NewCredentials())))
	client := pb.NewExternalScalerClient(connection)
	// All of one trigger, because decisions of triggers are kept after their streams.
	for i := range streams {
		stream := must(client.StreamIsActive(context.Background(), &pb.ScaledObjectRef{
			Name: "llm", Namespace: "ai", ScalerMetadata: map[string]string{"targetValue": "80"}}))
		if i == streams-1 {
			must(stream.Header())
		}
	}
	eventually(t, "all are open", func() bool { return s.streamsOpen("StreamIsActive") == streams })
	grown := s.rssKiB() - before
	if grown < streams {
		t.Fatalf("%d streams took %d KiB: less than makes a difference to be seen", streams, grown)
	}
	connection.Close()
	eventually(t, "most of the memory is the system's again", func() bool { return s.rssKiB()-before < grown/2 })
	t.Logf("%d KiB, %d with %d streams, %d after", before, before+grown, streams, s.rssKiB())
}
