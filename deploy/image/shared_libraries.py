"""Which shared libraries a binary needs at run time, all the way down, and where they are."""
import re
import subprocess


def interpreter(binary):
    """The dynamic linker's path, which the binary names."""
    return re.search(r"program interpreter: (\S+)\]", _readelf("-l", binary)).group(1)


def needed(binary, debian, triplet, also=()):
    """{soname: path under the root} of everything that `binary` and `also` need."""
    found = {}
    waiting = [*_direct(binary), *also]
    while waiting:
        soname = waiting.pop()
        if soname in found:
            continue
        found[soname] = _find(soname, debian, triplet)
        waiting += _direct(debian.file(found[soname]))
    return dict(sorted(found.items()))


def triplet(binary):
    """Debian's directory of the binary's architecture."""
    machine = re.search(r"Machine: +(.*)", _readelf("-h", binary)).group(1)
    return {"Advanced Micro Devices X86-64": "x86_64-linux-gnu",
            "AArch64": "aarch64-linux-gnu"}[machine]


def _find(soname, debian, triplet):
    for folder in (f"/usr/lib/{triplet}", f"/lib/{triplet}"):
        if debian.file(f"{folder}/{soname}").exists():
            return f"{folder}/{soname}"
    raise SystemExit(f"{soname}: not in /usr/lib/{triplet} or /lib/{triplet} under {debian.root}")


def _direct(binary):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", _readelf("-d", binary))


def _readelf(what, binary):
    return subprocess.run(["readelf", "-W", what, binary], check=True, capture_output=True,
                          text=True).stdout
