"""Programs that outlive the command that starts them.

DIR/pids/NAME has the PID and the start time of each, so that a process that reuses the PID is not
mistaken for it. DIR/log/NAME.log has its output.
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
    """Returns our environment without proxies, which cannot reach loopback."""
    return {name: value for name, value in os.environ.items()
            if not name.lower().endswith("_proxy")}


def started(folder):
    """Returns the names of programs that run, or have ended since the last `forget_ended`."""
    return {path.name for path in (folder / "pids").glob("*")}


def forget_ended(folder):
    for name in started(folder) - running(folder).keys():
        (folder / "pids" / name).unlink()


def running(folder):
    """Returns {name: PID} of the running programs."""
    found = {}
    for path in sorted((folder / "pids").glob("*")):
        number, _, start_time = path.read_text().partition(" ")
        if start_time and started_at(number) == start_time:
            found[path.name] = int(number)
    return found


def stop_all(folder, patience=1.0):
    """Sends TERM to all at once, and KILL after `patience` seconds: one by one takes 16 seconds."""
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
    """Returns its start in ticks since boot, as text; empty if it does not run, or is a zombie."""
    try:
        text = pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return ""
    state, *fields = text.rpartition(")")[2].split()  # the name before may contain anything
    return "" if state == "Z" else fields[18]
