package contract

import (
	"maps"
	"strings"
	"testing"
)

// oneValue has a valid value for each metadata key.
var oneValue = map[string]string{
	"profile": "batch", "metricType": "gpu_utilization", "targetValue": "70",
	"targetGpuUtilization": "70", "targetMemoryUtilization": "70", "targetType": "Value",
	"activationThreshold": "5", "scope": "node", "gpuIndex": "0", "gpusPerReplica": "1",
	"aggregation": "p95", "replicaAggregation": "min", "window": "10s", "windowAggregation": "max",
	"activationWindow": "20s", "warmupSeconds": "0", "preallocationWindow": "90s",
	"engineFallback": "activity", "maxConcurrency": "64", "scaleIn": "hold", "metricName": "ours",
	"pollIntervalSeconds": "5", "workload": "Deployment/llm", "podRegex": "llm-.*",
}

// Complete demand triggers; each key is tested by itself. Their sources do not exist.
var (
	anEngine = map[string]string{"metricType": "requests_in_flight", "targetValue": "10", "scope": "fleet",
		"engineEndpoint": "http://llm:8000", "engine": "vllm", "model": "llama", "frozenWindow": "2m"}
	anEngineProfile = map[string]string{"profile": "vllm-inference", "scope": "fleet", "engineEndpoint": "http://llm:8000",
		"demand": "observe", "ttftSloMs": "1000", "tpotSloMs": "50"}
	aPage = map[string]string{"metricType": "prometheus", "targetValue": "8",
		"prometheusEndpoint": "https://gateway:9090/metrics", "prometheusMetric": "queue_size{pool=\"chat\"}",
		"prometheusKind": "rate", "prometheusAbsent": "0", "bearerToken": "t", "endpointCa": newAuthority().pem, "window": "15s"}
	aStream = map[string]string{"metricType": "redis_stream_lag", "jobsPerReplica": "5", "redisAddress": "redis:6379",
		"redisStream": "jobs", "redisConsumerGroup": "workers", "redisDatabase": "1", "redisTls": "true",
		"redisUsername": "u", "redisPassword": "p"}
	aList = map[string]string{"metricType": "redis_list_length", "targetValue": "5", "redisAddress": "redis:6379",
		"redisList": "jobs", "credentials": "jobs"}
	aGateway = map[string]string{"profile": "vllm-inference", "engineEndpoint": "http://llm:8000",
		"gatewayUrl": "http://gateway:9090/metrics", "prometheusMetric": "queue_size"}
	ofReference = []map[string]string{
		{"metricType": "vllm_queue_depth", "scope": "fleet", "vllmEndpoint": "http://llm:8000"},
		{"metricType": "triton_request_rate", "scope": "fleet", "tritonEndpoint": "http://llm:8002"}}
)

// triggerOnDemand returns the trigger that has the key, or nil.
func triggerOnDemand(key string) map[string]string {
	for _, one := range append(ofReference, anEngine, anEngineProfile, aPage, aStream, aList, aGateway) {
		if one[key] != "" {
			return one
		}
	}
	return nil
}

// noOwners is the error for such a key if no kubelet reports GPU holders: the key itself was
// accepted.
const noOwners = "need the holders of GPUs"

func namesOwner(metadata map[string]string) bool {
	for _, key := range []string{"workload", "podRegex"} {
		if metadata[key] != "" || metadata[key+"FromEnv"] != "" {
			return true
		}
	}
	return false
}

func TestEveryKeyMayComeFromTheEnvironment(t *testing.T) {
	t.Parallel()
	// if one were in use, engines without an address would be unknown
	s := startScaler(t, newGpuFile(t, unused()))
	for _, row := range referenceTable(t, "key") {
		key := row["key"]
		t.Run(key, func(t *testing.T) {
			metadata, onDemand := map[string]string{}, false
			value, known := oneValue[key]
			if !known {
				metadata = maps.Clone(triggerOnDemand(key))
				value, onDemand = metadata[key]
			}
			if value == "" {
				t.Fatal("the reference has a key that this test has no value of")
			}
			metadata[key+"FromEnv"] = "THE_VARIABLE"
			config := trigger(s, metadata)
			delete(config.TriggerMetadata, key)
			config.ResolvedEnv["THE_VARIABLE"] = value
			got, err := external(t, config).ask()
			// A name without addresses has no engine; a queue without an address is unknown.
			if onDemand && metadata["scope"] != "fleet" {
				if err == nil || !strings.Contains(err.Error(), "code = Unavailable") {
					t.Errorf("%sFromEnv as %q: %+v, %v; want Unavailable", key, value, got, err)
				}
			} else if namesOwner(config.TriggerMetadata) {
				if err == nil || !strings.Contains(err.Error(), noOwners) {
					t.Errorf("%sFromEnv as %q: %+v, %v; want %q", key, value, got, err, noOwners)
				}
			} else if err != nil {
				t.Errorf("%sFromEnv as %q: %+v, %v", key, value, got, err)
			}
		})
	}
}

func TestValueFromTheEnvironmentCounts(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	for _, test := range []struct {
		name     string
		metadata map[string]string
		target   string
	}{
		{"alone", map[string]string{"targetValueFromEnv": "TARGET"}, "40"},
		{"beside the plain key, which wins", map[string]string{"targetValueFromEnv": "TARGET",
			"targetValue": "60"}, "60"},
		{"of a variable that is not set: KEDA drops the key",
			map[string]string{"targetValueFromEnv": "NO_SUCH"}, "80"},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := trigger(s, test.metadata)
			config.ResolvedEnv["TARGET"] = "40"
			c := external(t, config)
			if got := c.spec().Target.AverageValue.String(); got != test.target {
				t.Errorf("target %s, want %s", got, test.target)
			}
			c.comesTo(answer{90, true})
		})
	}
}

// The value may be a secret that was given to the wrong key.
func TestBadValueFromTheEnvironmentIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	for _, key := range []string{"targetValueFromEnv", "tokenFromEnv", "profileFromEnv"} {
		config := trigger(s, map[string]string{key: "SECRET"})
		config.ResolvedEnv["SECRET"] = "hunter2"
		_, err := external(t, config).ask()
		if err == nil || !strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want an error that names the key and not the value", key, err)
		}
	}
	if log := s.log.String(); strings.Contains(log, "hunter2") {
		t.Errorf("the secret is logged:\n%s", log)
	}
}

func TestKedasOwnKeysAreIgnored(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, busyAt(90)))
	external(t, trigger(s, map[string]string{
		"enableTLS": "false", "unsafeSsl": "false", "tlsCertFile": "/certs/ca.crt", "caCert": "ca",
		"tlsClientCert": "cert", "tlsClientKey": "key",
	})).comesTo(answer{90, true})
}
