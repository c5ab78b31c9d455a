"""The chart as rendered by helm, and comparisons of its objects with a test's expectation."""
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
# Values that every installation must set.
REQUIRED = {"image": {"repository": "keda-gpu-scaler"}}


class HelmError(Exception):
    """A failure of helm, with its output."""


def helm(*arguments, text=None, environment=None):
    """Returns standard output."""
    done = subprocess.run([binaries.KUBE, "helm", *arguments], input=text, text=True,
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise HelmError(done.stderr + done.stdout)
    return done.stdout


def with_required(values):
    """Returns `values`, with an image if they have none."""
    return {**values, "image": {**REQUIRED["image"], **values.get("image", {})}}


def render(values, preset=None, release=RELEASE):
    """Returns the objects, as parsed YAML."""
    files = [f"--values={CHART}/presets/{preset}.yaml"] if preset else []
    text = helm("template", release, CHART, f"--namespace={NAMESPACE}", *files, "--values=-",
                text=yaml.safe_dump(with_required(values)))
    return [document for document in yaml.safe_load_all(text) if document]


def render_case(case):
    """Renders a case of cases.yaml."""
    return render(case["values"], case.get("preset"), case.get("release", RELEASE))


def notes(values):
    """Returns helm's notes after an install, without access to a cluster."""
    text = helm("install", RELEASE, CHART, f"--namespace={NAMESPACE}", "--dry-run=client",
                "--values=-", text=yaml.safe_dump(with_required(values)))
    return text.partition("\nNOTES:\n")[2]


def find(objects, which):
    """Returns the objects that match "Kind" or "Kind/name"."""
    kind, _, name = which.partition("/")
    return [each for each in objects
            if each["kind"] == kind and name in ("", each["metadata"]["name"])]


def workload_of(objects, name):
    """Returns the DaemonSet or Deployment."""
    return (find(objects, f"DaemonSet/{name}") + find(objects, f"Deployment/{name}"))[0]


def container_of(workload):
    return workload["spec"]["template"]["spec"]["containers"][0]


def scaler_container(objects):
    """Returns the container that serves KEDA."""
    return container_of(workload_of(objects, "keda-gpu-scaler"))


def agent_container(objects):
    return container_of(workload_of(objects, "keda-gpu-scaler-agent"))


def contains(actual, wanted):
    """Compares maps by key, each wanted member of a list with any member, and texts as YAML or
    JSON."""
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
    """Returns the paths to all values that are no map, or an empty one."""
    if not isinstance(values, dict) or not values:
        return {path}
    return set().union(*(leaves(value, path + (key,)) for key, value in values.items()))
