"""The records of dpkg about the packages under a root: this machine's /, or a sysroot of tools/sysroot."""
import pathlib
import re
import subprocess


class Debian:
    def __init__(self, root):
        self.root = pathlib.Path(root)

    def packages_of(self, paths):
        """{path: package} for paths as the root has them; one that no package owns is an error."""
        wanted = {spelling: path for path in paths for spelling in _spellings(path)}
        found = subprocess.run(self._query("-S", *wanted), capture_output=True, text=True).stdout
        owners = {}
        for line in found.splitlines():
            packages, _, path = line.partition(": ")
            if path in wanted and not packages.startswith("diversion "):
                owners[wanted[path]] = packages.split(",")[0].split(":")[0]
        unowned = sorted(set(paths) - set(owners))
        if unowned:
            raise SystemExit(f"of no Debian package under {self.root}: {' '.join(unowned)}")
        return owners

    def control(self, package):
        """The package's record, by field."""
        fields = {}
        for line in self.stanza(package).splitlines():
            match = re.match(r"([A-Za-z0-9-]+): *(.*)", line)
            if match:
                fields[match.group(1)] = match.group(2)
        return fields

    def stanza(self, package):
        """The package's record, as dpkg writes it."""
        # A package may be there for several architectures: the root's own comes first.
        result = subprocess.run(self._query("-s", package), check=True, capture_output=True,
                                text=True)
        return result.stdout.split("\n\n")[0].strip() + "\n"

    def source(self, package):
        """The source package's name and version: its terms are those of all packages made of it."""
        control = self.control(package)
        name, _, version = control.get("Source", package).partition(" ")
        return name, version.strip("()") or control["Version"]

    def os_release(self):
        text = self.file("/usr/lib/os-release").read_text()
        return dict(re.findall(r'^(\w+)="?(.*?)"?$', text, re.M))

    def file(self, path):
        return self.root / path.lstrip("/")

    def _query(self, *arguments):
        return ["dpkg-query", f"--admindir={self.root}/var/lib/dpkg", *arguments]


def _spellings(path):
    """Packages of Debian 12 still name /lib where the machine has /usr/lib, and some the reverse."""
    yield path
    yield path.removeprefix("/usr") if path.startswith("/usr/") else f"/usr{path}"
