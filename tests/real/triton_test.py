"""tritonserver with a Python model that takes as long as its request asks, and with one that
reports the metrics of TensorRT-LLM's or vLLM's backend (triton_language_model.py).

tritonserver 2.51 does not export nv_inference_first_response_histogram_ms: no comparison reads it.

On an overloaded machine its Python backend aborts now and then (boost::interprocess::lock_exception
in 2.51), after which its address refuses connections: run the test again.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import tempfile
import threading
import time
import urllib.request

import comparison
import servers

FOLDER = servers.PACKAGES / "pytriton/tritonserver"
PYTHON = "3.11"
WINDOW_SECONDS = 5

FIND_NUMPY = f"import sys\nsys.path.insert(0, {str(servers.PACKAGES)!r})\n"
SLEEP_MODEL = """
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
SLEEP_CONFIG = """
backend: "python"
max_batch_size: 0
input [{ name: "SECONDS" data_type: TYPE_FP32 dims: [1] }]
output [{ name: "SLEPT" data_type: TYPE_FP32 dims: [1] }]
instance_group [{ kind: KIND_CPU count: 1 }]
"""
LANGUAGE_MODEL = pathlib.Path(__file__).with_name("triton_language_model.py").read_text()
UNTIL_RELEASED, RELEASE = -1, -2  # as in the model
LANGUAGE_CONFIG = """
backend: "python"
max_batch_size: 0
model_transaction_policy { decoupled: true }
input [{ name: "TOKEN_SECONDS" data_type: TYPE_FP32 dims: [-1] }]
output [{ name: "TOKENS" data_type: TYPE_INT32 dims: [1] }]
instance_group [{ kind: KIND_CPU count: 1 }]
parameters { key: "backend" value: { string_value: "%s" } }
"""


def quantile(growth, share):
    """Returns histogram_quantile() of Prometheus, from the buckets [(bound, count)]."""
    rank = share * growth[-1][1]
    lower = below = 0
    for bound, count in growth:
        if count >= rank:
            return lower + (bound - lower) * (rank - below) / (count - below)
        lower, below = bound, count
    raise ValueError("empty histogram")


class Server(comparison.Comparison):
    """Serves one model. Subclasses name it and have the tests."""

    server = "tritonserver"
    model = source = config = ""

    def setUp(self):
        super().setUp()
        folder = self.enter(tempfile.TemporaryDirectory())
        version = pathlib.Path(folder) / "models" / self.model / "1"
        version.mkdir(parents=True)
        (version / "model.py").write_text(FIND_NUMPY + self.source)
        (version.parent / "config.pbtxt").write_text(self.config)
        # It only finds its libraries from there: their path is relative.
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

    def infer(self, request):
        raise NotImplementedError

    def post(self, path, body):
        url = f"{self.url}/models/{self.model}/{path}"
        with urllib.request.urlopen(url, json.dumps(body).encode(), timeout=60) as answer:
            answer.read()

    def send(self, count, request):
        threads = [threading.Thread(target=self.infer, args=(request,)) for _ in range(count)]
        for thread in threads:
            thread.start()
        return threads

    def exported(self, name, **labels):
        """Returns the sum of the series of its metrics endpoint that have these labels."""
        page = servers.get(f"{self.endpoint}/metrics")
        values = [float(value) for series, value in
                  re.findall(rf"^{name}{{(.*)}} (\S+)$", page, re.MULTILINE)
                  if all(f'{key}="{text}"' in series for key, text in labels.items())]
        self.assertTrue(values, f"{name} {labels} is not exported")
        return sum(values)

    def buckets(self, name):
        page = servers.get(f"{self.endpoint}/metrics")
        return [(float(bound), float(count)) for bound, count in
                re.findall(rf'^{name}_bucket{{.*le="([^"]+)".*}} (\S+)$', page, re.MULTILINE)]

    def counted(self):
        """Returns finished requests and their waiting time in seconds, from its statistics API."""
        url = f"{self.url}/models/{self.model}/stats"
        stats = json.loads(servers.get(url))["model_stats"][0]["inference_stats"]
        return stats["success"]["count"], stats["queue"]["ns"] * 1e-9

    @contextlib.contextmanager
    def load(self, callers, requests, read):
        """Each caller sends these requests in turn. Yields a growing list of (time, read())."""
        done, samples = threading.Event(), []

        def work():
            while not done.is_set():
                for request in requests:
                    self.infer(request)

        def sample():
            while not done.is_set():
                samples.append((time.monotonic(), read()))
                time.sleep(0.1)

        threads = [threading.Thread(target=each) for each in [work] * callers + [sample]]
        for thread in threads:
            thread.start()
        try:
            yield samples
        finally:
            done.set()
            for thread in threads:
                thread.join()

    def are_those_of_windows(self, what, samples, metrics):
        """metrics: {name: (of_window, share)}. of_window(seconds, first, last) returns the number
        of a window from what read() returned at its start and at its end."""
        metadata = {name: self.metadata(name, window=f"{WINDOW_SECONDS}s") for name in metrics}
        for each in metadata.values():
            self.value_of(each)
        time.sleep(2 * WINDOW_SECONDS)  # a whole window under load
        for name, (of_window, share) in metrics.items():
            since = time.monotonic()
            value = self.value_of(metadata[name])
            # All windows that the scaler's value may be from.
            numbers = []
            for i, (end, last) in enumerate(samples):
                if end > since - comparison.SLACK_SECONDS:
                    began, first = min(samples[:i],
                                       key=lambda each: abs(each[0] - (end - WINDOW_SECONDS)))
                    numbers.append(of_window(end - began, first, last))
            self.is_within(f"{what}: {name}", value, min(numbers), max(numbers), share)


class Triton(Server):
    model = "sleep"
    source = SLEEP_MODEL
    config = SLEEP_CONFIG

    def infer(self, request):
        self.post("infer", {"inputs": [{"name": "SECONDS", "datatype": "FP32", "shape": [1],
                                        "data": [request]}]})

    def test_requests_that_pend_are_those_that_were_sent_and_do_not_run(self):
        self.is_equal("idle: requests_waiting", self.metadata("requests_waiting"), 0)
        requests = self.send(6, 4)
        self.is_equal("6 requests, 1 at a time: requests_waiting",
                      self.metadata("requests_waiting"), 5)
        self.assertEqual(self.exported("nv_inference_pending_request_count"), 5)
        self.is_equal("the same: pending_ratio", self.metadata("pending_ratio", maxConcurrency=2),
                      2.5)
        for request in requests:
            request.join()
        self.is_equal("all done: requests_waiting", self.metadata("requests_waiting"), 0)

    def test_rates_and_waits_are_those_of_its_statistics(self):
        def rate(seconds, first, last):
            return (last[0] - first[0]) / seconds

        def wait_ms(_, first, last):
            return 1e3 * (last[1] - first[1]) / (last[0] - first[0])

        with self.load(4, [0.1], self.counted) as samples:
            self.are_those_of_windows("4 callers", samples, {
                "request_rate": (rate, 0.15), "triton_request_rate": (rate, 0.15),
                "queue_wait_ms": (wait_ms, 0.15), "triton_queue_wait_ms": (wait_ms, 0.15)})

    def test_metrics_of_tensorrt_llm_have_no_value_without_it(self):
        for metric in ("requests_running", "requests_in_flight", "kv_cache_usage_percent",
                       "engine_pressure"):
            self.is_refused(metric, self.metadata(metric), "FAILED_PRECONDITION", "TensorRT-LLM")

    def test_token_times_and_demand_have_no_value_without_a_backend_that_reports_them(self):
        for metric, missing in (("ttft_ms", "how long the first token takes"),
                                ("tpot_ms", "how long a token takes")):
            self.is_refused(metric, self.metadata(metric, window="5s"), "UNAVAILABLE", missing)
        self.is_refused("demand_replicas", self.metadata("demand_replicas"), "FAILED_PRECONDITION",
                        "triton does not")


class LanguageModel(Server):
    model = "language"
    source = LANGUAGE_MODEL

    def infer(self, request):
        self.post("generate", {"TOKEN_SECONDS": request})


class TensorRtLlm(LanguageModel):
    server = "Triton TRT-LLM"
    config = LANGUAGE_CONFIG % "tensorrtllm"

    def requests(self, kind):
        return self.exported("nv_trt_llm_request_metrics", request_type=kind)

    def are(self, state, running, waiting, cache_percent):
        servers.eventually(lambda: self.requests("scheduled") == running, f"{running} run")
        servers.eventually(lambda: self.requests("waiting") == waiting, f"{waiting} wait")
        self.assertEqual(100 * self.exported("nv_trt_llm_kv_cache_block_metrics",
                                             kv_cache_block_type="fraction"), cache_percent)
        limit = self.requests("max")
        for metric, want in (("requests_waiting", waiting), ("requests_running", running),
                             ("requests_in_flight", waiting + running),
                             ("kv_cache_usage_percent", cache_percent),
                             ("engine_pressure",
                              max(100 * (waiting + running) / limit, cache_percent))):
            self.is_equal(f"{state}: {metric}", self.metadata(metric), want)
        self.is_equal(f"{state}: pending_ratio",
                      self.metadata("pending_ratio", maxConcurrency=4), waiting / 4)

    def test_requests_and_cache_are_those_that_the_backend_exports(self):
        self.are("idle", running=0, waiting=0, cache_percent=0)
        requests = self.send(1, [UNTIL_RELEASED])
        try:
            self.are("1 request", running=1, waiting=0, cache_percent=45)
            requests += self.send(4, [UNTIL_RELEASED])
            self.are("5 requests, 2 at a time", running=2, waiting=3, cache_percent=90)
        finally:
            self.infer([RELEASE])
            for request in requests:
                request.join()
        self.are("all done", running=0, waiting=0, cache_percent=0)

    def test_token_times_have_no_value(self):
        """Neither Triton 2.51 nor this backend exports them."""
        for metric, missing in (("ttft_ms", "how long the first token takes"),
                                ("tpot_ms", "how long a token takes")):
            self.is_refused(metric, self.metadata(metric, window="5s"), "UNAVAILABLE", missing)


class Vllm(LanguageModel):
    server = "Triton vLLM"
    config = LANGUAGE_CONFIG % "vllm"

    def read(self):
        return {"ttft_ms": self.buckets("vllm:time_to_first_token_seconds"),
                "tpot_ms": self.buckets("vllm:time_per_output_token_seconds"),
                "request_rate": self.counted()[0]}

    def test_token_times_are_those_that_the_backend_exports(self):
        def p95_ms(metric):
            def of_window(_, first, last):
                return 1e3 * quantile([(bound, count - before) for (bound, count), (_, before) in
                                       zip(last[metric], first[metric])], 0.95)

            return of_window

        def rate(seconds, first, last):
            return (last["request_rate"] - first["request_rate"]) / seconds

        requests = [[first, *[each] * 4] for first, each in
                    ((0.03, 0.015), (0.05, 0.03), (0.07, 0.06), (0.15, 0.08))]
        with self.load(2, requests, self.read) as samples:
            self.are_those_of_windows("2 callers", samples, {
                "ttft_ms": (p95_ms("ttft_ms"), 0.05), "tpot_ms": (p95_ms("tpot_ms"), 0.05),
                "request_rate": (rate, 0.15)})

    def test_requests_have_no_value(self):
        """Its requests leave Triton's queue at once, and the backend does not report its own."""
        self.infer([0.01, 0.01])
        self.is_refused("requests_waiting", self.metadata("requests_waiting"), "UNAVAILABLE",
                        "how many requests wait")
        for metric in ("requests_running", "requests_in_flight", "kv_cache_usage_percent",
                       "engine_pressure"):
            self.is_refused(metric, self.metadata(metric), "FAILED_PRECONDITION", "TensorRT-LLM")
