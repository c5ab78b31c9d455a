"""The chart as helm renders it, and whether an object contains what a test wants of it."""
import pathlib
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from control_plane import binaries  # noqa: E402

CHART = ROOT / "deploy/helm/keda-gpu-scaler"
PRESETS = sorted((CHART / "presets").glob("*.yaml"))
RELEASE = "keda-gpu-scaler"
NAMESPACE = "gpu-scaler"
# What every installation has to give.
REQUIRED = {"image": {"repository": "keda-gpu-scaler"}}


class HelmError(Exception):
    """What helm said."""


def helm(*arguments, text=None, environment=None):
    """Standard output."""
    done = subprocess.run([binaries.KUBE, "helm", *arguments], input=text, text=True,
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise HelmError(done.stderr + done.stdout)
    return done.stdout


def with_required(values):
    """`values`, and an image where they name none."""
    return {**values, "image": {**REQUIRED["image"], **values.get("image", {})}}


def render(values, preset=None, release=RELEASE):
    """The objects, as parsed YAML."""
    files = [f"--values={CHART}/presets/{preset}.yaml"] if preset else []
    text = helm("template", release, CHART, f"--namespace={NAMESPACE}", *files, "--values=-",
                text=yaml.safe_dump(with_required(values)))
    return [document for document in yaml.safe_load_all(text) if document]


def render_case(case):
    """Of cases.yaml."""
    return render(case["values"], case.get("preset"), case.get("release", RELEASE))


def notes(values):
    """What helm says after an install, of a cluster that it cannot ask."""
    text = helm("install", RELEASE, CHART, f"--namespace={NAMESPACE}", "--dry-run=client",
                "--values=-", text=yaml.safe_dump(with_required(values)))
    return text.partition("\nNOTES:\n")[2]


def find(objects, which):
    """Those of "Kind" or "Kind/name"."""
    kind, _, name = which.partition("/")
    return [each for each in objects
            if each["kind"] == kind and name in ("", each["metadata"]["name"])]


def workload_of(objects, name):
    """The DaemonSet or Deployment."""
    return (find(objects, f"DaemonSet/{name}") + find(objects, f"Deployment/{name}"))[0]


def container_of(workload):
    return workload["spec"]["template"]["spec"]["containers"][0]


def scaler_container(objects):
    """Of what answers KEDA."""
    return container_of(workload_of(objects, "keda-gpu-scaler"))


def agent_container(objects):
    return container_of(workload_of(objects, "keda-gpu-scaler-agent"))


def contains(actual, wanted):
    """Maps by key; of a list each wanted member in any of its own; a text of YAML or JSON by what
    it says."""
    if isinstance(wanted, dict) and isinstance(actual, str):
        return contains(yaml.safe_load(actual), wanted)
    if isinstance(wanted, dict):
        return isinstance(actual, dict) and all(
            key in actual and contains(actual[key], value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(actual, list) and all(
            any(contains(member, value) for member in actual) for value in wanted)
    return actual == wanted


def leaves(values, path=()):
    """Paths to what is no map, or an empty one."""
    if not isinstance(values, dict) or not values:
        return {path}
    return set().union(*(leaves(value, path + (key,)) for key, value in values.items()))
