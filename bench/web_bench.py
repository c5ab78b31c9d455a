"""The web UI in Chromium over 5,000 nodes and 500 workloads: script and paint times, bytes."""
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

MOST_PAGE_KIB = 120
MOST_UPDATE_MS = 100  # script and paint together; updates come each 5 s


def web():
    """Returns what the first picture, an update and a frame of a scroll cost."""
    output = subprocess.run([ROOT / "web/bench"], check=True, stdout=subprocess.PIPE,
                            text=True).stdout
    return json.loads(output.splitlines()[-1])


def table(results, verdict):
    """Yields lines of "name, script, paint, bytes", then the budgets."""
    yield "page, compressed, KiB", verdict(f"{results['page_bytes'] / 1024:.1f}",
                                           f"at most {MOST_PAGE_KIB}",
                                           results["page_bytes"] <= MOST_PAGE_KIB * 1024)
    yield "web", f"{'script ms':>12}{'paint ms':>12}{'KiB':>12}{'DOM nodes':>12}"
    for name, view in results["views"].items():
        for when in ("first", "update", "scroll"):
            one = view.get(when)
            if one is None:
                continue
            nodes = f"{view['dom_nodes']:>12,}" if when == "first" else ""
            yield f"{name}: {when}", (f"{one['script_ms']:>12.1f}{one['paint_ms']:>12.1f}"
                                      f"{one['bytes'] / 1024:>12.1f}{nodes}")
    slowest = max(view["update"]["script_ms"] + view["update"]["paint_ms"]
                  for view in results["views"].values())
    yield "slowest update, script and paint, ms", verdict(
        f"{slowest:.1f}", f"at most {MOST_UPDATE_MS}", slowest <= MOST_UPDATE_MS)
