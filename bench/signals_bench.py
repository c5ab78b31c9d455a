"""Engines, pages and queues: the cost of reading them, and the latency of a waiting request."""
import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from percentiles import nearest_rank
from server_process import ServerProcess

ROOT = pathlib.Path(__file__).resolve().parent.parent

PAGE = {  # keys: names in page_bench
    "BM_FindLineFeeds": "looking for a page's line feeds",
    "BM_ReadPage": "a page read and checked",
    "BM_ReadVllm/gauges_and_counters": "the reading of a vLLM",
    "BM_ReadVllm/histograms_too": "the same with histograms"}

POLLS = {  # engines, silent ones among them, seconds
    "200 engines each second": ["200", "0", "30"],
    "200 engines each second, 20 silent": ["200", "20", "30"]}

WAKES = {  # place of the waiting request, the scaler's flags, its interval, edges
    "a job in Redis": ("redis", [], 200, 200),
    "a request at a gateway": ("gateway", [], 200, 200),
    "a request at an engine": ("engine", [], 1000, 100),
    "a request at an engine, --engine-interval 200ms": (
        "engine", ["--engine-interval=200ms"], 200, 200)}
WAKE_OVERHEAD_MS = 50  # beyond the interval: 250 ms for a source that is read every 200


def signals(build, results_folder):
    return {"page": page(build, results_folder), "polls": polls(build), "wakes": wakes(build),
            "prometheus": against_prometheus(build, results_folder)}


def page(build, results_folder):
    """Returns milliseconds of CPU for a vLLM page of 1 MiB."""
    out = results_folder / "page.json"
    subprocess.run([build / "bench/page_bench", f"--benchmark_out={out}",
                    "--benchmark_out_format=json", "--benchmark_min_time=0.5"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {run["name"]: run["cpu_time"] / 1000  # microseconds there
            for run in json.loads(out.read_text())["benchmarks"]}


def polls(build):
    """Returns the cost of polling engines, also with some that never answer."""
    return {name: json.loads(subprocess.run([build / "bench/engine_polls", *arguments], check=True,
                                            stdout=subprocess.PIPE, text=True).stdout)
            for name, arguments in POLLS.items()}


def wakes(build):
    """Runs all in parallel, each with its own scaler: they mostly wait."""
    with ThreadPoolExecutor(len(WAKES)) as threads:
        runs = {name: threads.submit(wake, build, *how) for name, how in WAKES.items()}
    return {name: run.result() for name, run in runs.items()}


def wake(build, place, flags, interval_ms, edges):
    """Returns demand_client's milliseconds from a waiting request to a pushed `true`."""
    program = build / "src/app/keda-gpu-scaler"
    with waiting_place(build, place) as port, ServerProcess(
            [program, "serve", "--gpu-source=none", "--bind-address=127.0.0.1", "--port=any",
             "--metrics-port=any", "--probe-port=any", "--web-port=0",
             "--allow-endpoints=127.0.0.1",
             *flags]) as ours:
        output = subprocess.run(
            [build / "bench/demand_client", f"127.0.0.1:{ours.port}", str(interval_ms), str(edges),
             place, str(port)],
            check=True, stdout=subprocess.PIPE, text=True).stdout
    took = sorted(int(line) / 1e6 for line in output.split())
    if len(took) != edges:
        raise RuntimeError(f"{place}: {len(took)} pushes for {edges} edges")
    return {"interval_ms": interval_ms, "ms": took, "max": took[-1],
            **{f"p{percent}": nearest_rank(took, percent) for percent in (50, 95, 99)}}


def waiting_place(build, place):
    """Returns a context with the port of the place where requests wait."""
    if place == "redis":
        return redis()
    if place == "engine":
        return stand_in(build)
    return contextlib.nullcontext(0)  # the client serves it itself


@contextlib.contextmanager
def redis():
    """Runs Debian's redis-server without persistence."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder, ending(subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir",
             folder], stdout=subprocess.DEVNULL)):
        wait_for_port(port)
        yield port


@contextlib.contextmanager
def stand_in(build):
    """Runs an engine with a batch of one request."""
    lab = build / "src/lab/keda-gpu-scaler-lab"
    with ending(subprocess.Popen([lab, "engine", "--port=0", "--max-num-seqs=1", "--drain=0s"],
                                 stderr=subprocess.PIPE, text=True)) as engine:
        port = int(re.search(r"\bport=(\d+)", engine.stderr.readline()).group(1))
        wait_for_port(port)
        yield port


@contextlib.contextmanager
def ending(process):
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_port(port, seconds=20):
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def against_prometheus(build, results_folder):
    """Returns seconds from load to replicas on a control plane (tests/e2e/prometheus_test.go)."""
    out = results_folder / "prometheus.json"
    out.unlink(missing_ok=True)
    subprocess.run(
        [ROOT / "tools/go", "tests/e2e", "test", "-count=1", "-timeout=30m", "-run",
         "^TestDemandReachesAllReplicasBeforeKedasTriggerThroughPrometheus$", "."],
        cwd=ROOT, check=True,
        env={**os.environ, "E2E_AGAINST_PROMETHEUS": str(out),
             "E2E_BUILD": str(build)})
    return json.loads(out.read_text())


def table(results, verdict):
    """Yields lines of "name, result, budget, verdict"."""
    for benchmark, name in PAGE.items():
        took = results["page"][benchmark]
        form = verdict(f"{took:.2f}", "under 5", took < 5) if benchmark == "BM_ReadPage" else (
            f"{took:>12.2f}")
        yield f"{name}, 1 MiB, CPU, ms", form
    for name, one in results["polls"].items():
        yield f"{name}, CPU, % of a core", f"{one['cpu_percent_of_a_core']:>12.1f}"
        yield f"{name}, RSS, MiB", f"{one['rss_kib'] / 1024:>12.1f}"
        yield f"{name}, age of a reading p50, ms", f"{one['age_p50_ms']:>12.0f}"
        yield f"{name}, age of a reading p99, ms", f"{one['age_p99_ms']:>12.0f}"
        yield f"{name}, age of a reading max, ms", f"{one['age_max_ms']:>12.0f}"
    for name, one in results["wakes"].items():
        most = one["interval_ms"] + WAKE_OVERHEAD_MS
        yield f"{name}, to pushed, p50, ms", f"{one['p50']:>12.1f}"
        yield f"{name}, to pushed, p95, ms", f"{one['p95']:>12.1f}"
        yield f"{name}, to pushed, p99, ms", verdict(f"{one['p99']:.1f}", f"at most {most:,}",
                                                     one["p99"] <= most)
        yield f"{name}, to pushed, max, ms", f"{one['max']:>12.1f}"
    together = results["prometheus"]
    for what, key in (("first replica", "first_seconds"),
                      (f"{together['replicas']} replicas", "all_seconds")):
        ours, kedas = (sorted(together[way][key]) for way in ("ours", "keda"))
        half, theirs = nearest_rank(ours, 50), nearest_rank(kedas, 50)
        yield f"load to {what}, s", verdict(f"{half:.1f}", "less than KEDA's",
                                            half < theirs) + span(ours)
        yield "the same by KEDA's trigger through Prometheus, s", f"{theirs:>12.1f}" + span(kedas)


def span(ordered):
    return f"   ({ordered[0]:.1f} to {ordered[-1]:.1f})"
