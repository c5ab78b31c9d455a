#!/usr/bin/env -S python3 -B
"""The image's and the tarball's bill of materials, SPDX 2.3 in JSON, from dpkg's records and, for the
web UI inside the program, npm's lock file.

    deploy/image/sbom.py --contents DIR --root ROOT --version VERSION --arch ARCH --epoch SECONDS

--contents is what contents.py wrote. Licences are not guessed: the terms themselves are in the
image, /usr/share/doc/PACKAGE/copyright, and in a comment of the web UI.
"""
import argparse
import datetime
import hashlib
import json
import pathlib
from urllib.parse import quote

from debian import Debian

PROGRAM = "SPDXRef-keda-gpu-scaler"
LOCK = pathlib.Path(__file__).resolve().parents[2] / "web/package-lock.json"
INLINED = ("preact", "uplot")  # as in web/vite.config.ts; the others only build and test the page


def bill(args):
    debian = Debian(args.root)
    found = json.loads((args.contents / "packages.json").read_text())
    binary = (args.contents / "program/usr/bin/keda-gpu-scaler").read_bytes()
    program = {
        "SPDXID": PROGRAM, "name": "keda-gpu-scaler", "versionInfo": args.version,
        "packageFileName": "keda-gpu-scaler", "primaryPackagePurpose": "APPLICATION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(binary).hexdigest()}],
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION"}
    everything = sorted({package for some in found.values() for package in some})
    inlined = [describe_inlined(package) for package in INLINED]
    packages = [program, *(describe(debian, package) for package in everything), *inlined]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", PROGRAM)]
    relations += [(PROGRAM, "DYNAMIC_LINK", spdx_id(package)) for package in found["shared"]]
    relations += [(PROGRAM, "DEPENDS_ON", spdx_id(package)) for package in found["system"]]
    relations += [(PROGRAM, "STATIC_LINK", spdx_id(package)) for package in found["static"]]
    relations += [(PROGRAM, "STATIC_LINK", package["SPDXID"]) for package in inlined]
    relations += [(spdx_id(package), "BUILD_DEPENDENCY_OF", PROGRAM)
                  for package in found["headers"]]
    name = f"keda-gpu-scaler-{args.version}-{args.arch}"
    created = datetime.datetime.fromtimestamp(args.epoch, datetime.timezone.utc)
    content = json.dumps([packages, relations]).encode()
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        # Unique to what it lists, as the format wants; nothing is served there.
        "documentNamespace":
            f"https://spdx.org/spdxdocs/{name}-{hashlib.sha256(content).hexdigest()[:32]}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "creators": [f"Tool: keda-gpu-scaler/deploy/image/sbom.py-{args.version}"]},
        "packages": packages,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations]}


def describe(debian, package):
    control = debian.control(package)
    source, source_version = debian.source(package)
    release = debian.os_release()
    version, arch = control["Version"], control["Architecture"]
    return {
        "SPDXID": spdx_id(package), "name": package, "versionInfo": version,
        "supplier": f"Organization: {release['NAME']}",
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "homepage": control.get("Homepage", "NOASSERTION"),
        # In Trivy's words: Debian's advisories are by source package.
        "sourceInfo": f"built package from: {source} {source_version}",
        "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": f"pkg:deb/{release['ID']}/{quoted(package)}@{quoted(version)}"
                                f"?arch={arch}&distro={release['ID']}-{release['VERSION_ID']}"
                                # Grype's, for the same.
                                f"&upstream={quoted(f'{source}@{source_version}')}"}]}


def describe_inlined(package):
    version = json.loads(LOCK.read_text())["packages"][f"node_modules/{package}"]["version"]
    return {
        "SPDXID": f"SPDXRef-npm-{package}", "name": package, "versionInfo": version,
        "supplier": "NOASSERTION", "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
            "referenceLocator": f"pkg:npm/{quoted(package)}@{quoted(version)}"}]}


def quoted(text):
    return quote(text, safe="")


def spdx_id(package):
    """Letters, digits, dots and hyphens only."""
    return "SPDXRef-deb-" + package.replace("+", ".plus")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("contents", "root"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("version", "arch"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--epoch", type=int, required=True)
    print(json.dumps(bill(parser.parse_args()), indent=1))


if __name__ == "__main__":
    main()
