"""A CA and the certificates of the API server, its administrator, its proxy and KEDA."""
import shutil
import subprocess

# name: subject, extensions
LEAVES = {
    "apiserver": ("/CN=kube-apiserver", ["extendedKeyUsage=serverAuth",
                  "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:10.0.0.1"]),
    "admin": ("/O=system:masters/CN=admin", ["extendedKeyUsage=clientAuth"]),
    "front-proxy": ("/CN=front-proxy-client", ["extendedKeyUsage=clientAuth"]),
    "keda": ("/CN=keda", ["extendedKeyUsage=serverAuth,clientAuth",
             "subjectAltName=DNS:localhost,IP:127.0.0.1"]),
}


def make(folder):
    """Writes ca.crt, NAME.crt and NAME.key of each, and sa.key and sa.pub for service accounts.

    KEDA reads its own from a folder, named like the keys of a secret: FOLDER/keda.
    """
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)  # left by a killed run
    new.mkdir(mode=0o700)
    certificate(new, "ca", "/CN=control-plane", [], [])
    for name, (subject, extensions) in LEAVES.items():
        certificate(new, name, subject, extensions, ["-CA", "ca.crt", "-CAkey", "ca.key"])
    openssl(new, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "sa.key")
    openssl(new, "ec", "-in", "sa.key", "-pubout", "-out", "sa.pub")
    (new / "keda").mkdir()
    for source, copy in {"ca.crt": "ca.crt", "keda.crt": "tls.crt", "keda.key": "tls.key"}.items():
        shutil.copyfile(new / source, new / "keda" / copy)
    new.rename(folder)


def certificate(folder, name, subject, extensions, authority):
    added = [word for extension in extensions for word in ("-addext", extension)]
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "365", "-subj", subject, *added, *authority,
            "-keyout", f"{name}.key", "-out", f"{name}.crt")


def openssl(folder, *command):
    done = subprocess.run(["openssl", *command], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {' '.join(command)}:\n{done.stdout}")
