package contract

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	v2 "k8s.io/api/autoscaling/v2"
	"k8s.io/metrics/pkg/apis/external_metrics"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
)

// callTimeout is the timeout of a call that hangs. KEDA itself sets no deadline, so its ScaledObject
// would hang for good. The scaler answers within 2 s, or later on a busy machine.
const callTimeout = timeout

var objects atomic.Int32

// trigger is KEDA's configuration of a ScaledObject with one external trigger on this scaler. Its
// windows are short and its GPUs warm unless the metadata overrides that.
func trigger(s *scaler, metadata map[string]string) *scalersconfig.ScalerConfig {
	return triggerOn(s.address(), metadata)
}

func triggerOn(address string, metadata map[string]string) *scalersconfig.ScalerConfig {
	all := map[string]string{"scalerAddress": address, "window": "0s", "activationWindow": "0s"}
	maps.Copy(all, metadata)
	return &scalersconfig.ScalerConfig{
		ScalableObjectName:      fmt.Sprintf("llm-%d", objects.Add(1)),
		ScalableObjectNamespace: "prod",
		TriggerMetadata:         all,
		ResolvedEnv:             map[string]string{},
		AuthParams:              map[string]string{},
	}
}

// client is KEDA's scaler for one trigger.
type client struct {
	t      *testing.T
	config *scalersconfig.ScalerConfig
	scalers.Scaler
}

// answer is the result of a KEDA poll: GetMetrics and IsActive.
type answer struct {
	value  float64
	active bool
}

func external(t *testing.T, config *scalersconfig.ScalerConfig) *client {
	t.Helper()
	made, err := scalers.NewExternalScaler(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { made.Close(context.Background()) })
	return &client{t, config, made}
}

// specs returns the metric specs for KEDA's HPA; none if the scaler did not answer.
func (c *client) specs() []v2.MetricSpec {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	return c.GetMetricSpecForScaling(ctx)
}

// spec returns the only metric spec.
func (c *client) spec() *v2.ExternalMetricSource {
	c.t.Helper()
	specs := c.specs()
	if len(specs) != 1 {
		c.t.Fatalf("%d metric specs, want 1: %v", len(specs), specs)
	}
	return specs[0].External
}

func (c *client) metricName() string {
	return scalers.GenerateMetricNameWithIndex(c.config.TriggerIndex, "keda_gpu_metric")
}

// ask polls once.
func (c *client) ask() (answer, error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	values, active, err := c.GetMetricsAndActivity(ctx, c.metricName())
	return answerOf(values, active, err)
}

func answerOf(values []external_metrics.ExternalMetricValue, active bool, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	if len(values) != 1 {
		return answer{}, fmt.Errorf("%d values, want 1, for the HPA adds them up: %v", len(values), values)
	}
	return answer{float64(values[0].Value.MilliValue()) / 1000, active}, nil
}

// comesTo polls until this is the answer.
func (c *client) comesTo(want answer) {
	c.t.Helper()
	var got answer
	var err error
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(pollInterval / 5) {
		if got, err = c.ask(); err == nil && got == want {
			return
		}
	}
	c.t.Fatalf("metadata %v: %+v (%v), want %+v", c.config.TriggerMetadata, got, err, want)
}
