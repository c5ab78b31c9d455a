"""`report` over a week in a real Prometheus: restarts, gaps, and nodes that join and leave. Each sum is
computed here from what every GPU did in every minute, and compared to the cent."""
import contextlib
import csv
import datetime
import decimal
import fractions
import io
import json
import pathlib
import subprocess
import tempfile
import unittest

import processes

FROM = datetime.datetime(2026, 1, 5, tzinfo=datetime.timezone.utc)
MINUTES = 7 * 24 * 60
STEP = 5  # minutes between two points that the report reads
STATES = ("busy", "idle", "starting", "free", "unknown")
PRICES = {"NVIDIA H200": "3.333333", "NVIDIA L4": "0.7", "Instinct MI300X": "2.05"}
COUNTER = "keda_gpu_scaler_gpu_seconds_total"


class Node:
    """`agents` are (first minute, last minute, instance) of each process that counted. Between two of
    them, and in `unscraped`, Prometheus has no points."""

    def __init__(self, name, model, gpus, agents, unscraped=()):
        self.name, self.model, self.gpus, self.agents = name, model, gpus, agents
        self.unscraped = unscraped

    def doing(self, minute):
        """Returns {(namespace, workload, state): seconds of GPUs} in that minute."""
        hour, seconds = minute // 60 % 24, {}

        def add(owner, state, gpus):
            key = (*owner, state)
            seconds[key] = seconds.get(key, 0) + fractions.Fraction(60) * gpus

        chat, batch = ("shop", "chat"), ("lab", f"train-{minute // 1440}")
        held = self.gpus if 8 <= hour < 20 else self.gpus // 2
        if 8 <= hour < 20 and minute % 60 < 6:
            add(chat, "starting", 1)
            add(chat, "busy", held - 1)
        elif hour < 20:
            # Two workloads share one GPU by thirds.
            add(chat, "busy" if hour >= 8 else "idle", held - fractions.Fraction(1, 3))
            add(batch, "busy", fractions.Fraction(1, 3))
        else:
            add(batch, "busy", held)
        if self.gpus > held:
            add(("", ""), "free", self.gpus - held)
        return seconds

    def points(self):
        """Returns {(instance, counter): [(minute, seconds)...]}: a counter at the end of each minute."""
        series = {}
        for first, last, instance in self.agents:
            counters = {}
            for minute in range(first, last + 1):
                if minute > first:
                    for key, seconds in self.doing(minute - 1).items():
                        counters[key] = counters.get(key, 0) + seconds
                if any(begin <= minute < end for begin, end in self.unscraped):
                    continue
                for key, seconds in counters.items():
                    series.setdefault((instance, key), []).append((minute, seconds))
        return series

    def booked(self):
        """Returns {(namespace, workload, state): seconds} of the whole week."""
        booked, there = {}, 0
        for first, last, instance in self.agents:
            seen = max(minute for minute in range(first, last + 1)
                       if self.is_seen(minute, first, last, instance))
            for minute in range(max(first, 0), seen):
                for key, seconds in self.doing(minute).items():
                    booked[key] = booked.get(key, 0) + seconds
        there = max(last for _, last, _ in self.agents) - max(0, min(first for first, _, _ in self.agents))
        unknown = there * 60 * self.gpus - sum(booked.values())
        if unknown:
            booked["", "", "unknown"] = unknown
        return booked

    def is_seen(self, minute, first, last, instance):
        """Whether the point of that minute is the newest one of its series at some step."""
        if any(begin <= minute < end for begin, end in self.unscraped):
            return False
        step = -(-minute // STEP) * STEP
        if step > MINUTES:
            return False
        following = [begin for begin, _, other in self.agents if begin > last and other == instance]
        replaced = bool(following) and min(following) < step
        return step == minute or (minute == last and not replaced)


NODES = [
    # Restarts within a step and on one, in place and as another pod.
    Node("gpu-1", "NVIDIA H200", 8, [(0, 1003, "a"), (1004, 4000, "a"), (4002, 7777, "b"),
                                     (7779, MINUTES, "c")]),
    # Not scraped for 40 minutes, while its agent counts.
    Node("gpu-2", "NVIDIA L4", 4, [(0, MINUTES, "a")], unscraped=[(3000, 3040)]),
    # Down for half an hour.
    Node("gpu-3", "Instinct MI300X", 2, [(0, 5000, "a"), (5030, MINUTES, "b")]),
    # Leaves, and another one joins.
    Node("gpu-4", "NVIDIA H200", 2, [(0, 4320, "a")]),
    Node("gpu-5", "NVIDIA L4", 4, [(5762, MINUTES, "a")]),
]


def open_metrics():
    lines = [f"# TYPE {COUNTER.removesuffix('_total')} counter"]
    for node in NODES:
        for (instance, (namespace, workload, state)), points in node.points().items():
            labels = {"job": "agents", "instance": f"{node.name}-{instance}", "node": node.name,
                      "gpu_model": node.model, "state": state}
            if workload:
                labels |= {"namespace": namespace, "workload": workload}
            text = ",".join(f'{name}="{value}"' for name, value in labels.items())
            lines += [f"{COUNTER}{{{text}}} {float(seconds)!r} {FROM.timestamp() + 60 * minute:.0f}"
                      for minute, seconds in points]
    return "\n".join([*lines, "# EOF", ""])


def expected(group):
    """Returns {key: {state: seconds}, ...} and {key: exact cost}."""
    hours, costs = {}, {}
    for node in NODES:
        for (namespace, workload, state), seconds in node.booked().items():
            key = {"namespace": namespace, "workload": f"{namespace}/{workload}" if workload else "",
                   "model": node.model, "node": node.name}[group]
            states = hours.setdefault(key, dict.fromkeys(STATES, fractions.Fraction(0)))
            states[state] += seconds
            costs[key] = (costs.get(key, 0)
                          + seconds * fractions.Fraction(PRICES[node.model]) / 3600)
    return hours, costs


def cents(amount):
    """Rounds an exact amount half to even."""
    scaled = round(amount * 100)  # a Fraction rounds half to even
    return decimal.Decimal(scaled) / 100


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.folder = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory()))
        (cls.folder / "week.om").write_text(open_metrics())
        (cls.folder / "data").mkdir()
        subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet",
                        cls.folder / "week.om", cls.folder / "data"], check=True,
                       stdout=subprocess.DEVNULL)
        (cls.folder / "prices.csv").write_text("GPU model,price per hour\n" + "".join(
            f"{model},{price}\n" for model, price in PRICES.items()))
        prometheus = cls.stack.enter_context(
            processes.prometheus(cls.folder, [], "--storage.tsdb.retention.time=100y"))
        cls.url = prometheus.url.removesuffix("/api/v1/")

    def report(self, *arguments):
        until = FROM + datetime.timedelta(minutes=MINUTES)
        done = subprocess.run(
            [processes.BINARY, "report", f"--prometheus={self.url}", "--since=7d",
             f"--until={until:%Y-%m-%dT%H:%M:%SZ}", f"--prices={self.folder}/prices.csv",
             "--currency=USD", *arguments], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_sums_are_right_to_the_cent(self):
        for group in ("namespace", "workload", "model", "node"):
            hours, costs = expected(group)
            found = json.loads(self.report(f"--by={group}", "--format=json"))
            self.assertEqual({row["key"] for row in found["rows"]}, set(hours))
            for row in found["rows"]:
                with self.subTest(group=group, key=row["key"]):
                    for state in STATES:
                        self.assertAlmostEqual(row["gpu_hours"][state],
                                               float(hours[row["key"]][state] / 3600), places=6)
                    self.assertEqual(decimal.Decimal(str(row["cost"])), cents(costs[row["key"]]))
            self.assertEqual(decimal.Decimal(str(found["total"]["cost"])), cents(sum(costs.values())))

    def test_the_week_is_complete(self):
        total = json.loads(self.report("--format=json"))["total"]
        there = 8 * MINUTES + 4 * MINUTES + 2 * MINUTES + 2 * 4320 + 4 * (MINUTES - 5762)
        self.assertAlmostEqual(total["total"], there / 60, places=6)
        self.assertGreater(total["gpu_hours"]["unknown"], 0)

    def test_csv_and_table_have_the_same_costs(self):
        _, costs = expected("workload")
        rows = list(csv.DictReader(io.StringIO(self.report("--by=workload", "--format=csv"))))
        self.assertEqual(
            {(row["SubAccountName"], row["ResourceName"]): row["BilledCost"] for row in rows},
            {tuple(key.split("/")) if key else ("", ""): f"{cents(cost):.2f}"
             for key, cost in costs.items()})
        self.assertEqual({row["BillingCurrency"] for row in rows}, {"USD"})
        self.assertEqual({row["ChargePeriodStart"] for row in rows}, {"2026-01-05T00:00:00Z"})
        table = self.report("--by=workload")
        for cost in costs.values():
            self.assertRegex(table, rf"\s{cents(cost):.2f}\s")
        self.assertIn("Estimate, calculated and not measured", table)

    def test_a_period_without_points_is_an_error(self):
        done = subprocess.run(
            [processes.BINARY, "report", f"--prometheus={self.url}", "--since=1d",
             "--until=2020-01-01T00:00:00Z"], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 4)
        self.assertIn("does Prometheus scrape the agents", done.stderr)


if __name__ == "__main__":
    unittest.main()
