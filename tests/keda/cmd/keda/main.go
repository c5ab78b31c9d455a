// KEDA in one binary; its first argument selects the program:
//
//	keda operator|adapter [flags]
//
// Both packages are KEDA's own mains, copied from the module by tools/control-plane during its
// build. It makes the adapter's metrics page, which KEDA opens on every interface, listen on
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
