#!/usr/bin/env -S python3 -B
"""Lays out what is released.

    deploy/image/contents.py --binary FILE --root ROOT --build DIR --out OUT

OUT/system and OUT/program are the image, Debian's files apart from ours: they become two layers, of
which the first stays the same over most releases. OUT/portable is the program with its libraries
beside it, for machines without containers. OUT/packages.json lists the Debian packages of all files.
"""
import argparse
import json
import pathlib
import shutil

import build_inputs
import shared_libraries
from debian import Debian

LICENSE = pathlib.Path(__file__).resolve().parents[2] / "LICENSE"
USER = 65532  # "nonroot" of other images without a distribution, so that policies know it

# The needs of the NVIDIA driver's libnvidia-ml.so.1 besides libc.so.6: it is linked against a C library
# that had these apart.
DRIVER_LIBRARIES = ["libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"]

# Loaded when pages of engines or gateways are first read.
LOADED_LIBRARIES = ["libcurl.so.4"]

# The C library goes with the dynamic linker. The binary has the linker's absolute path: the machine's.
GLIBC = "libc6"

TEXTS = {
    "etc/passwd": f"root:x:0:0::/:/nologin\nnonroot:x:{USER}:{USER}::/:/nologin\n",
    "etc/group": f"root:x:0:\nnonroot:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}

# A copy of each: scanners find out from os-release which distribution's advisories apply, and the
# NVIDIA container runtime from debian_version that libraries belong into /usr/lib/TRIPLET.
SYSTEM_FILES = {"/usr/lib/os-release": "etc/os-release", "/etc/debian_version": "etc/debian_version"}


def lay_out(binary, debian, build, out):
    triplet = shared_libraries.triplet(binary)
    libraries = shared_libraries.needed(binary, debian, triplet,
                                         DRIVER_LIBRARIES + LOADED_LIBRARIES)
    owners = debian.packages_of(libraries.values())
    packages = {
        "shared": set(owners.values()),
        "system": set(debian.packages_of([*certificates(debian), *SYSTEM_FILES]).values()),
        "static": set(debian.packages_of(build_inputs.archives(build, debian)).values()),
        "headers": set(debian.packages_of(build_inputs.headers(build, debian)).values())}
    write(out / "packages.json", json.dumps({kind: sorted(names) for kind, names in packages.items()}))

    system = out / "system"
    for soname, path in libraries.items():
        copy(debian.file(path), system / f"usr/lib/{triplet}" / soname)
    link_interpreter(system, shared_libraries.interpreter(binary), triplet)
    for path, where in SYSTEM_FILES.items():
        copy(debian.file(path), system / where)
    for path, text in TEXTS.items():
        write(system / path, text)
    write(system / "etc/ssl/certs/ca-certificates.crt",
          "".join(debian.file(path).read_text() for path in certificates(debian)))
    for package in packages["shared"] | packages["system"]:
        # Scanners read these in an image that has no dpkg.
        write(system / f"var/lib/dpkg/status.d/{package}", debian.stanza(package))
        copy_terms(debian, package, system / f"usr/share/doc/{package}")

    inside = inside_the_binary(debian, packages)
    program = out / "program"
    copy(binary, program / "usr/bin/keda-gpu-scaler", mode=0o755)
    copy(LICENSE, program / "usr/share/doc/keda-gpu-scaler/LICENSE")
    for package in inside:
        copy_terms(debian, package, program / f"usr/share/doc/{package}")

    portable = out / "portable"
    copy(binary, portable / "keda-gpu-scaler", mode=0o755)
    copy(LICENSE, portable / "LICENSE")
    beside = {soname: path for soname, path in libraries.items() if owners[path] != GLIBC}
    for soname, path in beside.items():
        copy(debian.file(path), portable / "lib" / soname)
    for package in inside | {owners[path] for path in beside.values()}:
        copy_terms(debian, package, portable / "licenses" / package)


def inside_the_binary(debian, packages):
    """Packages linked into it or compiled with it, except those with terms that a library brings."""
    brought = {debian.source(package) for package in packages["shared"]}
    return {package for package in packages["static"] | packages["headers"]
            if debian.source(package) not in brought}


def certificates(debian):
    """Mozilla's, from the package: the machine's own bundle may hold authorities of its owner."""
    folder = debian.file("/usr/share/ca-certificates/mozilla")
    names = sorted(path.name for path in folder.glob("*.crt"))
    return [f"/usr/share/ca-certificates/mozilla/{name}" for name in names]


def link_interpreter(system, path, triplet):
    """/lib and /lib64 as on Debian; in the one that the binary names, the dynamic linker."""
    folder, name = path.lstrip("/").split("/")
    for top in {"lib", folder}:
        (system / top).symlink_to(f"usr/{top}")
    (system / f"usr/lib/{triplet}/{name}").chmod(0o755)  # the kernel executes it
    link = system / "usr" / folder / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(f"../lib/{triplet}/{name}" if folder != "lib" else f"{triplet}/{name}")


def copy_terms(debian, package, folder):
    copy(debian.file(f"/usr/share/doc/{package}/copyright"), folder / "copyright")


def copy(source, to, mode=0o644):
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, to)
    to.chmod(mode)


def write(to, text):
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "root", "build", "out"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    args = parser.parse_args()
    lay_out(args.binary, Debian(args.root), args.build, args.out)


if __name__ == "__main__":
    main()
