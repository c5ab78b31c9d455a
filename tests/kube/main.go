// A Kubernetes control plane and a kubelet in one binary; its first argument selects the program:
//
//	kube etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kwok|kubelet|kubectl|helm [flags]
//
// One binary takes half the link time and a third of the disk space of eight.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	helm "helm.sh/helm/v4/pkg/cmd"
	helmkube "helm.sh/helm/v4/pkg/kube"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
)

// programs has the starting order of a control plane; commands for people come last.
var programs = []struct {
	name string
	run  func() int
}{
	{"etcd", runEtcd},
	{"kube-apiserver", func() int { return cli.Run(apiserver.NewAPIServerCommand()) }},
	{"kube-controller-manager", func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) }},
	{"kube-scheduler", func() int { return cli.Run(scheduler.NewSchedulerCommand()) }},
	{"kwok", runKwok},
	{"kubelet", func() int { return cli.Run(kubelet.NewKubeletCommand(context.Background())) }},
	{"kubectl", runKubectl},
	{"helm", runHelm},
}

func main() {
	if len(os.Args) > 1 {
		for _, program := range programs {
			if program.name == os.Args[1] {
				os.Args = os.Args[1:]
				os.Exit(program.run())
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: kube PROGRAM [flags], PROGRAM one of:")
	for _, program := range programs {
		fmt.Fprintln(os.Stderr, "  "+program.name)
	}
	os.Exit(2)
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func runKubectl() int {
	kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
	return 0
}

func runHelm() int {
	helmkube.ManagedFieldsManager = "helm"
	command, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err == nil {
		err = command.Execute()
	}
	return exitCode(err)
}

func runKwok() int {
	// kwok adds flags to the global set, where Kubernetes has put a --version that is no bool:
	// with it, kwok ends at once.
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ContinueOnError)

	// Read before the command is created, because they select its stages.
	early := pflag.NewFlagSet("early", pflag.ContinueOnError)
	early.ParseErrorsAllowlist.UnknownFlags = true
	early.Usage = func() {}

	ctx, _ := kwoklog.InitFlags(context.Background(), early)
	ctx, err := kwokconfig.InitFlags(ctx, early)
	if err != nil {
		return exitCode(err)
	}
	command := kwok.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(early)
	return exitCode(command.ExecuteContext(ctx))
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
