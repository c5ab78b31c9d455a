package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	yamlBlock     = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	scalerAddress = regexp.MustCompile(`scalerAddress: (\S+?)(?:\.svc\.cluster\.local)?:6000`)
)

// readmesScaledObject returns the first ScaledObject in the README.
func readmesScaledObject(t *testing.T) string {
	t.Helper()
	text := string(must(os.ReadFile(filepath.Join(root, "README.md"))))
	for _, block := range yamlBlock.FindAllStringSubmatch(text, -1) {
		if strings.Contains(block[1], "kind: ScaledObject") {
			return block[1]
		}
	}
	t.Fatal("README.md shows no ScaledObject")
	return ""
}

// growsAndShrinksBy creates a ScaledObject without changes to its windows or the HPA's behavior:
// slow, but the way users start. The load needs all eight engines. Its minReplicaCount is 1.
func (w *workload) growsAndShrinksBy(text string, gateway *gateway) {
	w.t.Helper()
	create(w.t, w.namespace, text)
	w.waitUntilReady()
	w.line.mark("ScaledObject is ready")
	w.line.reaches(1, timeout)
	up := w.line.mark("load")
	ended := startLoad(w.t, "0 24\n200 24\n201 0\n", gateway)
	w.line.reaches(8, 3*timeout)
	w.line.risesOnly(up)
	<-ended
	down := w.line.mark("load is over")
	w.line.reaches(1, 3*timeout)
	w.line.fallsOnly(down)
	w.holds(3 * time.Second)
}

func TestReadmesScaledObjectWordForWord(t *testing.T) {
	t.Parallel()
	text := readmesScaledObject(t)
	w, gateway := newEngineWorkload(t, "readme", engineStart{})
	giveName(t, scalerAddress.FindStringSubmatch(text)[1], w.scaler)
	w.growsAndShrinksBy(text, gateway)
}

// Two aggregators serve KEDA, with the engines that an agent discovers.
func TestReadmesScaledObjectOnAFleet(t *testing.T) {
	t.Parallel()
	text := readmesScaledObject(t)
	w, gateway, _ := newEngineWorkloadOnFleet(t, "readme-fleet", 2)
	address := scalerAddress.FindStringSubmatch(text)[1]
	w.growsAndShrinksBy(strings.ReplaceAll(text, address, "keda-gpu-scaler.readme-fleet"), gateway)
}
