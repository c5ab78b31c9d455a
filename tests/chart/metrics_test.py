"""Dashboard and alerts, against a real Prometheus that scrapes the real scaler."""
import contextlib
import json
import pathlib
import re
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import chart
import processes

DASHBOARDS = [json.loads(path.read_text())
              for path in sorted((chart.ROOT / "deploy/grafana").glob("*.json"))]
RULES = sorted((chart.ROOT / "deploy/alerts").glob("*.rules.yaml"))
# Values for Grafana's variables.
VARIABLES = {"$job": "keda-gpu-scaler", "$instance": ".*", "$gpu": ".*", "$__rate_interval": "10s",
             "$__range": "10s", "$namespace": ".*", "$model": ".*", "$price": "2.5"}
# No pod holds the GPUs of this test, and none is free, idle or starting.
WITHOUT_DATA = re.compile('workload!=""|state="(free|idle|starting)"')

# No trigger of this test has an engine.
OF_ENGINES = {"keda_gpu_scaler_batch_limit_known"}


def gpu(index, utilization):
    return {"index": index, "name": "Simulated", "utilization_percent": utilization,
            "memory_utilization_percent": 20, "memory_used_bytes": 30 * 2**30,
            "memory_total_bytes": 80 * 2**30, "temperature_celsius": None if index else 60,
            "power_watts": 300, "power_limit_watts": 700, "pcie_tx_kbps": 5, "pcie_rx_kbps": 6,
            "nvlink_tx_mbps": 7, "nvlink_rx_mbps": 8, "sm_activity_percent": 50,
            "dram_activity_percent": 40, "tensor_activity_percent": 30,
            "ecc_uncorrected_errors": 1, "throttle_reasons": 4}


# Two GPUs with changing values; one has no temperature.
GPU_FILE = {"driver_version": "550", "frames": [
    {"seconds": 1, "gpus": [gpu(0, utilization), gpu(1, 100 - utilization)]}
    for utilization in (40, 90)]}


def targets():
    """Returns (title of the panel, query) for all dashboards."""
    return [(panel["title"], target["expr"]) for dashboard in DASHBOARDS
            for panel in dashboard["panels"] for target in panel.get("targets", [])]


def filled_in(text):
    for name, value in VARIABLES.items():
        text = text.replace(name, value)
    return text


def metric_names(text):
    return set(re.findall(r"keda_gpu_scaler_\w+", text))


class Dashboard(unittest.TestCase):
    def test_each_graph_of_gpus_is_of_those_that_the_variable_selects(self):
        graphs = [target["expr"] for dashboard in DASHBOARDS for panel in dashboard["panels"]
                  if panel["type"] == "timeseries" for target in panel["targets"]
                  if re.search("keda_gpu_scaler_gpu_(?!seconds)", target["expr"])]
        self.assertGreater(len(graphs), 5)
        for expression in graphs:
            series = re.findall(r"keda_gpu_scaler_gpu_\w+\{[^}]*\}", expression)
            self.assertTrue(series and all('gpu_index=~"$gpu"' in each for each in series), expression)

    def test_panels_do_not_overlap(self):
        for dashboard in DASHBOARDS:
            taken = {}
            for panel in dashboard["panels"]:
                at = panel["gridPos"]
                for x in range(at["x"], at["x"] + at["w"]):
                    for y in range(at["y"], at["y"] + at["h"]):
                        self.assertLess(x, 24, panel["title"])
                        self.assertNotIn((x, y), taken, panel["title"])
                        taken[x, y] = panel["title"]

    def test_ids_are_unique(self):
        self.assertEqual(len({each["uid"] for each in DASHBOARDS}), len(DASHBOARDS))
        for dashboard in DASHBOARDS:
            ids = [panel["id"] for panel in dashboard["panels"]]
            self.assertEqual(len(set(ids)), len(ids), dashboard["title"])


