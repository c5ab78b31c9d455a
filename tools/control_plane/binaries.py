"""The two binaries of the control plane, built from tests/kube and tests/keda into build/cluster.

With them, from the same modules: KEDA's custom resource definitions and KWOK's stages.
"""
import hashlib
import pathlib
import shutil
import subprocess
import time

from . import keda_source
from .folder import locked
from .progress import Progress

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "build/cluster"
KUBE = CLUSTER / "kube"
KEDA = CLUSTER / "keda"
KEDA_SOURCE = CLUSTER / "keda-source"
KEDA_MODULE = CLUSTER / "keda.mod"  # tests/keda's go.mod with KEDA_SOURCE for KEDA
CRDS = CLUSTER / "crds"
STAGES = CLUSTER / "stages.yaml"

VERSION = "k8s.io/component-base/version"
KUBE_FLAGS = f"-s -w -X {VERSION}.gitVersion=v1.36.4 -X {VERSION}.gitMajor=1 -X {VERSION}.gitMinor=36"
KEDA_FLAGS = "-s -w -X github.com/kedacore/keda/v2/version.Version=2.21.0"

# Annotations of a pod delay its readiness, the completion of a job's pod, and its end after a deletion:
# Go durations. KWOK's own fast stages have no delay, and its slow ones are random.
DELAY = """  delay:
    durationMilliseconds: {milliseconds}
    durationFrom:
      expressionFrom: '.metadata.annotations["{stage}.stage.kwok.x-k8s.io/delay"]'
"""
STAGE_FILES = {"node/fast/node-initialize": None, "pod/fast/pod-ready": 0,
               "pod/fast/pod-complete": 2000, "pod/fast/pod-delete": 0}


def build():
    """Builds both, unless they exist for these sources."""
    build_kube(total=2)
    build_module(KEDA, "tests/keda", "./cmd/keda", KEDA_FLAGS, copy_keda, f"-modfile={KEDA_MODULE}",
                 place=(2, 2))


def build_kube(total=1):
    """Builds only Kubernetes, which includes helm: 5 minutes instead of 6."""
    build_module(KUBE, "tests/kube", ".", KUBE_FLAGS, copy_stages, place=(1, total))


def build_module(binary, module, package, linker_flags, copy, *flags, place):
    CLUSTER.mkdir(parents=True, exist_ok=True)
    stamp = binary.with_suffix(".stamp")
    sources = digest(module, package, linker_flags)
    with locked(CLUSTER / ".lock"):  # another build may be running
        if binary.exists() and stamp.exists() and stamp.read_text() == sources:
            return
        print(f"control-plane: building {binary.relative_to(ROOT)}; a first time takes minutes",
              flush=True)
        stamp.unlink(missing_ok=True)
        with Progress(binary.name, *place) as progress:
            copy(module)
            progress.packages = set(go(module, "list", "-deps", *flags, package).split())
            progress.run([ROOT / "tools/go", module, "build", "-v", *flags,
                          f"-ldflags={linker_flags}", "-o", binary, package])
        stamp.write_text(sources)


def digest(module, package, linker_flags):
    """Returns a hash of all inputs of the build."""
    texts = [ROOT / module / name for name in ("go.mod", "go.sum", f"{package}/main.go")]
    texts += [ROOT / "tools/go", pathlib.Path(__file__), pathlib.Path(keda_source.__file__)]
    parts = [path.read_bytes() for path in texts]
    return hashlib.sha256(b"\0".join([*parts, linker_flags.encode()])).hexdigest()


def go(module, *command):
    """Returns standard output of `go COMMAND` in a module.

    Tries three times, because the download of a module may time out.
    """
    for tries_left in (2, 1, 0):
        done = subprocess.run([ROOT / "tools/go", module, *command], text=True,
                              stdout=subprocess.PIPE)
        if done.returncode == 0:
            return done.stdout
        if tries_left:
            print("control-plane: go failed; again in 10 s", flush=True)
            time.sleep(10)
    raise subprocess.CalledProcessError(done.returncode, done.args)


def folder_of(module, dependency):
    go(module, "mod", "download", dependency)
    return pathlib.Path(go(module, "list", "-m", "-f", "{{.Dir}}", dependency).strip())


def copy_stages(module):
    folder = folder_of(module, "sigs.k8s.io/kwok") / "kustomize/stage"
    stages = []
    for name, milliseconds in STAGE_FILES.items():
        text = (folder / f"{name}.yaml").read_text()
        if milliseconds is not None:
            delay = DELAY.format(stage=name.split("/")[-1], milliseconds=milliseconds)
            text = text.replace("  next:\n", delay + "  next:\n", 1)
        stages.append(text)
    STAGES.write_text("---\n".join(stages))


def copy_keda(module):
    """Writes KEDA's mains as packages, with the adapter's metrics on loopback, its source and CRDs."""
    folder = folder_of(module, "github.com/kedacore/keda/v2")
    keda_source.write(folder, KEDA_SOURCE)
    KEDA_MODULE.write_text(f"{(ROOT / module / 'go.mod').read_text()}\n"
                           f"replace github.com/kedacore/keda/v2 => {KEDA_SOURCE}\n")
    shutil.copyfile(ROOT / module / "go.sum", KEDA_MODULE.with_suffix(".sum"))
    for name in ("operator", "adapter"):
        text = (folder / "cmd" / name / "main.go").read_text()
        copy = ROOT / module / "cmd/keda/internal" / name / "main.go"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text.replace("package main\n", f"package {name}\n", 1)
                        .replace("\nfunc main() {\n", "\nfunc Main() {\n", 1)
                        .replace('Sprintf(":%v", metricsAPIServerPort)',
                                 'Sprintf("127.0.0.1:%v", metricsAPIServerPort)', 1))
    shutil.rmtree(CRDS, ignore_errors=True)
    CRDS.mkdir()
    for definition in sorted((folder / "config/crd/bases").glob("*.yaml")):
        shutil.copyfile(definition, CRDS / definition.name)
