"""The objects a control plane begins with, as JSON for kubectl: KEDA's API, and GPU nodes."""
import json

from .programs import NAMESPACE

NODES = 16
GPUS = 8  # of each node


def text(ports):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        metrics_service(ports["adapter"]),
        metrics_api(ports["adapter"]),
        node("cpu-0", {"cpu": "32", "memory": "256Gi", "pods": "250"}),
        *[gpu_node(f"gpu-{number}") for number in range(NODES)]]})


def metrics_service(port):
    """There is no pod behind it: the adapter runs on loopback."""
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
    """As GPU feature discovery labels it and administrators taint it."""
    made = node(name, {"cpu": "32", "memory": "256Gi", "pods": "250", "nvidia.com/gpu": str(GPUS)})
    made["metadata"]["labels"]["nvidia.com/gpu.present"] = "true"
    made["spec"] = {"taints": [{"key": "nvidia.com/gpu", "value": "present",
                                "effect": "NoSchedule"}]}
    return made


def node(name, resources):
    """There is no kubelet to say what a node has: it is said when the node is made."""
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"capacity": resources, "allocatable": resources}}
