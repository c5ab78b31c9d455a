"""Runs the program in its own root directory: read-only, as an unprivileged user, without /dev or
anything else that the root does not have. /proc is there if the root has a folder for it."""
import pathlib
import re
import subprocess
import threading

USER = 65532

CONFINE = """
root=$1 user=$2
shift 2
mount --bind "$root" "$root"
if [ -d "$root/proc" ]; then mount -t proc proc "$root/proc"; fi
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec="$user" --groups="" "$root" "$@"
"""


class Root:
    """`emulator`: words before the program where this machine cannot run it itself."""

    def __init__(self, path, emulator=()):
        self.path = pathlib.Path(path)
        self.emulator = list(emulator)

    def command(self, *words, env=None):
        """`words` in this root. Its environment is `env` alone."""
        return ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                *(f"{key}={value}" for key, value in (env or {}).items()),
                "unshare", "--mount", "--propagation", "private", "bash", "-ec", CONFINE, "confine",
                str(self.path), f"{USER}:{USER}", *self.emulator, *words]

    def run(self, *words, env=None):
        return subprocess.run(self.command(*words, env=env), capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)


class Server:
    """`serve` until `with` ends. After that, or stop(), `output` is its whole log."""

    def __init__(self, root, program, *flags, env=None):
        self.process = subprocess.Popen(
            root.command(program, "serve", "--bind-address", "127.0.0.1", "--port", "any",
                         "--metrics-port", "any", "--probe-port", "any",
                         *([] if "--role=agent" in flags else ["--web-port", "any"]), *flags,
                         env=env),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
        self.output = ""
        self.reader = threading.Thread(target=self._read_on, daemon=True)
        for line in self.process.stdout:
            self.output += line
            if "event=serving" in line:
                self.ports = {name: int(port)
                              for name, port in re.findall(r"(\w+)_port=(\d+)", line)}
                self.reader.start()
                return
        self.process.stdout.close()
        raise AssertionError(f"ended with {self.process.wait()}:\n{self.output}")

    def _read_on(self):
        for line in self.process.stdout:
            self.output += line

    def status(self, field):
        """One line of /proc/PID/status."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return re.search(rf"^{field}:\s*(.*)$", text, re.M).group(1)

    def mounts(self):
        """{place: options} of what is mounted, as the process sees it."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/mountinfo").read_text().splitlines()
        return dict(line.split()[4:6] for line in lines)

    def stop(self):
        """SIGTERM, as the kubelet sends it; returns the exit code."""
        self.process.terminate()
        code = self.process.wait(30)
        self.reader.join()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join()
        self.process.stdout.close()
