"""Compares the scaler's answers with the source's values at the same time."""
import contextlib
import threading
import time
import unittest

import servers

# The maximum age of the scaler's reading and the source's number.
SLACK_SECONDS = 1.5


class Source:
    """A number that a function returns, with its values of the last seconds."""

    def __init__(self, read):
        self._read = read
        self._values = []  # (time, value)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failure = None
        self._thread = threading.Thread(target=self._follow)

    def __enter__(self):
        self._thread.start()
        servers.eventually(lambda: self._values or self._failure, "the source's first value")
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _follow(self):
        while not self._stop.is_set() and self._failure is None:
            try:
                value = self._read()
            except Exception as failure:  # shown by range()
                self._failure = failure
                return
            with self._lock:
                self._values.append((time.monotonic(), value))
            time.sleep(0.05)

    def range(self):
        """Returns the range of the source's values that the scaler may still return."""
        if self._failure is not None:
            raise self._failure
        since = time.monotonic() - SLACK_SECONDS
        with self._lock:
            values = [value for at, value in self._values if at >= since] or [self._values[-1][1]]
        return min(values), max(values)


class Comparison(unittest.TestCase):
    """A test of one server. Each comparison prints a line."""

    server = ""

    def setUp(self):
        self._folder = contextlib.ExitStack()
        self.addCleanup(self._folder.close)

    def enter(self, context):
        return self._folder.enter_context(context)

    def show(self, what, scaler_says, source_says):
        print(f"real: {self.server:14} {what:44} {scaler_says:>12}   {source_says}", flush=True)

    def value_of(self, metadata):
        """Waits for the first value and returns it."""
        held = []

        def known():
            held[:] = self.scaler.query(metadata)
            return held[1] is None

        try:
            servers.eventually(known, metadata["metricType"], 20)
        except RuntimeError as late:
            self.fail(f"{late}: {held[1]}")
        return held[0]

    def is_equal(self, what, metadata, want, seconds=15):
        """Expects a constant value that is known beforehand."""
        end = time.monotonic() + seconds
        value = self.value_of(metadata)
        while value != want and time.monotonic() < end:
            value = self.value_of(metadata)
        self.show(what, f"{value:g}", f"of the source {want:g}")
        self.assertEqual(value, want, what)

    def is_within(self, what, value, low, high, share):
        self.show(what, f"{value:.1f}", f"of the source {low:.1f}..{high:.1f} +-{100 * share:.0f} %")
        self.assertTrue((1 - share) * low <= value <= (1 + share) * high, what)

    def follows(self, what, metadata, source, step, seconds=6):
        """Expects a changing value: each is one that the source had just before. `step` is its
        change between two samples."""
        self.value_of(metadata)
        values, end = [], time.monotonic() + seconds
        low = high = None
        while time.monotonic() < end or len(values) < 5:
            before = source.range()
            value = self.value_of(metadata)
            after = source.range()
            low, high = min(before[0], after[0]), max(before[1], after[1])
            self.assertTrue(low - step <= value <= high + step,
                            f"{what}: {value} is not in {low}..{high} +-{step}")
            values.append(value)
        self.show(what, f"{min(values):g}..{max(values):g}",
                  f"{len(values)} answers, each of them the source's")

    def is_refused(self, what, metadata, *texts):
        """Expects an error with each of the texts."""
        _, error = self.scaler.query(metadata)
        end = time.monotonic() + 15
        while (error is None or not all(text in str(error) for text in texts)) and \
                time.monotonic() < end:
            _, error = self.scaler.query(metadata)
        self.assertIsNotNone(error, what)
        for text in texts:
            self.assertIn(text, str(error))
        self.show(what, "no value", f"because: {texts[-1]}")
