"""Programs that go on when the one who started them has ended.

DIR/pids/NAME holds the number and the start time of each, so that another process that got the
number later is never taken for it. DIR/log/NAME.log holds what it said.
"""
import os
import pathlib
import signal
import subprocess
import time


def start(folder, name, command, environment):
    with open(folder / "log" / f"{name}.log", "ab") as log:
        process = subprocess.Popen(command, env={**inherited(), **environment}, stdout=log,
                                   stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
    (folder / "pids" / name).write_text(f"{process.pid} {started_at(process.pid)}")


def inherited():
    """Our environment without its proxies: they lead away from loopback, where all of it is."""
    return {name: value for name, value in os.environ.items()
            if not name.lower().endswith("_proxy")}


def started(folder):
    """Names of those that run, or have ended since the last `forget_ended`."""
    return {path.name for path in (folder / "pids").glob("*")}


def forget_ended(folder):
    for name in started(folder) - running(folder).keys():
        (folder / "pids" / name).unlink()


def running(folder):
    """{name: process id} of those that run."""
    found = {}
    for path in sorted((folder / "pids").glob("*")):
        number, _, start_time = path.read_text().partition(" ")
        if start_time and started_at(number) == start_time:
            found[path.name] = int(number)
    return found


def stop_all(folder, patience=1.0):
    """TERM to all at once, and KILL after `patience` seconds: in turn it takes sixteen seconds."""
    for process in running(folder).values():
        send(process, signal.SIGTERM)
    deadline = time.monotonic() + patience
    while running(folder) and time.monotonic() < deadline:
        time.sleep(0.02)
    while left := running(folder):
        for process in left.values():
            send(process, signal.SIGKILL)
        time.sleep(0.02)


def send(process, number):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass  # ended meanwhile


def started_at(process):
    """In ticks since boot, as text; empty for one that does not run, or ran and was not reaped."""
    try:
        text = pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    state, *fields = text.rpartition(")")[2].split()  # the name before may hold anything
    return "" if state == "Z" else fields[18]
