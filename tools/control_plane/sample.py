"""A scaler with simulated GPUs, and a workload that it scales."""
import json
import subprocess

from . import binaries, cluster
from .folder import held

NAME = "keda-gpu-scaler"
GPUS = 8


def start(folder, program):
    """Starts `program` and the workload on the control plane of `folder`; ready on return."""
    with held(folder):
        ports = cluster.read_ports(folder)
        if not (folder / "gpus.json").exists():
            cluster.write(folder / "gpus.json", gpu_file(utilization=0))
        cluster.start(folder, {NAME: command(folder, program, ports)})
        probe = f"http://127.0.0.1:{ports['scaler_probe']}/readyz"
        cluster.wait(folder, NAME, lambda: cluster.answers(folder, probe))
        cluster.kubectl(folder, "apply", "--server-side", "--filename=-",
                        text=objects(ports["scaler"]))


def command(folder, program, ports):
    return [program, "serve", f"--gpu-source=file:{folder}/gpus.json",
            "--bind-address=127.0.0.1", f"--port={ports['scaler']}",
            f"--metrics-port={ports['scaler_metrics']}",
            f"--probe-port={ports['scaler_probe']}", "--web-port=any", "--poll-interval=1s"]


def program():
    """Returns the newest build; builds a release if there is none."""
    built = [path for preset in ("dev", "release")
             if (path := binaries.ROOT / "build" / preset / "src/app" / NAME).exists()]
    if built:
        return max(built, key=lambda path: path.stat().st_mtime)
    for step in (["--preset", "release", "--log-level=WARNING"],
                 ["--build", "--preset", "release", "--target", NAME]):
        subprocess.run(["cmake", *step], cwd=binaries.ROOT, check=True)
    return binaries.ROOT / "build/release/src/app" / NAME


def gpu_file(utilization):
    gpus = [{"index": index, "name": "Simulated", "utilization_percent": utilization,
             "memory_used_bytes": 0, "memory_total_bytes": 80 * 2**30} for index in range(GPUS)]
    lines = ",\n".join("  " + json.dumps(gpu) for gpu in gpus)
    return f'{{"gpus": [\n{lines}\n]}}\n'


def objects(port):
    pod = {"containers": [{"name": "llm", "image": "llm",
                           "resources": {"limits": {"nvidia.com/gpu": 1}}}],
           "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
    labels = {"app": "llm"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment",
                  "metadata": {"name": "llm", "namespace": "default"},
                  "spec": {"selector": {"matchLabels": labels},
                           "template": {"metadata": {"labels": labels}, "spec": pod}}}
    trigger = {"type": "external", "metadata": {"scalerAddress": f"127.0.0.1:{port}"}}
    scaled_object = {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
                     "metadata": {"name": "llm", "namespace": "default"},
                     "spec": {"scaleTargetRef": {"name": "llm"}, "minReplicaCount": 1,
                              "maxReplicaCount": GPUS, "triggers": [trigger]}}
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [deployment, scaled_object]})


def what_to_type(folder):
    change = "sed -i 's/\"utilization_percent\": [0-9]*/\"utilization_percent\": {}/'"
    return f"""
{GPUS} simulated GPUs, {folder}/gpus.json, are idle, and the Deployment llm has one replica.

    kubectl get hpa --watch           # in one terminal
    {change.format(95)} {folder}/gpus.json    # all busy: to {GPUS} replicas within a minute
    {change.format(0)} {folder}/gpus.json     # all idle: back to 1
    kubectl describe scaledobject llm
"""
