"""Programs on loopback for the duration of a test, and the scaler that reads them."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sysconfig
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = ROOT / "build/dev/src/app/keda-gpu-scaler"
PACKAGES = pathlib.Path(sysconfig.get_paths()["purelib"])

START_SECONDS = 60


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def eventually(condition, what, seconds=START_SECONDS):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {seconds} s")
        time.sleep(0.05)


@contextlib.contextmanager
def running(folder, name, command, is_ready, **more):
    """Starts `command`, waits until is_ready(log), and ends it with all its child processes."""
    log_path = pathlib.Path(folder) / f"{name}.log"
    with open(log_path, "wb") as log:
        process = subprocess.Popen([str(word) for word in command], stdout=log,
                                   stderr=subprocess.STDOUT, start_new_session=True, **more)
    def text():
        return log_path.read_text(errors="replace")

    try:
        try:
            eventually(lambda: process.poll() is not None or is_ready(text()), f"{name} is ready")
        except RuntimeError as late:
            raise RuntimeError(f"{late}\n{text()[-3000:]}") from None
        if process.poll() is not None:
            raise RuntimeError(f"{name} ended:\n{text()[-3000:]}")
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # and the processes that it started
        process.wait()


def get(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.read().decode()


def answers(url):
    try:
        get(url)
    except (urllib.error.URLError, OSError):
        return False
    return True


class Scaler:
    def __init__(self, address):
        self.address = address

    def query(self, metadata):
        """Returns (value, None) or (None, error)."""
        words = [f"{key}={value}" for key, value in metadata.items()]
        query = subprocess.run(
            [BINARY, "query", self.address, "--namespace=shop", "--format=json", *words],
            capture_output=True, text=True, check=False, timeout=60)
        value = json.loads(query.stdout)[0]["value"]
        return (None, value) if isinstance(value, dict) else (value, None)


@contextlib.contextmanager
def serve(folder, name, *flags):
    """Runs `serve` on free loopback ports; yields the ports by name: grpc, metrics, probe."""
    port = "--telemetry-port=any" if "--role=agent" in flags else "--port=any"
    serving = re.compile(r"event=serving.*")
    log = []
    environment = {key: value for key, value in os.environ.items()
                   if not key.lower().endswith("_proxy")}
    with running(folder, name,
                 [BINARY, "serve", port, "--metrics-port=any", "--probe-port=any",
                  "--bind-address=127.0.0.1",
                  *([] if "--role=agent" in flags else ["--web-port=any"]), *flags],
                 lambda text: log.append(text) or serving.search(text), env=environment):
        ports = re.findall(r"(\w+)_port=(\d+)", serving.search(log[-1]).group())
        yield {which: int(number) for which, number in ports}


@contextlib.contextmanager
def scaler(folder):
    """Runs a scaler without GPUs that polls often, so that its value is never older than 0.5 s."""
    with serve(folder, "scaler", "--gpu-source=none", "--engine-interval=200ms",
               "--queue-interval=100ms", "--allow-endpoints=127.0.0.1") as ports:
        yield Scaler(f"127.0.0.1:{ports['grpc']}")
