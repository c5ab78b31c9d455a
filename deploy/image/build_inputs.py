"""The parts of Debian's packages inside the binary itself: linked archives, headers."""
import os.path
import pathlib
import re
import subprocess

TARGET = "src/app/keda-gpu-scaler"


def archives(build, debian):
    """Paths under the root of the static libraries on the link line."""
    ninja = (build / "build.ninja").read_text()
    link = re.search(rf"^build {TARGET}: .*\n(?:  .*\n)*", ninja, re.M).group(0)
    libraries = re.search(r"LINK_LIBRARIES = (.*)", link).group(1).split()
    return sorted(path for path in _under(libraries, build, debian.root) if path.endswith(".a"))


def headers(build, debian):
    """Paths under the root of the headers that the compiler read."""
    read = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True,
                          text=True).stdout
    files = {line.strip() for line in read.splitlines() if line.startswith("    ")}
    return sorted(path for path in _under(files, build, debian.root) if path.startswith("/usr/include/"))


def _under(paths, build, root):
    """Those of `paths` that lie under `root`, as seen from there; not the build's own, which are
    relative to it, as what lies near it may be."""
    build, root = build.resolve(), root.resolve()
    absolute = {pathlib.Path(os.path.normpath(build / path)) for path in paths}
    return [f"/{path.relative_to(root)}" for path in absolute
            if path.is_relative_to(root) and not path.is_relative_to(build)]
