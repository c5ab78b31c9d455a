#!/usr/bin/env python3
"""rocm_smi.py TREE: prints as JSON what Debian's librocm_smi64 reads of the AMD GPUs in TREE.

A second reader for tests. TREE is /sys in a mount namespace of this process. The library is of
2022: it finds GPUs only if card0 is one, and knows neither partitions nor MI300's power1_input.
"""
import ctypes
import json
import os
import pathlib
import sys

NEW_MOUNTS, NEW_USER = 0x20000, 0x10000000
BIND, PRIVATE = 0x1000, 0x40000 | 0x4000

VRAM = 0
JUNCTION = 1
CURRENT = 0

libc = ctypes.CDLL(None, use_errno=True)


def enter(tree):
    """Exits with the reason if there is no namespace."""
    if libc.unshare(NEW_MOUNTS):
        user = os.geteuid()
        if libc.unshare(NEW_USER | NEW_MOUNTS):
            sys.exit(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
        pathlib.Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    for source, place, how in (b"none", b"/", PRIVATE), (os.fsencode(tree), b"/sys", BIND):
        if libc.mount(source, place, None, ctypes.c_ulong(how), None):
            sys.exit(f"mount at {place}: {os.strerror(ctypes.get_errno())}")


def read(function, kind, *arguments):
    """Returns the number, or None if the library cannot read it."""
    number = kind()
    return None if function(*arguments, ctypes.byref(number)) else number.value


def gpus(library):
    u32, u64, i64 = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64
    if status := library.rsmi_init(u64(0)):
        sys.exit(f"rsmi_init: {status}")
    for gpu in range(read(library.rsmi_num_monitor_devices, u32)):
        device = u32(gpu)
        yield {
            "unique_id": format(read(library.rsmi_dev_unique_id_get, u64, device), "016x"),
            "busy_percent": read(library.rsmi_dev_busy_percent_get, u32, device),
            "memory_busy_percent": read(library.rsmi_dev_memory_busy_percent_get, u32, device),
            "vram_used_bytes": read(library.rsmi_dev_memory_usage_get, u64, device, u32(VRAM)),
            "vram_total_bytes": read(library.rsmi_dev_memory_total_get, u64, device, u32(VRAM)),
            "power_microwatts": read(library.rsmi_dev_power_ave_get, u64, device, u32(0)),
            "power_cap_microwatts": read(library.rsmi_dev_power_cap_get, u64, device, u32(0)),
            "junction_millidegrees": read(
                library.rsmi_dev_temp_metric_get, i64, device, u32(JUNCTION), u32(CURRENT)),
        }


enter(sys.argv[1])
print(json.dumps(list(gpus(ctypes.CDLL("librocm_smi64.so.1")))))
