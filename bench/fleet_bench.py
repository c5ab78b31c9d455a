"""An aggregator under a whole fleet: simulated agents, the real program, KEDA's and the HPAs' calls."""
import contextlib
import math
import pathlib
import re
import struct
import time

import wire
from percentiles import nearest_rank
from server_process import LineProcess, ServerProcess

SIZES = (100, 1000, 5000)
GPUS_PER_NODE = 8
AGENTS_PER_PROCESS = 2000  # an agent has 8 open files, and a process may have 20,000 on many machines
PAST_SECONDS = 130  # the past that agents send first: as long as the profiles' windows
SETTLE_SECONDS = 16  # every HPA has polled once
MEASURE_SECONDS = 60  # 500 edges: a p99 is the fifth-longest
METHODS = ("GetMetricSpec", "GetMetrics", "IsActive")  # KEDA's calls, one after another
LONGEST_ANSWER_SECONDS = 5  # fleet_keda.cc; an edge is missed after 3
FLOOR_SECONDS = 20
VIEW_TIMEOUT_SECONDS = 90

# It counts every GPU with a constant 73 GiB, so the sum shows the number of known GPUs.
WHOLE_FLEET = {"scope": "fleet", "metricType": "memory_used_mib", "targetValue": "1000",
               "window": "0s"}
MIB_PER_GPU = 73 * 1024


class Agents(contextlib.ExitStack):
    """The agents of a fleet, in as many processes as their open files need."""

    def __init__(self, build, nodes, mode):
        super().__init__()
        self.parts = [self.enter_context(LineProcess(
            [build / "bench/fleet_agents", str(first), str(min(AGENTS_PER_PROCESS, nodes - first)),
             mode, str(PAST_SECONDS)])) for first in range(0, nodes, AGENTS_PER_PROCESS)]

    def addresses(self):
        return ",".join(part.next("serving", 300)[0] for part in self.parts)

    def sent(self):
        """Returns messages, bytes, and the longest delay of a reading in us since the last call."""
        messages, sent, lateness = zip(*(map(int, part.ask("sent")) for part in self.parts))
        return sum(messages), sum(sent), max(lateness)

    def edges(self):
        return [edge for part in self.parts for edge in part.all("edge")]

    def rss_kib(self):
        return sum(part.rss_kib() for part in self.parts)

    def cpu_seconds(self):
        return sum(part.cpu_seconds() for part in self.parts)


def aggregator(program, addresses, port="any"):
    return [program, "serve", "--role", "aggregator", "--agents", addresses, "--bind-address",
            "127.0.0.1", "--port", str(port), "--metrics-port", "any", "--probe-port", "any",
            "--web-port", "any", "--poll-interval", "1s"]


def seconds_until(began, condition, pause):
    """Returns the seconds from `began` until `condition` is true, or infinity after a timeout.

    Checks take at most a tenth of the time: the metrics page of 5,000 agents takes 0.1 s of a core.
    """
    while time.monotonic() - began < VIEW_TIMEOUT_SECONDS:
        check_began = time.monotonic()
        if condition():
            return time.monotonic() - began
        time.sleep(max(pause, 9 * (time.monotonic() - check_began)))
    return math.inf


def hears_all(server, nodes):
    """Checks the metrics page, which leaves less memory behind than a trigger on the whole fleet."""
    heard = re.search(r"^keda_gpu_scaler_agents_heard (\d+)$", server.metrics(), re.M)
    return heard is not None and int(heard.group(1)) == nodes


def counts_all_gpus(server, nodes):
    """Checks the value of WHOLE_FLEET."""
    try:
        reply = wire.call(server.port, "GetMetrics", timeout=5, metadata=WHOLE_FLEET)
    except TimeoutError:  # every answer is due within 2 s
        return False
    whole = nodes * GPUS_PER_NODE * MIB_PER_GPU
    return bool(reply) and struct.unpack("<d", reply[-8:])[0] == whole  # metricValueFloat, its last field


def seconds_to_full_view(server, nodes):
    """Returns seconds and CPU seconds from exec until a value counts every GPU of the fleet."""
    seconds_until(server.started_at, lambda: hears_all(server, nodes), 0.1)
    seconds = seconds_until(server.started_at, lambda: counts_all_gpus(server, nodes), 0.02)
    return seconds, server.cpu_seconds()


def fleet(build, sizes, streams="all"):
    """Returns results by size, then by idle or busy GPUs."""
    return {str(nodes): {mode: one_fleet(build, nodes, mode, streams) for mode in ("idle", "busy")}
            for nodes in sizes}


