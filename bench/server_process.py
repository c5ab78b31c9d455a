"""A server under measurement: started on a free port, asked what it costs, ended."""
import pathlib
import re
import subprocess
import threading
import time


class ServerProcess:
    """Runs `command` until its log says "event=serving grpc_port=N"; `with` ends it."""

    def __init__(self, command):
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            match = re.search(r"event=serving.*\bgrpc_port=(\d+)", line)
            if match:
                self.port = int(match.group(1))
                break
        else:
            raise RuntimeError(f"{command[0]} did not start:\n{''.join(said)}")
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)

    def cpu_seconds(self):
        """User and system time of all its threads, ended ones too, to the nanosecond."""
        # What clock_getcpuclockid(3) makes of a process id.
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def memory_kib(self):
        """Resident memory, its proportional share, and the peak so far."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        rollup = pathlib.Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return {
            "rss": int(re.search(r"VmRSS:\s+(\d+)", status).group(1)),
            "pss": int(re.search(r"^Pss:\s+(\d+)", rollup, re.M).group(1)),
            "private": sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+)", rollup, re.M)),
            "peak_rss": int(re.search(r"VmHWM:\s+(\d+)", status).group(1)),
        }
