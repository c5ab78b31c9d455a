"""Programs under test on loopback: the scaler as built, and Debian's Prometheus."""
import contextlib
import json
import re
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import chart

BINARY = chart.ROOT / "build/dev/src/app/keda-gpu-scaler"
SERVING = r"event=serving.*\bgrpc_port=(?P<grpc>\d+) metrics_port=(?P<metrics>\d+)"


TIMEOUT = 20  # seconds, for actions that take one


@contextlib.contextmanager
def running(command, *until):
    """Starts `command`, waits until its log matches all of `until`, and yields their groups."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = []

    def listen():
        """Reads to the end: a full pipe would block the process."""
        for line in process.stdout:
            lines.append(line)

    listener = threading.Thread(target=listen)
    listener.start()

    def found():
        return [re.search(pattern, "".join(lines)) for pattern in until]

    try:
        eventually(lambda: all(found()) or not listener.is_alive(), TIMEOUT, every=0.02)
        if not all(found()):
            raise RuntimeError(f"{command[0]} did not start:\n{''.join(lines)}")
        yield {name: text for match in found() for name, text in match.groupdict().items()}
    finally:
        process.terminate()
        try:
            process.wait(TIMEOUT)
        finally:
            process.kill()
            listener.join()
            process.stdout.close()


@contextlib.contextmanager
def serving(*options):
    """Yields its ports, by name."""
    port = "--telemetry-port=any" if "--role=agent" in options else "--port=any"
    command = [BINARY, "serve", port, "--metrics-port=any", "--probe-port=any",
               "--bind-address=127.0.0.1",
               *([] if "--role=agent" in options else ["--web-port=any"]), *options]
    with running(command, SERVING) as found:
        yield found


def scaler(gpu_file, *options):
    return serving(f"--gpu-source=file:{gpu_file}", *options)


def query(port, *arguments):
    """Returns the output of `keda-gpu-scaler query`; raises if it fails."""
    return subprocess.run([BINARY, "query", f"127.0.0.1:{port}", *arguments], check=True,
                          text=True, stdout=subprocess.PIPE, timeout=TIMEOUT).stdout


class Prometheus:
    def __init__(self, address):
        self.url = f"http://{address}/api/v1/"

    def get(self, path, **parameters):
        url = self.url + path + "?" + urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(url, timeout=5) as reply:
            return json.load(reply)["data"]

    def values(self, expression):
        """Returns the values of an instant query, without NaN."""
        found = [float(each["value"][1]) for each in self.get("query", query=expression)["result"]]
        return [value for value in found if value == value]


@contextlib.contextmanager
def prometheus(folder, targets, *options):
    """Runs a server that scrapes `targets` twice a second."""
    config = folder / "prometheus.yaml"
    config.write_text(json.dumps({
        "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
        "scrape_configs": [{"job_name": "keda-gpu-scaler",
                            "static_configs": [{"targets": targets}]}]}))
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
               "--web.listen-address=127.0.0.1:0", *options]
    with running(command, r'msg="Listening on" address=(?P<address>\S+)',
                 "Server is ready to receive web requests") as found:
        yield Prometheus(found["address"])


def eventually(condition, seconds, every=0.2):
    """Waits until `condition` is true; returns its last value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(every)
    return value
