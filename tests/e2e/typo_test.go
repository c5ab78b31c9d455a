package e2e

import (
	"strings"
	"testing"
	"time"
)

func TestTypoInMetadataIsNamedAndOtherTriggersGoOn(t *testing.T) {
	t.Parallel()
	w := newWorkload(t, "typo", start{signals: 2, replicas: 1})
	up := w.signals(60)
	w.scale(scaledObject{min: 1, max: 8, triggers: []any{
		w.signal(0, target(20)), w.signal(1, map[string]string{"agregation": "max"})}})
	w.line.reaches(3, timeout)
	w.line.risesOnly(up)
	w.line.stays(3 * time.Second)
	eventually(t, timeout, "an event that names the key", func() bool {
		return strings.Contains(describe(t, w.namespace, "llm"), "agregation")
	})
	if output := describe(t, w.namespace, "llm"); !strings.Contains(output, `did you mean "aggregation"`) {
		t.Errorf("not what was meant in\n%s", output)
	}
}
