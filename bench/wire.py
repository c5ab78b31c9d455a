"""KEDA's calls to a scaler, encoded by hand: protobuf, gRPC framing, HTTP/2."""
import socket
import struct

SERVICE = "/externalscaler.ExternalScaler/"

# An ordinary trigger: a profile with its target, for all GPUs in use.
METADATA = {"profile": "vllm-inference", "targetValue": "80", "scope": "node"}


def _field(number, payload):
    """Returns a length-delimited protobuf field; lengths take one or two bytes here."""
    length = len(payload)
    size = bytes([length]) if length < 128 else bytes([length & 0x7F | 0x80, length >> 7])
    return bytes([number << 3 | 2]) + size + payload


def scaled_object_ref(metadata):
    """Returns an externalscaler.ScaledObjectRef."""
    body = _field(1, b"vllm") + _field(2, b"inference")
    for key, value in metadata.items():
        body += _field(3, _field(1, key.encode()) + _field(2, value.encode()))
    return body


def request(method, metadata=METADATA):
    """Returns the request's message in its gRPC frame: uncompressed, four bytes of length."""
    message = scaled_object_ref(metadata)
    if method == "GetMetrics":
        message = _field(1, message) + _field(2, b"keda_gpu_vllm_inference")
    return b"\0" + struct.pack(">I", len(message)) + message


# HTTP/2 frames (RFC 9113, 4.1).
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4


def _frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _header(name, value):
    """Returns a literal field, never indexed, not Huffman-coded (RFC 7541, 6.2.3)."""
    assert len(name) < 127 and len(value) < 127
    return b"\x10" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def _receive(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("the server closed the connection")
        data += part
    return data


def call(port, method, timeout=2.0, metadata=METADATA):
    """Makes a unary call on a new connection. Returns the reply's message, or None for an error.

    The status in the trailers is not parsed: the servers here send a message only with status OK. An
    empty message, such as an IsActiveResponse of false, is also returned as None.
    """
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        connection.settimeout(timeout)
        headers = b"".join(_header(*header) for header in [
            (":method", "POST"), (":scheme", "http"), (":path", SERVICE + method),
            (":authority", "localhost"), ("te", "trailers"),
            ("content-type", "application/grpc")])
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(SETTINGS, 0, 0) +
                           _frame(HEADERS, END_HEADERS, 1, headers) +
                           _frame(DATA, END_STREAM, 1, request(method, metadata)))
        message = b""
        while True:
            head = _receive(connection, 9)
            size = int.from_bytes(head[:3], "big")
            kind, flags, stream = struct.unpack(">BBI", head[3:])
            payload = _receive(connection, size)
            if kind == DATA:
                message += payload
            if kind in (RST_STREAM, GOAWAY) or (stream == 1 and flags & END_STREAM):
                return message[5:] or None
            if kind in (SETTINGS, PING) and not flags & ACK:
                connection.sendall(_frame(kind, ACK, 0, b"" if kind == SETTINGS else payload))
