"""Python's gRPC as KEDA, and Envoy as a mesh's sidecar of the scaler and of an agent."""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

import grpc

import envoy
import keda
import servers

TRIGGER = {"metricType": "gpu_utilization", "targetValue": "80", "window": "0s"}
LOAD = 60
# An aggregator's longest delay between two attempts is 10 s.
RECONNECTED_SECONDS = 15

# A CA, and a certificate for servers and clients.
CERTIFICATES = """
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt \
  -days 1 -subj /CN=ca
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.csr \
  -subj /CN=keda-gpu-scaler
echo subjectAltName=IP:127.0.0.1 > extensions
openssl x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -out tls.crt \
  -extfile extensions
"""


def show(what, result):
    print(f"real: {what:60} {result}", flush=True)


class Mesh(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.gpus = self.folder / "gpus.json"
        self.reads_gpus = [f"--gpu-source=file:{self.gpus}", "--attribution=none",
                           "--poll-interval=200ms"]
        self.load(LOAD)

    def load(self, percent):
        following = self.folder / "following.json"
        following.write_text(json.dumps({"gpus": [
            {"uuid": "GPU-a", "name": "Sim", "utilization_percent": percent}]}))
        following.rename(self.gpus)

    def serve(self, name, *flags):
        return self.enterContext(servers.serve(self.folder, name, *flags))

    def sidecar(self, port, **settings):
        return self.enterContext(self.sidecar_at(port, **settings).running())

    def sidecar_at(self, port, **settings):
        return envoy.Sidecar(self.folder, "envoy", port, **settings)

    def ask(self, address, trigger=None, credentials=None):
        return self.enterContext(keda.Keda(address, trigger or TRIGGER, credentials))

    def make_certificates(self):
        subprocess.run(["sh", "-ec", CERTIFICATES], cwd=self.folder, check=True,
                       capture_output=True)

    def answers_keda(self, asked):
        """Makes each call once; `asked` opens a channel for a trigger."""
        client = asked(TRIGGER)
        servers.eventually(lambda: client.health("externalscaler.ExternalScaler") == "SERVING",
                           "the first reading")
        self.assertEqual(client.health(""), "SERVING")
        self.assertTrue(client.is_active())
        self.assertEqual(client.metric_spec(), ("keda_gpu_metric", 80))
        self.assertEqual(client.value(), LOAD)
        self.is_pushed_until_its_deadline(client)
        self.is_refused_with_the_reason(asked({**TRIGGER, "metricType": "gpu_utilization%"}))
        self.assertEqual(client.value(), LOAD, "after errors")

    def is_pushed_until_its_deadline(self, client):
        pushed = []
        began = time.monotonic()
        with self.assertRaises(grpc.RpcError) as late:
            for active in client.stream_is_active(seconds=2):
                pushed.append(active)
        self.assertEqual(late.exception.code(), grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertGreaterEqual(time.monotonic() - began, 1.9)
        self.assertTrue(pushed)
        self.assertTrue(all(pushed), pushed)

    def is_refused_with_the_reason(self, client):
        for call in (client.is_active, client.value):
            with self.assertRaises(grpc.RpcError) as refused:
                call()
            self.assertEqual(refused.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
            self.assertIn('metricType="gpu_utilization%": use', refused.exception.details())
            self.assertIn('did you mean "gpu_utilization"?', refused.exception.details())


class PythonsGrpc(Mesh):
    def test_every_call_in_plain_text(self):
        ports = self.serve("scaler", *self.reads_gpus)
        self.answers_keda(lambda trigger: self.ask(f"127.0.0.1:{ports['grpc']}", trigger))

    def test_every_call_over_mutual_tls_and_none_without_a_certificate(self):
        self.make_certificates()
        def pem(name):
            return (self.folder / name).read_bytes()
        ports = self.serve("scaler", *self.reads_gpus, f"--tls-cert={self.folder}/tls.crt",
                           f"--tls-key={self.folder}/tls.key",
                           f"--tls-client-ca={self.folder}/ca.crt")
        address = f"127.0.0.1:{ports['grpc']}"
        with_certificate = grpc.ssl_channel_credentials(pem("ca.crt"), pem("tls.key"),
                                                        pem("tls.crt"))
        self.answers_keda(lambda trigger: self.ask(address, trigger, with_certificate))
        without = self.ask(address, credentials=grpc.ssl_channel_credentials(pem("ca.crt")))
        with self.assertRaises(grpc.RpcError) as refused:
            without.value()
        self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAVAILABLE)


class EnvoyBeforeTheScaler(Mesh):
    def test_every_call(self):
        ports = self.serve("scaler", *self.reads_gpus)
        proxy = self.sidecar(ports["grpc"])
        self.answers_keda(lambda trigger: self.ask(proxy.address, trigger))
        self.assertGreater(proxy.count("cluster.server.upstream_rq_completed"), 0)

    def all_are_answered(self, client, calls):
        with concurrent.futures.ThreadPoolExecutor(8) as callers:
            values = list(callers.map(lambda _: client.value(), range(calls)))
        self.assertEqual(set(values), {LOAD})
        return 2 * calls  # each with a GetMetricSpec

    def test_no_call_is_lost_where_envoy_uses_each_connection_three_times(self):
        ports = self.serve("scaler", *self.reads_gpus)
        proxy = self.sidecar(ports["grpc"], connections={"max_requests_per_connection": 3})
        client = self.ask(proxy.address)
        servers.eventually(client.is_active, "the first reading")
        calls = self.all_are_answered(client, 300)
        self.assertGreaterEqual(proxy.count("cluster.server.upstream_cx_total"), calls // 3)
        self.assertGreater(proxy.count("cluster.server.upstream_cx_max_requests"), 0)
        self.assertEqual(proxy.count("cluster.server.upstream_rq_retry"), 0)
        show("3 calls a connection", f"{calls} calls, none lost, over "
             f"{proxy.count('cluster.server.upstream_cx_total')} connections")

    def test_no_call_is_lost_where_the_scaler_ends_connections_by_age(self):
        ports = self.serve("scaler", *self.reads_gpus, "--max-connection-age=1s")
        proxy = self.sidecar(ports["grpc"])
        client = self.ask(proxy.address)
        servers.eventually(client.is_active, "the first reading")
        calls = 0
        end = time.monotonic() + 60
        while proxy.count("cluster.server.upstream_cx_total") < 3:
            self.assertLess(time.monotonic(), end, "connections end")
            calls += self.all_are_answered(client, 100)
        self.assertGreater(proxy.count("cluster.server.upstream_cx_close_notify"), 0)  # GOAWAY
        self.assertEqual(proxy.count("cluster.server.upstream_rq_retry"), 0)
        show("connections of 1 s", f"{calls} calls, none lost, over "
             f"{proxy.count('cluster.server.upstream_cx_total')} connections")

    def test_no_call_of_query_is_lost_where_envoy_ends_each_connection_after_one(self):
        ports = self.serve("scaler", *self.reads_gpus)
        proxy = self.sidecar(ports["grpc"], clients={"max_requests_per_connection": 1})
        servers.eventually(self.ask(proxy.address).is_active, "the first reading")
        scaler = servers.Scaler(proxy.address)
        before = proxy.count("http.inbound.downstream_cx_total")
        for _ in range(10):
            self.assertEqual(scaler.query(TRIGGER), (LOAD, None))
        connections = proxy.count("http.inbound.downstream_cx_total") - before
        self.assertGreater(connections, 10, "several of one process")
        show("query, 1 call a connection", f"10 processes, {connections} connections")

    def test_health_check_of_envoy_follows_the_scaler(self):
        self.gpus.unlink()
        ports = self.serve("scaler", *self.reads_gpus)
        every = "0.2s"
        proxy = self.sidecar(ports["grpc"], cluster={
            "common_lb_config": {"healthy_panic_threshold": {"value": 0}},
            "health_checks": [{
                "timeout": "5s", "interval": every, "no_traffic_interval": every,
                "unhealthy_interval": every, "unhealthy_threshold": 1, "healthy_threshold": 1,
                "grpc_health_check": {"service_name": "externalscaler.ExternalScaler"}}]})
        client = self.ask(proxy.address)
        servers.eventually(lambda: proxy.count("cluster.server.health_check.failure") > 0,
                           "NOT_SERVING")
        with self.assertRaises(grpc.RpcError) as unhealthy:
            client.value()
        self.assertEqual(unhealthy.exception.details(), "no healthy upstream")
        self.load(LOAD)
        servers.eventually(lambda: proxy.count("cluster.server.membership_healthy") == 1,
                           "SERVING")
        self.assertEqual(client.value(), LOAD)


class EnvoyBeforeAnAgent(Mesh):
    STALE_SECONDS = 12  # long enough for a VM pause of 6 s

    def start_aggregator(self, proxy):
        self.aggregator = self.serve(
            "aggregator", "--role=aggregator", f"--agents=static:{proxy.address}",
            f"--stale-after={self.STALE_SECONDS}s", f"--grace={self.STALE_SECONDS}s",
            "--poll-interval=200ms")
        self.client = self.ask(f"127.0.0.1:{self.aggregator['grpc']}")
        servers.eventually(lambda: self.agents_heard() == 1, "the agent is heard")
        self.value_is_right()

    def agent(self, *flags):
        return servers.serve(self.folder, "agent", "--role=agent", "--node-name=gpu-1",
                             *self.reads_gpus, *flags)

    def agents_heard(self):
        page = servers.get(f"http://127.0.0.1:{self.aggregator['metrics']}/metrics")
        return int(re.search(r"^keda_gpu_scaler_agents_heard (\d+)", page, re.MULTILINE).group(1))

    def value_is_right(self):
        self.assertEqual(self.client.value(), LOAD)
        return True

    def comes_back(self, what):
        began = time.monotonic()
        servers.eventually(lambda: self.value_is_right() and self.agents_heard() == 1, what,
                           RECONNECTED_SECONDS)
        show(what, f"heard again after {time.monotonic() - began:.1f} s")

    def is_lost(self):
        servers.eventually(lambda: self.value_is_right() and self.agents_heard() == 0,
                           "the agent is lost")

    def test_an_agent_is_heard_again_after_a_restart_of_envoy(self):
        agent = self.enterContext(self.agent())
        proxy = self.sidecar_at(agent["grpc"])
        with proxy.running():
            self.start_aggregator(proxy)
        self.is_lost()
        with proxy.running():
            self.comes_back("Envoy before an agent is restarted")

    def test_an_agent_is_heard_again_after_its_own_restart(self):
        with self.agent() as agent:
            proxy = self.sidecar(agent["grpc"])
            self.start_aggregator(proxy)
        self.is_lost()
        with self.agent(f"--telemetry-port={agent['grpc']}"):
            self.comes_back("an agent behind Envoy is restarted")

    def test_streams_outlive_the_goaway_of_envoy(self):
        agent = self.enterContext(self.agent())
        proxy = self.sidecar(agent["grpc"], clients={"max_connection_duration": "1s"})
        self.start_aggregator(proxy)
        servers.eventually(
            lambda: proxy.count("http.inbound.downstream_cx_max_duration_reached") == 2,
            "GOAWAY on the connections for GPUs and for engines")
        self.load(LOAD + 10)
        servers.eventually(lambda: self.client.value() == LOAD + 10, "the next reading")
        self.assertEqual(proxy.count("http.inbound.downstream_rq_total"), 2, "the same streams")

    def test_no_answer_is_wrong_where_envoy_ends_each_stream_after_a_second(self):
        agent = self.enterContext(self.agent())
        proxy = self.sidecar(agent["grpc"], connections={"max_stream_duration": "1s"})
        self.start_aggregator(proxy)
        servers.eventually(lambda: self.value_is_right() and
                           proxy.count("cluster.server.upstream_rq_max_duration_reached") >= 5,
                           "streams end")
        self.comes_back("Envoy ends streams after 1 s")


if __name__ == "__main__":
    unittest.main()
