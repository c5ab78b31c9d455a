"""The folder of a control plane: it has no other files, and commands on it run one at a time.

`down` removes names as common as bin and .kube, so a folder must be empty at first use.
"""
import contextlib
import fcntl

MARK = ".control-plane"  # also the lock file


def refuse_others(folder):
    """Raises if the folder has files that are not a control plane's. Only logs are accepted."""
    if not folder.exists():
        return
    found = {path.name for path in folder.iterdir()} - {"log"}
    # In this order: another `up` makes the mark before all else.
    if found and not (folder / MARK).exists():
        raise RuntimeError(f"{folder} holds files of others; --dir wants a folder that is empty or new")


@contextlib.contextmanager
def held(folder):
    """Locks the folder; other commands on it wait until the end of the `with`."""
    refuse_others(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / MARK):
        yield


@contextlib.contextmanager
def locked(path):
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
