"""Processes under measurement: starts and ends them, and reads their CPU time and memory."""
import os
import pathlib
import re
import subprocess
import threading
import time
import urllib.request


class Measured:
    """The cost of a child process; subclasses set `process`."""

    def cpu_seconds(self):
        """Returns user and system time of all its threads, ended ones too, to the nanosecond."""
        # The result of clock_getcpuclockid(3) for a process id.
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def rss_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


class ServerProcess(Measured):
    """Runs `command`; ready when it logs "event=serving grpc_port=N". `with` ends it."""

    def __init__(self, command, environment=None):
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, env=os.environ | (environment or {}))
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            match = re.search(r"event=serving.*\bgrpc_port=(\d+)", line)
            if match:
                self.port = int(match.group(1))
                metrics = re.search(r"\bmetrics_port=(\d+)", line)
                self.metrics_port = int(metrics.group(1)) if metrics else None  # empty_server has none
                break
        else:
            raise RuntimeError(f"{command[0]} did not start:\n{''.join(lines)}")
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def metrics(self):
        return urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics",
                                      timeout=10).read().decode()

    def end(self, timeout=60):
        """Returns the seconds until its end; 5 at most are guaranteed."""
        began = time.monotonic()
        self.process.terminate()
        try:
            self.process.wait(timeout)
        finally:
            self.process.kill()
        return time.monotonic() - began

    def memory_kib(self):
        """Returns resident memory, its proportional share, and the peak so far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        rollup = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return {
            "rss": self.rss_kib(),
            "pss": int(re.search(r"^Pss:\s+(\d+)", rollup, re.M).group(1)),
            "private": sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+)", rollup, re.M)),
            "peak_rss": int(re.search(r"VmHWM:\s+(\d+)", status).group(1)),
        }


class LineProcess(Measured):
    """Runs `command`, which prints lines of words. `with` closes its input, which ends it."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.lines = {}  # lists of words, key: the line's first word
        self.taken = {}  # number of lines that next() has returned
        self.changed = threading.Condition()
        self.ended = False
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)

    def _listen(self):
        for line in self.process.stdout:
            first, *words = line.split()
            with self.changed:
                self.lines.setdefault(first, []).append(words)
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def all(self, first):
        """Returns the words after `first` of all lines so far that began with it."""
        with self.changed:
            return list(self.lines.get(first, []))

    def next(self, first, timeout):
        """Waits for the next of those lines and returns its words."""
        with self.changed:
            taken = self.taken.get(first, 0)
            here = lambda: len(self.lines.get(first, [])) > taken
            self.changed.wait_for(lambda: here() or self.ended, timeout)
            if not here():
                raise RuntimeError(f"{self.process.args[0]} did not say {first}")
            self.taken[first] = taken + 1
            return self.lines[first][taken]

    def ask(self, answer, timeout=60):
        """Requests the line that begins with `answer`, and returns its words."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.next(answer, timeout)
