#!/usr/bin/env -S python3 -B
"""Packs folders into an image of one layer each: a tar that is both an OCI layout and what older
`docker load` reads. The same files, name and --epoch give the same bytes.

    deploy/image/oci.py --name NAME --tag TAG --arch ARCH --epoch SECONDS [--label KEY=VALUE]...
                        --out FILE FOLDER...      prints the manifest's digest
"""
import argparse
import datetime
import gzip
import hashlib
import io
import json
import pathlib
import stat
import tarfile

# kubelet checks runAsNonRoot by number only.
CONFIG = {
    "User": "65532:65532",
    "ExposedPorts": {"6000/tcp": {}, "8081/tcp": {}, "9090/tcp": {}},
    "Env": ["PATH=/usr/bin",
            # To the NVIDIA container runtime: all GPUs of the node, and NVML rather than CUDA.
            "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=utility"],
    "Entrypoint": ["/usr/bin/keda-gpu-scaler"],
    "WorkingDir": "/",
}


class Blobs:
    """The content of an image: digest to bytes."""

    def __init__(self):
        self.bytes = {}

    def add(self, kind, content):
        digest = hashlib.sha256(content).hexdigest()
        self.bytes[digest] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}",
                "size": len(content)}


def tar_of(folder, epoch):
    """Sorted, root's, with one time, and modes that depend on no umask."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            info = tar.gettarinfo(path, path.relative_to(folder).as_posix())
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = epoch
            if not info.issym():
                info.mode = 0o755 if info.isdir() or info.mode & stat.S_IXUSR else 0o644
            with path.open("rb") if info.isfile() else io.BytesIO() as content:
                tar.addfile(info, content)
    return out.getvalue()


def archive_of(files, epoch):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(content), epoch
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def encode(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def pack(args):
    created = datetime.datetime.fromtimestamp(args.epoch, datetime.timezone.utc)
    created = created.strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = dict(label.split("=", 1) for label in args.label)
    labels["org.opencontainers.image.created"] = created
    labels["org.opencontainers.image.version"] = args.tag
    blobs = Blobs()
    tars = [tar_of(folder, args.epoch) for folder in args.folders]
    layers = [blobs.add("layer.v1.tar+gzip", gzip.compress(tar, mtime=0)) for tar in tars]
    platform = {"os": "linux", "architecture": args.arch}
    if args.arch == "arm64":
        platform["variant"] = "v8"
    config = blobs.add("config.v1+json", encode({
        **platform, "created": created, "config": {**CONFIG, "Labels": labels},
        "rootfs": {"type": "layers",
                   "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in tars]},
        "history": [{"created": created, "created_by": "deploy/image/build",
                     "comment": folder.name} for folder in args.folders]}))
    manifest = blobs.add("manifest.v1+json", encode({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": layers, "annotations": labels}))

    name = f"{args.name}:{args.tag}"
    files = {f"blobs/sha256/{digest}": content for digest, content in blobs.bytes.items()}
    files["oci-layout"] = encode({"imageLayoutVersion": "1.0.0"})
    files["index.json"] = encode({"schemaVersion": 2, "manifests": [
        {**manifest, "platform": platform,
         "annotations": {"org.opencontainers.image.ref.name": args.tag,
                         "io.containerd.image.name": name}}]})
    files["manifest.json"] = encode([{
        "Config": blob_path(config), "RepoTags": [name],
        "Layers": [blob_path(layer) for layer in layers]}])
    args.out.write_bytes(archive_of(files, args.epoch))
    print(manifest["digest"])


def blob_path(descriptor):
    return "blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("name", "tag", "arch"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--epoch", type=int, required=True)
    parser.add_argument("--label", action="append", default=[])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("folders", type=pathlib.Path, nargs="+", metavar="FOLDER")
    pack(parser.parse_args())


if __name__ == "__main__":
    main()