def floor(build, nodes, mode):
    """Returns the cost of receiving and dropping all messages of the agents with gRPC."""
    with Agents(build, nodes, mode) as agents:
        addresses = agents.addresses()
        with LineProcess([build / "bench/fleet_floor"]) as reader:
            reader.process.stdin.write(addresses + "\n")
            reader.process.stdin.flush()
            all_heard = lambda: int(reader.ask("heard")[1]) == nodes
            if seconds_until(time.monotonic(), all_heard, 0.1) == math.inf:
                raise RuntimeError(f"not all of {nodes} agents were heard")
            time.sleep(SETTLE_SECONDS)
            heard, began, cpu = int(reader.ask("heard")[0]), time.monotonic(), reader.cpu_seconds()
            time.sleep(FLOOR_SECONDS)
            seconds = time.monotonic() - began
            return {"cpu_percent_of_a_core": 100 * (reader.cpu_seconds() - cpu) / seconds,
                    "messages_per_second": (int(reader.ask("heard")[0]) - heard) / seconds,
                    "rss_mib": reader.rss_kib() / 1024}


def one_fleet(build, nodes, mode, streams):
    program = build / "src/app/keda-gpu-scaler"
    with Agents(build, nodes, mode) as agents:
        addresses = "static:" + agents.addresses()
        with ServerProcess(aggregator(program, addresses)) as server:
            all_heard = seconds_until(server.started_at, lambda: hears_all(server, nodes), 0.1)
            with LineProcess([build / "bench/fleet_keda", f"127.0.0.1:{server.port}",
                              streams]) as keda:
                time.sleep(SETTLE_SECONDS)
                results = measured(agents, server, keda)
                results["view_seconds"] = all_heard if counts_all_gpus(server, nodes) else math.inf
                results["stop_seconds"] = server.end()
                with ServerProcess(aggregator(program, addresses, server.port)) as again:
                    results["restart_view_seconds"], results["restart_view_cpu_seconds"] = (
                        seconds_to_full_view(again, nodes))
    results["floor"] = floor(build, nodes, mode)
    return results


def measured(agents, server, keda):
    """Returns the cost of MEASURE_SECONDS, and the latencies in that time."""
    before = counts(agents, server, keda)
    time.sleep(MEASURE_SECONDS)
    after = counts(agents, server, keda)
    seconds = (after["ns"] - before["ns"]) / 1e9
    per_second = {key: (after[key] - before[key]) / seconds for key in before}
    memory = server.memory_kib()
    within = range(before["ns"], after["ns"])
    agents_rss = agents.rss_kib()
    time.sleep(LONGEST_ANSWER_SECONDS)  # the last calls are answered or have failed
    results = {
        "cpu_percent_of_a_core": 100 * per_second["server"],
        "agents_cpu_percent": 100 * per_second["agents"],
        "keda_cpu_percent": 100 * per_second["keda"],
        "cores_busy": per_second["busy_ticks"] / 100,
        "rss_mib": memory["rss"] / 1024,
        "peak_rss_mib": memory["peak_rss"] / 1024,
        "agents_rss_mib": agents_rss / 1024,
        "messages_per_second": per_second["messages"],
        "bytes_per_second": per_second["bytes"],
        "agents_latest_ms": after["lateness_us"] / 1000,
        "edges": edges(agents, keda, within),
    }
    for method in METHODS:
        calls = [(int(took), code) for name, began, took, code in keda.all("call")
                 if name == method and int(began) in within]
        if not calls:
            raise RuntimeError(f"no {method} in {MEASURE_SECONDS} s")
        results[method] = percentiles(took / 1e6 for took, _ in calls)
        results[method]["errors"] = sum(code != "0" for _, code in calls)
    return results


def counts(agents, server, keda):
    messages, sent, lateness = agents.sent()
    ticks = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    return {"ns": time.monotonic_ns(), "server": server.cpu_seconds(),
            "agents": agents.cpu_seconds(), "keda": keda.cpu_seconds(),
            "busy_ticks": sum(map(int, ticks)) - int(ticks[3]) - int(ticks[4]),
            "messages": messages, "bytes": sent, "lateness_us": lateness}


