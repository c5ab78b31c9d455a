package contract

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/yaml"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
)

// example is a documented trigger on this scaler.
type example struct {
	where   string
	trigger kedav1alpha1.ScaleTriggers
}

var codeBlock = regexp.MustCompile("(?ms)^ *```ya?ml\n(.*?)^ *```$")

// examples returns those in deploy/examples, README.md and docs, as KEDA parses them. Unknown
// fields fail the test.
func examples(t *testing.T) []example {
	t.Helper()
	var all []example
	for _, start := range []string{"deploy/examples", "README.md", "docs"} {
		err := filepath.WalkDir(filepath.Join(root, start), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			for _, document := range documents(path) {
				all = append(all, triggersIn(t, path, document)...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func documents(path string) []string {
	text := string(must(os.ReadFile(path)))
	var texts []string
	switch filepath.Ext(path) {
	case ".yaml":
		texts = []string{text}
	case ".md":
		for _, block := range codeBlock.FindAllStringSubmatch(text, -1) {
			texts = append(texts, block[1])
		}
	}
	var all []string
	for _, text := range texts {
		all = append(all, strings.Split(text, "\n---")...)
	}
	return all
}

func triggersIn(t *testing.T, path, document string) []example {
	t.Helper()
	var triggers []kedav1alpha1.ScaleTriggers
	var err error
	switch kind(document) {
	case "ScaledObject":
		var object kedav1alpha1.ScaledObject
		err = yaml.UnmarshalStrict([]byte(document), &object)
		triggers = object.Spec.Triggers
	case "ScaledJob":
		var job kedav1alpha1.ScaledJob
		err = yaml.UnmarshalStrict([]byte(document), &job)
		triggers = job.Spec.Triggers
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", path, err, document)
	}
	var ours []example
	for _, one := range triggers {
		if strings.HasPrefix(one.Type, "external") {
			ours = append(ours, example{path, one})
		}
	}
	return ours
}

func kind(document string) string {
	var object struct {
		Kind string `json:"kind"`
	}
	if yaml.Unmarshal([]byte(document), &object) != nil {
		return ""
	}
	return object.Kind
}

// isExpected returns whether this is the answer of a scaler without pods, queues, gateways and
// engines.
func isExpected(metadata map[string]string, err error) bool {
	text := fmt.Sprint(err)
	if namesOwner(metadata) {
		return strings.Contains(text, noOwners)
	}
	if metadata["redisAddress"] != "" || metadata["prometheusEndpoint"] != "" {
		return strings.Contains(text, "code = Unavailable")
	}
	if metadata["engineEndpoint"] != "" && err != nil {
		// engines only; a pressure falls back on the GPUs
		return strings.Contains(text, "has no address")
	}
	return err == nil
}

// On a GPU with every reading, each example gives KEDA a target and a value. One that names its
// workload fails only for lack of a kubelet, one that names a queue or a gateway only for lack of
// that.
func TestEveryExampleIsUnderstoodByKedaAndTheScaler(t *testing.T) {
	t.Parallel()
	s := startScaler(t, newGpuFile(t, everyReading, everyReading))
	external(t, trigger(s, nil)).comesTo(answer{120, true})
	all := examples(t)
	for _, one := range all {
		config := trigger(s, nil)
		config.TriggerMetadata = maps.Clone(one.trigger.Metadata)
		config.TriggerMetadata["scalerAddress"] = s.address()
		delete(config.TriggerMetadata, "enableTLS") // its certificates are not in the manifest
		config.MetricType = one.trigger.MetricType
		config.ResolvedEnv["REDIS_PASSWORD"] = "hunter2"
		var c *client
		if one.trigger.Type == "external-push" {
			c = push(t, config).client
		} else {
			c = external(t, config)
		}
		spec := c.spec()
		_, err := c.ask()
		if !isExpected(one.trigger.Metadata, err) {
			t.Errorf("%s: %v\n%v", one.where, err, one.trigger.Metadata)
		}
		byValue := one.trigger.MetricType == v2.ValueMetricType
		if byValue != (one.trigger.Metadata["targetType"] == "Value") {
			t.Errorf("%s: metricType %q, targetType %q", one.where, one.trigger.MetricType,
				one.trigger.Metadata["targetType"])
		}
		t.Logf("%s: %s %v", strings.TrimPrefix(one.where, root), spec.Metric.Name, spec.Target)
	}
	if len(all) < 10 {
		t.Errorf("only %d examples were found", len(all))
	}
}
