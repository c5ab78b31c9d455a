#!/usr/bin/env -S python3 -B
"""Joins the images of several architectures, as packed by oci.py, into one OCI layout that a registry
serves under one name. The same images and --epoch give the same bytes.

    deploy/image/index.py --tag TAG --epoch SECONDS --out FILE ARCHIVE...     prints the digest
"""
import argparse
import json
import pathlib
import tarfile

import oci


def content_of(archive):
    """Returns the blobs, {name in the archive: bytes}, and the descriptor of the image."""
    with tarfile.open(archive) as tar:
        files = {info.name: tar.extractfile(info).read() for info in tar if info.isfile()}
    (descriptor,) = json.loads(files["index.json"])["manifests"]
    del descriptor["annotations"]  # the name of this image alone
    return {name: text for name, text in files.items() if name.startswith("blobs/")}, descriptor


def join(args):
    files, images = {}, []
    for archive in args.archives:
        blobs, descriptor = content_of(archive)
        files |= blobs
        images.append(descriptor)
    blobs = oci.Blobs()
    index = blobs.add("index.v1+json", oci.encode({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": sorted(images, key=lambda image: image["platform"]["architecture"])}))
    files[oci.blob_path(index)] = blobs.bytes[index["digest"].removeprefix("sha256:")]
    files["oci-layout"] = oci.encode({"imageLayoutVersion": "1.0.0"})
    files["index.json"] = oci.encode({"schemaVersion": 2, "manifests": [
        {**index, "annotations": {"org.opencontainers.image.ref.name": args.tag}}]})
    args.out.write_bytes(oci.archive_of(files, args.epoch))
    print(index["digest"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", required=True)
    parser.add_argument("--epoch", type=int, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("archives", type=pathlib.Path, nargs="+", metavar="ARCHIVE")
    join(parser.parse_args())


if __name__ == "__main__":
    main()
