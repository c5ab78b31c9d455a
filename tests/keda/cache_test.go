package contract

import (
	"context"
	"testing"

	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/kedacore/keda/v2/pkg/scaling/cache"
)

// cached is a trigger in KEDA's cache of scalers, used as by KEDA's loop and its metrics server.
// After an error KEDA builds the scaler anew and calls it once more. The second error is shown by
// `kubectl describe scaledobject`.
type cached struct {
	*client
	cache *cache.ScalersCache
}

func inCache(t *testing.T, config *scalersconfig.ScalerConfig) *cached {
	t.Helper()
	build := func(context.Context) (scalers.Scaler, *scalersconfig.ScalerConfig, error) {
		made, err := scalers.NewExternalScaler(config)
		return made, config, err
	}
	first, _, err := build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &cached{&client{t, config, first}, &cache.ScalersCache{
		Scalers: []cache.ScalerBuilder{{Scaler: first, ScalerConfig: *config, Factory: build}}}}
	t.Cleanup(func() { c.cache.Close(context.Background()) })
	return c
}

// ask polls once.
func (c *cached) ask() (answer, error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	values, active, _, err := c.cache.GetMetricsAndActivityForScaler(ctx, 0, c.metricName())
	return answerOf(values, active, err)
}

func (c *cached) specs() int {
	c.t.Helper()
	specs, err := c.cache.GetMetricSpecForScalingForScaler(c.t.Context(), 0)
	if err != nil {
		c.t.Log(err)
	}
	return len(specs)
}
