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
	scalerAddress = regexp.MustCompile(`scalerAddress: (\S+):6000`)
)

// readmesScaledObject is the first one that the README shows.
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

// growsAndShrinksBy a ScaledObject with the windows and the HPA's behavior that it leaves as they are:
// slow, but as everybody begins. The highest percentage over the target would stop at 2. Its
// minReplicaCount is 1.
func (w *workload) growsAndShrinksBy(text string) {
	w.t.Helper()
	w.line.reaches(1, patience)
	up := w.load(8 * 100)
	create(w.t, w.namespace, text)
	w.waitUntilReady()
	w.line.mark("ScaledObject is ready")
	w.line.reaches(8, 2*patience)
	w.line.risesOnly(up)

	down := w.load(0)
	w.line.reaches(1, 2*patience)
	w.line.fallsOnly(down)
	w.holds(3 * time.Second)
}

func TestReadmesScaledObjectWordForWord(t *testing.T) {
	t.Parallel()
	text := readmesScaledObject(t)
	w := newWorkload(t, "readme", start{replicas: 1})
	giveName(t, scalerAddress.FindStringSubmatch(text)[1], w.scaler)
	w.growsAndShrinksBy(text)
}

// Two aggregators answer, for the GPUs that its pods hold on three nodes.
func TestReadmesScaledObjectOnAFleet(t *testing.T) {
	t.Parallel()
	text := readmesScaledObject(t)
	nodes := newNodes(t, "readme-nodes")
	w := nodes.newWorkload(t, "readme-fleet", nodes.object("Deployment", "llm", 1, 1),
		nodes.startAggregators(t, "readme-fleet", 2)...)
	address := scalerAddress.FindStringSubmatch(text)[1]
	w.growsAndShrinksBy(strings.ReplaceAll(text, address, "keda-gpu-scaler.readme-fleet"))
}
