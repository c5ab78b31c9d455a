"""The initial objects of a control plane, as JSON for kubectl: KEDA's API, and GPU nodes."""
import json

from .programs import NAMESPACE

NODES = 16
GPUS = 8  # per node


def text(ports):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        metrics_service(ports["adapter"]),
        metrics_api(ports["adapter"]),
        node("cpu-0", {"cpu": "32", "memory": "256Gi", "pods": "250"}),
        *[gpu_node(f"gpu-{number}") for number in range(NODES)]]})


def metrics_service(port):
    """Returns a Service without pods: the adapter runs on loopback."""
    return {"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "keda-metrics-apiserver", "namespace": NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": "localhost",
                     "ports": [{"name": "https", "port": port}]}}


def metrics_api(port):
    group, version = "external.metrics.k8s.io", "v1beta1"
    return {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": f"{version}.{group}"},
            "spec": {"group": group, "version": version, "groupPriorityMinimum": 100,
                     "versionPriority": 100, "insecureSkipTLSVerify": True,
                     "service": {"name": "keda-metrics-apiserver", "namespace": NAMESPACE,
                                 "port": port}}}


def gpu_node(name):
    """Returns a node with the labels of GPU feature discovery and the usual taint."""
    made = node(name, {"cpu": "32", "memory": "256Gi", "pods": "250", "nvidia.com/gpu": str(GPUS)})
    made["metadata"]["labels"]["nvidia.com/gpu.present"] = "true"
    made["spec"] = {"taints": [{"key": "nvidia.com/gpu", "value": "present",
                                "effect": "NoSchedule"}]}
    return made


def node(name, resources):
    """Returns a node with its resources set, because no kubelet reports them."""
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"capacity": resources, "allocatable": resources}}
