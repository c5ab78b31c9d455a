module keda-gpu-scaler/tests/chart/crds

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
	sigs.k8s.io/karpenter v1.11.0
	sigs.k8s.io/lws v0.8.0
)
