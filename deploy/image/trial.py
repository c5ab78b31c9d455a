"""The subject of the tests: the architecture of the command line, its build outputs, and a Debian to
run them on."""
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.request

TOP = pathlib.Path(__file__).resolve().parents[2]
OUT = TOP / "build/image"
OWN_ARCH = subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
ARCH = sys.argv[1] if len(sys.argv) > 1 else OWN_ARCH
MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(ARCH)
TRIPLET = f"{MACHINE}-linux-gnu"
LOADER = {"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}.get(ARCH)


def run(*words, **options):
    """Returns its output; when it fails, the error has the output."""
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{done.stdout}{done.stderr}{words[0]} ended with {done.returncode}")
    return done.stdout


def build(out=OUT, **options):
    for old in out.glob(f"keda-gpu-scaler-*-{ARCH}.*"):  # maybe another version's
        old.unlink()
    return run(TOP / "deploy/image/build", "--arch", ARCH, "--out", out, **options)


def released(kind, out=OUT):
    (file,) = out.glob(f"keda-gpu-scaler-*-{ARCH}.{kind}")
    return file


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def emulator_in(root):
    """qemu put into a root that it can run a foreign program in."""
    if ARCH == OWN_ARCH:
        return []
    shutil.copy(f"/usr/bin/qemu-{MACHINE}-static", root / "emulator")
    return ["/emulator"]


def bare_debian():
    """Debian 12 as it comes, nothing of ours or of the build on it; or, foreign, its C library."""
    if ARCH != OWN_ARCH:
        return TOP / "build/sysroot" / ARCH
    root = OUT / "bare-debian-12"
    if not (root / "complete").exists():
        shutil.rmtree(root, ignore_errors=True)
        # From where this machine has its own packages.
        (mirror, *_) = run("apt-get", "indextargets", "--format", "$(REPO_URI)",
                           "Created-By: Packages", "Codename: bookworm", "Origin: Debian").split()
        run("debootstrap", "--variant=minbase", "bookworm", root, mirror)
        (root / "complete").touch()
    return root


def libraries(root, program):
    """{soname: path} as the dynamic linker of that root finds them."""
    result = root.run(LOADER, "--list", program)
    if result.returncode != 0 or "not found" in result.stdout:
        raise AssertionError(result.stdout + result.stderr)
    return dict(re.findall(r"(\S+) => (\S+)", result.stdout))


def page(server, port, path):
    """The text of a page; an error where the server refuses it."""
    url = f"http://127.0.0.1:{server.ports[port]}/{path}"
    with urllib.request.urlopen(url, timeout=10) as reply:
        return reply.read().decode()


def compile_driver(to):
    """tests/fake_nvml as libnvidia-ml.so.1, linked as the real one is."""
    root = pathlib.Path("/") if ARCH == OWN_ARCH else TOP / "build/sysroot" / ARCH
    stubs = [root / "lib" / TRIPLET / name
             for name in ("libpthread.so.0", "libdl.so.2", "librt.so.1")]
    run(f"{MACHINE}-linux-gnu-g++", "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden",
        "-static-libstdc++", "-I", TOP / "src", "-I", TOP / "tests", "-idirafter", root / "usr/include",
        *sorted((TOP / "tests/fake_nvml").glob("*.cc")),
        "-Wl,-Bsymbolic,--no-as-needed", *stubs, "-o", to)
