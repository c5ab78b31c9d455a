"""The folder of a control plane: nobody else's files are in it, and one command at a time works there.

`down` removes names as common as bin and .kube: a folder must have been empty when it was taken.
"""
import contextlib
import fcntl

MARK = ".control-plane"  # also what is locked


def refuse_others(folder):
    """Raises for one that holds what no control plane put there. Logs alone harm nobody."""
    if not folder.exists():
        return
    found = {path.name for path in folder.iterdir()} - {"log"}
    # In this order: another `up` makes the mark before all else.
    if found and not (folder / MARK).exists():
        raise RuntimeError(f"{folder} holds files of others; --dir wants a folder that is empty or new")


@contextlib.contextmanager
def held(folder):
    """Takes the folder; until the end of the `with`, other commands on it wait."""
    refuse_others(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / MARK):
        yield


@contextlib.contextmanager
def locked(path):
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
