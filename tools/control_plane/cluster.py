"""One control plane in one folder: start, status, stop."""
import base64
import json
import os
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request

from . import binaries, certificates, objects, process, programs
from .folder import held

PATIENCE = 90  # seconds; on two cores it takes 11


class NotReady(RuntimeError):
    """A program that did not start, and the end of its log."""


def up(folder):
    """Starts all that is not running; ready on return. Refuses a folder with other files."""
    with held(folder):
        prepare(folder)
        try:
            start_all(folder)
        except NotReady:
            none_ended(folder)  # that would be the reason
            raise
        none_ended(folder)


def start_all(folder):
    """Starts the programs in the order of their dependencies."""
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
    """Stops all and deletes the objects; keeps the logs. Refuses a folder with other files."""
    if not folder.exists():
        return
    with held(folder):
        process.stop_all(folder)
        for name in ("etcd", "pki", "pids", "bin", ".kube"):
            shutil.rmtree(folder / name, ignore_errors=True)
        for name in ("ports", "kubeconfig", "env", "gpus.json"):
            (folder / name).unlink(missing_ok=True)


def all_programs(folder):
    """Returns the names in starting order."""
    ports = dict.fromkeys(programs.PORT_NAMES, 0)
    return [name for group in (programs.kubernetes, programs.controllers, programs.keda)
            for name in group(folder, ports)]


def prepare(folder):
    """Keeps existing files: running programs use them. Every file is written atomically."""
    for name in ("log", "pids"):
        (folder / name).mkdir(exist_ok=True)
    process.forget_ended(folder)
    if not (folder / "pki").exists():
        certificates.make(folder / "pki")
    if not (folder / "ports").exists() or are_taken(folder):
        lines = [f"{name}={port}\n" for name, port in programs.free_ports().items()]
        write(folder / "ports", "".join(lines))
    write(folder / "kubeconfig", kubeconfig(folder), mode=0o600)
    write_commands(folder)


def are_taken(folder):
    """Returns whether another program has a port while none of ours runs, as after a reboot."""
    return not process.running(folder) and \
        not all(map(programs.is_free, read_ports(folder).values()))


def write(path, text, mode=0o644):
    """Writes the file atomically, for concurrent readers and if this is killed."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_CREAT | os.O_WRONLY, mode), "w") as file:
        file.write(text)
    new.replace(path)


def write_commands(folder):
    """Writes FOLDER/bin/kubectl and helm, and FOLDER/env, which puts them first in PATH."""
    (folder / "bin").mkdir(exist_ok=True)
    for name in ("kubectl", "helm"):
        write(folder / "bin" / name, f'#!/bin/sh\nexec "{binaries.KUBE}" {name} "$@"\n', mode=0o755)
    write(folder / "env", f'export KUBECONFIG="{folder}/kubeconfig"\n'
                          f'export PATH="{folder}/bin:$PATH"\n')


def read_ports(folder):
    lines = (folder / "ports").read_text().splitlines()
    return {name: int(port) for name, port in (line.split("=") for line in lines)}


def apiserver_url(ports):
    return f"https://127.0.0.1:{ports['apiserver']}"


def kubeconfig(folder):
    """Returns it as JSON, which is YAML. It contains the administrator's key."""
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
    """Waits until `condition` is true; raises if a started program ends meanwhile."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        none_ended(folder, name)
        if time.monotonic() > deadline:
            raise NotReady(f"{name} was not ready after {PATIENCE} s\n{end_of_log(folder, name)}")
        time.sleep(0.05)


def none_ended(folder, *more):
    """Raises if a program has ended, with the first in starting order: others may end because of it."""
    ended = process.started(folder) - process.running(folder).keys()
    for name in [*all_programs(folder), *more]:
        if name in ended:
            raise NotReady(f"{name} ended\n{end_of_log(folder, name)}")


def end_of_log(folder, name):
    path = folder / "log" / f"{name}.log"
    lines = path.read_text(errors="replace").splitlines()[-15:]
    return "\n".join([f"{path} ends with:", *lines])


def answers(folder, url):
    """Returns whether the URL answers, without the environment's proxies, which cannot reach loopback."""
    context = ssl.create_default_context(cafile=folder / "pki/ca.crt")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                         urllib.request.HTTPSHandler(context=context))
    try:
        with opener.open(url, timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def is_available(folder):
    """Returns whether the API server gets external metrics from KEDA's adapter."""
    done = kubectl(folder, "get", "apiservice/v1beta1.external.metrics.k8s.io",
                   '--output=jsonpath={.status.conditions[?(@.type=="Available")].status}')
    return done == "True"


def kubectl(folder, *command, text=None):
    """Returns standard output."""
    done = subprocess.run([binaries.KUBE, "kubectl", *command], input=text, text=True,
                          env=programs.environment(folder) | {"HOME": str(folder)},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise NotReady(f"kubectl {' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout
