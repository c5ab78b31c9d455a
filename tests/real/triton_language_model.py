"""A Python model for tritonserver that reports the metrics of TensorRT-LLM's or vLLM's backend.

Both backends need a GPU. They register their metric families with Triton, as this model does:
TensorRT-LLM how many requests wait and run and how full its KV cache is, vLLM tokens and token
times. The parameter "backend" selects the families. A request sleeps instead of computing, for as
long as TOKEN_SECONDS has it for each token: UNTIL_RELEASED ends when a request has RELEASE.
"""
import json
import threading
import time

import numpy
import triton_python_backend_utils as backend

BATCH = 2  # requests that run at once; others wait in the backend
CACHE_OF_REQUEST = 0.45  # share of the KV cache
UNTIL_RELEASED, RELEASE = -1, -2

TTFT_BOUNDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
TPOT_BOUNDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]


class TensorRtLlm:
    def __init__(self, labels):
        self._waiting = self._scheduled = 0
        self._requests = backend.MetricFamily(
            name="nv_trt_llm_request_metrics", description="TRT LLM request metrics",
            kind=backend.MetricFamily.GAUGE)
        self._counts = {kind: self._requests.Metric(labels={**labels, "request_type": kind})
                        for kind in ("waiting", "scheduled", "active", "max")}
        self._cache = backend.MetricFamily(
            name="nv_trt_llm_kv_cache_block_metrics", description="TRT LLM KV cache block metrics",
            kind=backend.MetricFamily.GAUGE)
        self._fraction = self._cache.Metric(labels={**labels, "kv_cache_block_type": "fraction"})
        self._counts["max"].set(BATCH)

    def change(self, waiting, scheduled):
        self._waiting += waiting
        self._scheduled += scheduled
        self._counts["waiting"].set(self._waiting)
        self._counts["scheduled"].set(self._scheduled)
        self._counts["active"].set(self._waiting + self._scheduled)
        self._fraction.set(self._scheduled * CACHE_OF_REQUEST)

    def first_token(self, seconds):
        pass

    def next_token(self, seconds):
        pass


class Vllm:
    def __init__(self, labels):
        family = backend.MetricFamily
        self._families = [
            family(name="vllm:prompt_tokens_total", description="Number of prefill tokens",
                   kind=family.COUNTER),
            family(name="vllm:generation_tokens_total", description="Number of generation tokens",
                   kind=family.COUNTER),
            family(name="vllm:time_to_first_token_seconds", description="Time to first token",
                   kind=family.HISTOGRAM),
            family(name="vllm:time_per_output_token_seconds", description="Time per output token",
                   kind=family.HISTOGRAM)]
        prompts, tokens, first, each = self._families
        self._prompt_tokens = prompts.Metric(labels=labels)
        self._tokens = tokens.Metric(labels=labels)
        self._first = first.Metric(labels=labels, buckets=TTFT_BOUNDS)
        self._each = each.Metric(labels=labels, buckets=TPOT_BOUNDS)

    def change(self, waiting, scheduled):
        pass

    def first_token(self, seconds):
        self._prompt_tokens.increment(1)
        self._tokens.increment(1)
        self._first.observe(seconds)

    def next_token(self, seconds):
        self._tokens.increment(1)
        self._each.observe(seconds)


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        families = {"tensorrtllm": TensorRtLlm, "vllm": Vllm}
        labels = {"model": args["model_name"], "version": args["model_version"]}
        self._metrics = families[config["parameters"]["backend"]["string_value"]](labels)
        self._lock = threading.Lock()
        self._places = threading.Semaphore(BATCH)
        self._released = threading.Event()

    def execute(self, requests):
        """Takes requests out of Triton's queue at once, as both backends do."""
        for request in requests:
            tensor = backend.get_input_tensor_by_name(request, "TOKEN_SECONDS")
            token_seconds = [float(each) for each in tensor.as_numpy()]
            sender = request.get_response_sender()
            if RELEASE in token_seconds:
                self._released.set()
                self._answer(sender, 0)
            else:
                threading.Thread(target=self._generate, daemon=True,
                                 args=(token_seconds, sender)).start()

    def _generate(self, token_seconds, sender):
        arrived = time.monotonic()
        self._change(waiting=1)
        with self._places:
            self._change(waiting=-1, scheduled=1)
            last = arrived
            for place, seconds in enumerate(token_seconds):
                if seconds == UNTIL_RELEASED:
                    self._released.wait()
                else:
                    time.sleep(seconds)
                now = time.monotonic()
                with self._lock:
                    if place == 0:
                        self._metrics.first_token(now - last)
                    else:
                        self._metrics.next_token(now - last)
                last = now
            self._change(scheduled=-1)
        self._answer(sender, len(token_seconds))

    @staticmethod
    def _answer(sender, tokens):
        output = backend.Tensor("TOKENS", numpy.array([tokens], dtype=numpy.int32))
        sender.send(backend.InferenceResponse(output_tensors=[output]),
                    flags=backend.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def _change(self, waiting=0, scheduled=0):
        with self._lock:
            self._metrics.change(waiting, scheduled)
