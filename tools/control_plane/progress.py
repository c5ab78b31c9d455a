"""Progress of a build of Go packages: one line every 10 seconds, and one at its end.

    control-plane: kube (1 of 2): 412 of at most 1893 packages, 80 s
    control-plane: kube (1 of 2): built in 214 s

Go does not compile packages that its cache has, so the number of packages is an upper bound. The lines
have no control codes, on terminals too.
"""
import subprocess
import sys
import threading
import time

INTERVAL = 10  # seconds


class Progress:
    """Prints the lines of one component within `with`; none at the end if the build failed."""

    def __init__(self, component, number, total):
        self.label = f"control-plane: {component} ({number} of {total})"
        self.packages = None  # names of all packages; None while Go modules are fetched
        self.compiled = 0
        self.ended = threading.Event()
        self.printer = threading.Thread(target=self.print_lines, daemon=True)

    def __enter__(self):
        self.began = time.monotonic()
        self.printer.start()
        return self

    def __exit__(self, failure, *_):
        self.ended.set()
        self.printer.join()
        if failure is None:
            print(f"{self.label}: built in {self.seconds()} s", flush=True)

    def seconds(self):
        return round(time.monotonic() - self.began)

    def print_lines(self):
        while not self.ended.wait(INTERVAL):
            print(f"{self.label}: {self.step()}, {self.seconds()} s", flush=True)

    def step(self):
        if self.packages is None:
            return "Go modules"
        return f"{self.compiled} of at most {len(self.packages)} packages"

    def run(self, command):
        """Runs `go build -v`: counts the packages that it prints, and passes all other lines on."""
        with subprocess.Popen(command, text=True, stderr=subprocess.PIPE) as process:
            for line in process.stderr:
                if line.rstrip("\n") in self.packages:
                    self.compiled += 1
                else:
                    sys.stderr.write(line)
        if process.returncode != 0:
            raise subprocess.CalledProcessError(process.returncode, command)
