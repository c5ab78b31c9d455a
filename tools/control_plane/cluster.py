"""One control plane in one folder: started, asked, stopped."""
import base64
import json
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request

from . import binaries, certificates, objects, process, programs

PATIENCE = 90  # seconds; a machine of its own takes 8


class NotReady(Exception):
    """What did not come up, and the end of its log."""


def up(folder):
    """Starts what does not run, in the order in which one needs the other; ready on return."""
    prepare(folder)
    ports = read_ports(folder)
    start(folder, programs.kubernetes(folder, ports))
    wait(folder, "kube-apiserver", lambda: answers(folder, apiserver_url(ports) + "/readyz"))
    start(folder, programs.controllers(folder, ports))
    kubectl(folder, "apply", "--server-side", "--filename", binaries.CRDS, "--filename=-",
            text=objects.text(ports))
    kubectl(folder, "wait", "--for=condition=Established", "--timeout=60s", "--filename",
            binaries.CRDS)
    start(folder, programs.keda(folder, ports))
    probe = f"http://127.0.0.1:{ports['operator_probe']}/readyz"
    wait(folder, "keda-operator", lambda: answers(folder, probe))
    wait(folder, "keda-adapter", lambda: is_available(folder))
    kubectl(folder, "wait", "--for=condition=Ready", "--timeout=60s", "nodes", "--all")


def down(folder):
    """The objects go too; the logs stay."""
    process.stop_all(folder)
    for name in ("etcd", "pki", "pids", "bin", ".kube"):
        shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("ports", "kubeconfig", "env", "gpus.json"):
        (folder / name).unlink(missing_ok=True)


def all_programs(folder):
    """Names, in the order of their start."""
    ports = dict.fromkeys(programs.PORT_NAMES, 0)
    return [name for group in (programs.kubernetes, programs.controllers, programs.keda)
            for name in group(folder, ports)]


def prepare(folder):
    """What is there already stays: programs that run know it."""
    for name in ("log", "pids"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    if not (folder / "pki").exists():
        certificates.make(folder / "pki")
    if not (folder / "ports").exists():
        lines = [f"{name}={port}\n" for name, port in programs.free_ports().items()]
        (folder / "ports").write_text("".join(lines))
    (folder / "kubeconfig").write_text(kubeconfig(folder))
    (folder / "kubeconfig").chmod(0o600)
    write_commands(folder)


def write_commands(folder):
    """FOLDER/bin/kubectl and helm, and FOLDER/env, which puts them before all others."""
    (folder / "bin").mkdir(exist_ok=True)
    for name in ("kubectl", "helm"):
        command = folder / "bin" / name
        command.write_text(f'#!/bin/sh\nexec "{binaries.KUBE}" {name} "$@"\n')
        command.chmod(0o755)
    (folder / "env").write_text(f'export KUBECONFIG="{folder}/kubeconfig"\n'
                                f'export PATH="{folder}/bin:$PATH"\n')


def read_ports(folder):
    lines = (folder / "ports").read_text().splitlines()
    return {name: int(port) for name, port in (line.split("=") for line in lines)}


def apiserver_url(ports):
    return f"https://127.0.0.1:{ports['apiserver']}"


def kubeconfig(folder):
    """JSON, which is YAML. The administrator's key is in it."""
    def data(name):
        return base64.b64encode((folder / "pki" / name).read_bytes()).decode()

    name = "control-plane"
    return json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{"name": name, "cluster": {"server": apiserver_url(read_ports(folder)),
                                                "certificate-authority-data": data("ca.crt")}}],
        "users": [{"name": name, "user": {"client-certificate-data": data("admin.crt"),
                                          "client-key-data": data("admin.key")}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}]}, indent=2)


def start(folder, commands):
    there = process.running(folder)
    for name, command in commands.items():
        if name not in there:
            process.start(folder, name, command, programs.environment(folder))


def wait(folder, name, condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if name not in process.running(folder):
            raise NotReady(f"{name} ended\n{end_of_log(folder, name)}")
        if time.monotonic() > deadline:
            raise NotReady(f"{name} was not ready after {PATIENCE} s\n{end_of_log(folder, name)}")
        time.sleep(0.05)


def end_of_log(folder, name):
    path = folder / "log" / f"{name}.log"
    lines = path.read_text(errors="replace").splitlines()[-15:]
    return "\n".join([f"{path} ends with:", *lines])


def answers(folder, url):
    context = ssl.create_default_context(cafile=folder / "pki/ca.crt")
    try:
        with urllib.request.urlopen(url, context=context, timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def is_available(folder):
    """The API server gets external metrics from KEDA's adapter."""
    done = kubectl(folder, "get", "apiservice/v1beta1.external.metrics.k8s.io",
                   '--output=jsonpath={.status.conditions[?(@.type=="Available")].status}')
    return done == "True"


def kubectl(folder, *command, text=None):
    """Standard output."""
    done = subprocess.run([binaries.KUBE, "kubectl", *command], input=text, text=True,
                          env=programs.environment(folder) | {"HOME": str(folder)},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise NotReady(f"kubectl {' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout
