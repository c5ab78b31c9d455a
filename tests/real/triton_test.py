"""tritonserver with a Python model that takes as long as its request asks.

On an overloaded machine its Python backend aborts now and then (boost::interprocess::lock_exception
in 2.51), after which its address refuses connections: run the test again.
"""
import json
import os
import shutil
import tempfile
import threading
import time
import pathlib
import urllib.request

import comparison
import servers

FOLDER = servers.PACKAGES / "pytriton/tritonserver"
PYTHON = "3.11"
WINDOW_SECONDS = 5

MODEL = """
import sys
sys.path.insert(0, {packages!r})
import time
import triton_python_backend_utils as backend


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            seconds = backend.get_input_tensor_by_name(request, "SECONDS")
            time.sleep(float(seconds.as_numpy()[0]))
            output = backend.Tensor("SLEPT", seconds.as_numpy())
            responses.append(backend.InferenceResponse(output_tensors=[output]))
        return responses
"""
CONFIG = """
backend: "python"
max_batch_size: 0
input [{ name: "SECONDS" data_type: TYPE_FP32 dims: [1] }]
output [{ name: "SLEPT" data_type: TYPE_FP32 dims: [1] }]
instance_group [{ kind: KIND_CPU count: 1 }]
"""


class Triton(comparison.Comparison):
    server = "tritonserver"

    def setUp(self):
        super().setUp()
        folder = self.enter(tempfile.TemporaryDirectory())
        version = pathlib.Path(folder) / "models/sleep/1"
        version.mkdir(parents=True)
        (version / "model.py").write_text(MODEL.format(packages=str(servers.PACKAGES)))
        (version.parent / "config.pbtxt").write_text(CONFIG)
        # Only there does it find its libraries: their path is relative.
        stub = FOLDER / "backends/python/triton_python_backend_stub"
        if not stub.exists():
            shutil.copy(FOLDER / "python_backend_stubs" / PYTHON / stub.name, stub)
        # A server that aborts leaves its shared memory.
        self.memory = f"keda-gpu-scaler-{os.getpid()}-"
        self.addCleanup(lambda: [path.unlink() for path in
                                 pathlib.Path("/dev/shm").glob(f"{self.memory}*")])
        http, metrics = servers.free_port(), servers.free_port()
        self.url = f"http://127.0.0.1:{http}/v2"
        self.endpoint = f"http://127.0.0.1:{metrics}"
        self.enter(servers.running(
            folder, "tritonserver",
            [FOLDER / "bin/tritonserver", f"--model-repository={folder}/models",
             f"--backend-directory={FOLDER}/backends", "--allow-grpc=false",
             "--http-address=127.0.0.1", f"--http-port={http}", "--metrics-address=127.0.0.1",
             f"--metrics-port={metrics}", "--allow-gpu-metrics=false", "--exit-timeout-secs=1",
             f"--backend-config=python,shm-region-prefix-name={self.memory}"],
            lambda _: servers.answers(f"{self.url}/health/ready")))
        self.scaler = self.enter(servers.scaler(folder))

    def metadata(self, metric, **more):
        return {"metricType": metric, "engineEndpoint": self.endpoint, "window": "0s",
                "scope": "fleet", "targetValue": "1000", **more}

    def infer(self, seconds):
        body = json.dumps({"inputs": [{"name": "SECONDS", "datatype": "FP32", "shape": [1],
                                       "data": [seconds]}]}).encode()
        with urllib.request.urlopen(f"{self.url}/models/sleep/infer", body, timeout=60) as answer:
            answer.read()

    def send(self, count, seconds):
        threads = [threading.Thread(target=self.infer, args=(seconds,)) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads

    def counted(self):
        """Requests that were done, and the seconds that they waited, by its API of statistics."""
        stats = json.loads(servers.get(f"{self.url}/models/sleep/stats"))["model_stats"][0]
        return (stats["inference_stats"]["success"]["count"],
                stats["inference_stats"]["queue"]["ns"] * 1e-9)

    def test_requests_that_pend_are_those_that_were_sent_and_do_not_run(self):
        self.is_equal("idle: requests_waiting", self.metadata("requests_waiting"), 0)
        requests = self.send(6, seconds=4)
        self.is_equal("6 requests, 1 at a time: requests_waiting",
                      self.metadata("requests_waiting"), 5)
        self.is_equal("the same: pending_ratio", self.metadata("pending_ratio", maxConcurrency=2),
                      2.5)
        for request in requests:
            request.join()
        self.is_equal("all done: requests_waiting", self.metadata("requests_waiting"), 0)

    def test_rates_and_waits_are_those_of_its_statistics(self):
        done, samples = threading.Event(), []

        def work():
            while not done.is_set():
                self.infer(0.1)

        def sample():
            while not done.is_set():
                samples.append((time.monotonic(), *self.counted()))
                time.sleep(0.1)

        threads = [threading.Thread(target=each) for each in [work] * 4 + [sample]]
        for thread in threads:
            thread.start()
        try:
            for metric, of_source in (("request_rate", self.rate), ("queue_wait_ms", self.wait_ms),
                                      ("triton_queue_wait_ms", self.wait_ms)):
                metadata = self.metadata(metric, window=f"{WINDOW_SECONDS}s")
                self.value_of(metadata)
                time.sleep(2 * WINDOW_SECONDS)  # a whole window under load
                since = time.monotonic()
                value = self.value_of(metadata)
                # Each window that ended while the scaler may have read it.
                ends = [i for i, each in enumerate(samples)
                        if each[0] > since - comparison.SLACK_SECONDS]
                numbers = [of_source(self.window_of(samples, end)) for end in ends]
                self.is_within(f"4 callers: {metric}", value, min(numbers), max(numbers), 0.15)
        finally:
            done.set()
            for thread in threads:
                thread.join()

    @staticmethod
    def window_of(samples, end):
        """Its first sample and its last."""
        began = samples[end][0] - WINDOW_SECONDS
        return min(samples[:end], key=lambda each: abs(each[0] - began)), samples[end]

    @staticmethod
    def rate(window):
        first, last = window
        return (last[1] - first[1]) / (last[0] - first[0])

    @staticmethod
    def wait_ms(window):
        first, last = window
        return 1e3 * (last[2] - first[2]) / (last[1] - first[1])

    def test_metrics_of_tensorrt_llm_have_no_value_without_it(self):
        for metric in ("requests_running", "requests_in_flight", "kv_cache_usage_percent",
                       "engine_pressure"):
            self.is_refused(metric, self.metadata(metric), "FAILED_PRECONDITION", "TensorRT-LLM")