def edges(agents, keda, within):
    """Returns milliseconds from the reading of a busy workload to the arrival of KEDA's `true`."""
    pushed = {}
    for name, state, ns in keda.all("pushed"):
        if state == "1":
            pushed.setdefault(name, []).append(int(ns))
    took, missed = [], 0
    for name, ns in agents.edges():
        if int(ns) not in within:
            continue
        # The workload stays busy for three readings.
        arrived = [each - int(ns) for each in pushed.get(name, []) if 0 <= each - int(ns) < 3e9]
        if arrived:
            took.append(arrived[0] / 1e6)
        else:
            missed += 1
    return {**percentiles(took), "missed": missed}


def percentiles(values):
    ordered = sorted(values)
    if not ordered:
        return {"count": 0, "p50": math.inf, "p99": math.inf, "max": math.inf}
    return {"count": len(ordered), "p50": nearest_rank(ordered, 50),
            "p99": nearest_rank(ordered, 99), "max": ordered[-1]}


ROWS = [  # name, function, format
    ("aggregator's CPU, % of a core", lambda one: one["cpu_percent_of_a_core"], ".1f"),
    ("CPU for an agent's second, us",
     lambda one: one["cpu_percent_of_a_core"] * 1e4 / one["nodes"], ".0f"),
    ("RSS, MiB", lambda one: one["rss_mib"], ".0f"),
    ("gRPC alone, CPU, % of a core", lambda one: one["floor"]["cpu_percent_of_a_core"], ".1f"),
    ("gRPC alone, RSS, MiB", lambda one: one["floor"]["rss_mib"], ".0f"),
    ("messages received, KiB/s", lambda one: one["bytes_per_second"] / 1024, ".1f"),
    ("GetMetrics p50, ms", lambda one: one["GetMetrics"]["p50"], ".2f"),
    ("GetMetrics p99, ms", lambda one: one["GetMetrics"]["p99"], ".2f"),
    ("reading to pushed edge p50, ms", lambda one: one["edges"]["p50"], ".1f"),
    ("reading to pushed edge p99, ms", lambda one: one["edges"]["p99"], ".1f"),
    ("edges, of them never pushed", lambda one: one["edges"]["missed"], "d"),
    ("calls that failed", lambda one: sum(one[method]["errors"] for method in METHODS), "d"),
    ("start to full view, s", lambda one: one["view_seconds"], ".1f"),
    ("SIGTERM to its end, s", lambda one: one["stop_seconds"], ".1f"),
    ("restart to full view, s", lambda one: one["restart_view_seconds"], ".1f"),
    ("CPU time of that, s", lambda one: one["restart_view_cpu_seconds"], ".1f"),
    ("all processes of the machine, cores", lambda one: one["cores_busy"], ".1f"),
    ("simulated agents late by at most, ms", lambda one: one["agents_latest_ms"], ".0f"),
]

BUDGETS = {  # busy nodes: name, function, format, most
    "1000": [("% of a core", lambda busy: busy["cpu_percent_of_a_core"], ".1f", 20),
             ("RSS, MiB", lambda busy: busy["rss_mib"], ".0f", 120),
             ("GetMetrics p99, ms", lambda busy: busy["GetMetrics"]["p99"], ".2f", 5),
             ("reading to edge p99, ms", lambda busy: busy["edges"]["p99"], ".1f", 5)],
    "5000": [("% of a core", lambda busy: busy["cpu_percent_of_a_core"], ".1f", 100),
             ("GetMetrics p99, ms", lambda busy: busy["GetMetrics"]["p99"], ".2f", 50),
             ("restart to full view, s", lambda busy: busy["restart_view_seconds"], ".1f", 10)],
}


def table(results, verdict):
    """Yields lines of "name, results by size", then the budgets at 1,000 and 5,000 nodes."""
    yield "fleet of so many agents", "".join(f"{int(nodes):>12,}" for nodes in results)
    for mode in ("idle", "busy"):
        for what, of, form in ROWS:
            values = [of({**both[mode], "nodes": int(nodes)}) for nodes, both in results.items()]
            yield f"{mode}: {what}", "".join(f"{value:>12{form}}" for value in values)
    for nodes, budgets in BUDGETS.items():
        if nodes not in results:
            continue
        busy, name = results[nodes]["busy"], f"{int(nodes):,} busy nodes, "
        # Being fast with missing agents or errors does not count.
        failed = sum(busy[method]["errors"] for method in METHODS) + busy["edges"]["missed"]
        sound = failed == 0 and busy["view_seconds"] < math.inf
        yield name + "calls and edges that failed", verdict(f"{failed}", "none", sound)
        for what, of, form, most in budgets:
            value = of(busy)
            yield name + what, verdict(f"{value:{form}}", f"at most {most}", sound and value <= most)
