"""A node of 8 GPUs for `--gpu-source file:PATH`."""
import json

GIB = 1 << 30


def write(path, gpus=8, tick=0, busy=True):
    """Replaces the file atomically, by rename."""
    next_one = path.with_suffix(".next")
    next_one.write_text(json.dumps({
        "driver_version": "simulated",
        "gpus": [{
            "index": index,
            "uuid": f"GPU-00000000-0000-0000-0000-{index:012d}",
            "name": "Simulated",
            "utilization_percent": 60 + (7 * index + 3 * tick) % 40 if busy else 0,
            "memory_utilization_percent": 40 if busy else 0,
            "memory_used_bytes": 72 * GIB if busy else 0,
            "memory_total_bytes": 80 * GIB,
            "temperature_celsius": 61,
            "power_watts": 520,
            "power_limit_watts": 700,
            "pcie_tx_kbps": 1000,
            "pcie_rx_kbps": 1000,
            "nvlink_tx_mbps": 2000,
            "nvlink_rx_mbps": 2000,
            "processes": [{"pid": 4000 + index, "memory_bytes": 72 * GIB}] if busy else [],
        } for index in range(gpus)],
    }))
    next_one.replace(path)