class Costs(unittest.TestCase):
    """promtool calculates the board's costs of an hour of 2 H200, one of them idle, 4 L4 and 8 T4."""

    def test_each_model_has_its_price_or_the_boards(self):
        # Two aggregators export the prices. That of the H200 fell at a restart, and the L4 left.
        prices = {("H200", "old"): "9x10 stale", ("H200", "a"): "_x11 3x50",
                  ("H200", "b"): "_x11 3x50", ("L4", "old"): "0.5x10 stale"}
        self.check(prices, {"Cost": 2 * 3 + 4 * 0.5 + 8 * 2.5, "Idle cost": 3})

    def test_without_prices_all_models_have_the_boards(self):
        self.check({}, {"Cost": 14 * 2.5, "Idle cost": 2.5})

    def check(self, prices, amounts):
        series = [{"series": 'keda_gpu_scaler_gpu_seconds_total{job="keda-gpu-scaler", '
                             f'gpu_model="{model}", state="{state}"}}', "values": f"0+{60 * gpus}x60"}
                  for model, state, gpus in (("H200", "busy", 1), ("H200", "idle", 1),
                                             ("L4", "busy", 4), ("T4", "busy", 8))]
        series += [{"series": f'keda_gpu_scaler_gpu_hourly_price{{gpu_model="{model}", '
                              f'instance="{instance}"}}', "values": values}
                   for (model, instance), values in prices.items()]
        expressions = dict(targets())
        tests = [{"expr": filled_in(expressions[title]).replace("[10s]", "[1h]"), "eval_time": "1h",
                  "exp_samples": [{"labels": "{}", "value": amount}]}
                 for title, amount in amounts.items()]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "costs.yaml")
            file.write_text(json.dumps({"tests": [
                {"interval": "1m", "input_series": series, "promql_expr_test": tests}]}))
            done = subprocess.run(["promtool", "test", "rules", file], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        folder = pathlib.Path(cls.stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "gpus.json").write_text(json.dumps(GPU_FILE))
        (folder / "prices.csv").write_text("GPU model,price per hour\nSimulated,4\n")
        # All roles: a standalone scaler, an agent, its aggregator.
        reading = [folder / "gpus.json", "--poll-interval=500ms"]
        prices = f"--prices={folder}/prices.csv"
        ports = cls.stack.enter_context(processes.scaler(*reading, prices))
        # Its kubelet does not answer.
        agent = cls.stack.enter_context(processes.scaler(
            *reading, "--role=agent", "--attribution=kubelet",
            f"--pod-resources-socket={folder}/kubelet.sock"))
        aggregator = cls.stack.enter_context(processes.serving(
            "--role=aggregator", f"--agents=static:127.0.0.1:{agent['grpc']}",
            "--poll-interval=500ms", prices))
        cls.pages = [f"127.0.0.1:{each['metrics']}" for each in (ports, agent, aggregator)]
        cls.prometheus = cls.stack.enter_context(processes.prometheus(folder, cls.pages))
        cls.stack.enter_context(asking(ports["grpc"]))

    def test_every_query_of_the_dashboard_returns_data(self):
        self.assertGreater(len(targets()), 20)
        for title, expression in targets():
            with self.subTest(title):
                ready = filled_in(expression)
                self.assertNotIn("$", ready)
                if WITHOUT_DATA.search(ready):
                    self.prometheus.values(ready)
                    continue
                self.assertTrue(
                    processes.eventually(lambda: self.prometheus.values(ready), seconds=20), ready)

    def test_costs_have_the_price_of_the_scaler(self):
        hours, cost = (filled_in(dict(targets())[title]) for title in ("GPU-hours", "Cost"))
        ratio = lambda: self.prometheus.values(f"round(({cost}) / ({hours}), 0.001)") == [4]
        self.assertTrue(processes.eventually(ratio, seconds=20), cost)

    def test_its_variables_offer_what_prometheus_has(self):
        for variable in (each for dashboard in DASHBOARDS
                         for each in dashboard["templating"]["list"]):
            if variable["type"] != "query" or WITHOUT_DATA.search(variable["definition"]):
                continue
            with self.subTest(variable["name"]):
                series, label = re.fullmatch(r"label_values\((.*), (\w+)\)",
                                             filled_in(variable["definition"])).groups()
                found = processes.eventually(
                    lambda: self.prometheus.get("series", **{"match[]": series}), seconds=20)
                self.assertTrue(found and all(label in each for each in found), found)

    def test_it_shows_every_metric(self):
        shown = {re.sub("_bucket$", "", name)
                 for _, expression in targets() for name in metric_names(expression)}
        # The limit is constant, so a graph of it is useless; the driver's tools show it.
        self.assertEqual(self.families() - shown, {"keda_gpu_scaler_gpu_power_limit_watts"})

    def test_alerts_ask_for_metrics_that_there_are(self):
        asked = {re.sub("_bucket$", "", name)
                 for rules in RULES for name in metric_names(rules.read_text())}
        missing = lambda: asked - self.families() - OF_ENGINES
        self.assertTrue(processes.eventually(lambda: not missing(), seconds=20), missing())

    def families(self):
        found = set()
        for page in self.pages:
            with urllib.request.urlopen(f"http://{page}/metrics", timeout=5) as reply:
                found |= set(re.findall(r"^# TYPE (\S+)", reply.read().decode(), re.MULTILINE))
        return found


@contextlib.contextmanager
def asking(port):
    """Polls as KEDA does, twice a second; also metrics that are only read on demand."""
    stop = threading.Event()

    def ask():
        while not stop.wait(0.5):
            for metric in ("gpu_utilization", "pcie_tx_kbps", "sm_activity"):
                # Others follow a failed one. If all fail, panels without data show it.
                with contextlib.suppress(subprocess.SubprocessError):
                    processes.query(port, f"metricType={metric}", "targetValue=80", "--explain")

    asker = threading.Thread(target=ask)
    asker.start()
    try:
        yield
    finally:
        stop.set()
        asker.join()


def tests_of(rules):
    return rules.with_name(rules.name.replace(".rules.yaml", ".test.yaml"))


class Alerts(unittest.TestCase):
    def test_each_fires_on_what_it_is_for_alone(self):
        for rules in RULES:
            for command in (["check", "rules", rules], ["test", "rules", tests_of(rules)]):
                done = subprocess.run(["promtool", *command], text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_none_is_untested(self):
        for rules in RULES:
            names = set(re.findall(r"- alert: (\w+)", rules.read_text()))
            tested = tests_of(rules).read_text()
            self.assertTrue(names)
            for name in names:
                self.assertIn(f"- name: {name} fires", tested)
                self.assertIn(f"- name: {name} stays quiet", tested)


if __name__ == "__main__":
    unittest.main()
