"""KEDA's calls with Python's gRPC."""
import functools
import subprocess

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

import servers

SECONDS = 20  # the deadline of a call that must not be late


@functools.cache
def _pool():
    """Returns the descriptors of KEDA's protocol and of the health check."""
    protos = servers.ROOT / "proto"
    described = subprocess.run(
        ["protoc", f"-I{protos}", "--descriptor_set_out=/dev/stdout", "externalscaler.proto",
         "health.proto"], capture_output=True, check=True).stdout
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(described).file:
        pool.Add(file)
    return pool


def _message(name):
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(name))


class Keda:
    """One channel to one scaler, for a trigger of ScaledObject shop/web. Errors are
    grpc.RpcError."""

    def __init__(self, address, trigger, credentials=None):
        self._trigger = _message("externalscaler.ScaledObjectRef")(
            name="web", namespace="shop", scalerMetadata=trigger)
        self._channel = (grpc.secure_channel(address, credentials) if credentials else
                         grpc.insecure_channel(address))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._channel.close()

    def is_active(self):
        return self._call("externalscaler.ExternalScaler/IsActive", self._trigger).result

    def stream_is_active(self, seconds):
        """Iterates over the pushed values; ends with DEADLINE_EXCEEDED."""
        for response in self._call("externalscaler.ExternalScaler/StreamIsActive", self._trigger,
                                   seconds):
            yield response.result

    def metric_spec(self):
        """Returns (name, target)."""
        [spec] = self._call("externalscaler.ExternalScaler/GetMetricSpec",
                            self._trigger).metricSpecs
        return spec.metricName, spec.targetSizeFloat

    def value(self):
        request = _message("externalscaler.GetMetricsRequest")(
            scaledObjectRef=self._trigger, metricName=self.metric_spec()[0])
        [value] = self._call("externalscaler.ExternalScaler/GetMetrics", request).metricValues
        return value.metricValueFloat

    def health(self, service):
        request = _message("grpc.health.v1.HealthCheckRequest")(service=service)
        response = self._call("grpc.health.v1.Health/Check", request)
        return response.ServingStatus.Name(response.status)

    def _call(self, method, request, seconds=SECONDS):
        """Returns the response, or an iterator over those of a stream."""
        described = _pool().FindMethodByName(method.replace("/", "."))
        call = (self._channel.unary_stream if described.server_streaming else
                self._channel.unary_unary)
        response = message_factory.GetMessageClass(described.output_type)
        return call(f"/{method}", request_serializer=lambda message: message.SerializeToString(),
                    response_deserializer=response.FromString)(request, timeout=seconds)
