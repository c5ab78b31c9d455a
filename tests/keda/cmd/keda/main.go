// KEDA in one binary, its first argument choosing the program:
//
//	keda operator|adapter [flags]
//
// The two packages are KEDA's own mains, which tools/control-plane copies here from the module as
// it builds: the adapter's page of metrics, which KEDA opens on every interface, then listens on
// loopback.
package main

import (
	"fmt"
	"os"

	"keda-gpu-scaler/tests/keda/cmd/keda/internal/adapter"
	"keda-gpu-scaler/tests/keda/cmd/keda/internal/operator"
)

func main() {
	programs := map[string]func(){"operator": operator.Main, "adapter": adapter.Main}
	if len(os.Args) > 1 {
		if run, known := programs[os.Args[1]]; known {
			os.Args = os.Args[1:]
			run()
			return
		}
	}
	fmt.Fprintln(os.Stderr, "usage: keda operator|adapter [flags]")
	os.Exit(2)
}
