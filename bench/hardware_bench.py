"""Agents on 8 GPUs of each vendor: a fake /sys of MI300X, and a fake driver of NVIDIA's."""
import json
import pathlib
import statistics
import struct
import tempfile
import time

from server_process import ServerProcess

GPUS = 8
GIB = 1 << 30
STARTS = 21
COST_SECONDS = 30


class Amd:
    """A fake /sys with 8 whole MI300X, each with a process."""

    def __init__(self, _, folder):
        self.folder = folder
        self.flags = ["--gpu-source=amd", f"--sysfs-root={folder}"]
        self.environment = {}
        for gpu in range(GPUS):
            for name, text in {
                    "device": "0x74a1", "unique_id": f"{0xe3a9716b4cd5ab71 + gpu:016x}",
                    "product_name": "AMD Instinct MI300X OAM", "mem_info_vram_total": 192 * GIB,
                    "current_compute_partition": "SPX", "current_memory_partition": "NPS1",
                    "power/runtime_status": "active", "hwmon/hwmon7/power1_cap": 750000000,
                    "hwmon/hwmon7/temp2_label": "junction", "hwmon/hwmon7/temp2_input": 61000,
                    "xgmi_hive_info/xgmi_hive_id": 15188982192727901047,
                    f"drm/card{gpu}/dev": "", f"drm/renderD{128 + gpu}/dev": ""}.items():
                self._write(f"{self._device(gpu)}/{name}", f"{text}\n")
            driver = folder / "module/amdgpu/drivers/pci:amdgpu"
            driver.mkdir(parents=True, exist_ok=True)
            (driver / self._address(gpu)).symlink_to(folder / self._device(gpu))
            node = f"class/kfd/kfd/topology/nodes/{gpu}"
            self._write(f"{node}/gpu_id", f"{100 + gpu}\n")
            self._write(f"{node}/properties",
                        f"simd_count 1216\nlocation_id {self._bus(gpu) << 8}\ndomain 0\n"
                        f"drm_render_minor {128 + gpu}\n")
            self._write(f"{node}/mem_banks/0/properties",
                        f"heap_type 1\nsize_in_bytes {192 * GIB}\n")
            self._write(f"class/kfd/kfd/proc/{4000 + gpu}/vram_{100 + gpu}", f"{160 * GIB}\n")
        self.show(0)

    def show(self, tick):
        for gpu in range(GPUS):
            busy = 60 + (7 * gpu + 3 * tick) % 40
            device = self._device(gpu)
            self._write(f"{device}/gpu_busy_percent", f"{busy}\n")
            self._write(f"{device}/mem_busy_percent", f"{busy // 2}\n")
            self._write(f"{device}/mem_info_vram_used", f"{160 * GIB + tick}\n")
            self._write(f"{device}/hwmon/hwmon7/power1_input", f"{500 + busy}000000\n")
            table = bytearray(b"\xff" * 2208)  # version 1.7
            struct.pack_into("<HBB", table, 0, len(table), 1, 7)
            struct.pack_into("<HH", table, 12, busy, busy // 2)
            struct.pack_into("<I", table, 40, 1000 * (tick + 1))
            struct.pack_into("<II", table, 76, busy * 10 * (tick + 1), busy * 5 * (tick + 1))
            self._write(f"{device}/gpu_metrics", bytes(table))

    @staticmethod
    def _bus(gpu):
        return 0x05 + 0x10 * gpu

    def _address(self, gpu):
        return f"0000:{self._bus(gpu):02x}:00.0"

    def _device(self, gpu):
        return f"devices/pci0000:00/{self._address(gpu)}"

    def _write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


class Nvidia:
    """The fake libnvidia-ml.so.1 of the tests. It reads its file at each call, in the agent's process."""

    def __init__(self, build, folder):
        self.file = folder / "state.json"
        self.flags = ["--gpu-source=nvml"]
        self.environment = {"LD_LIBRARY_PATH": str(build / "tests/fake_nvml/new"),
                            "FAKE_NVML_STATE": str(self.file)}
        self.show(0)

    def show(self, tick):
        busy = [60 + (7 * gpu + 3 * tick) % 40 for gpu in range(GPUS)]
        uuids = [f"GPU-00000000-0000-0000-0000-{gpu:012d}" for gpu in range(GPUS)]
        next_one = self.file.with_suffix(".next")
        next_one.write_text(json.dumps({"driver_version": "570.124.06", "generation": 1, "gpus": [{
            "uuid": uuids[gpu], "name": "NVIDIA H200", "minor": gpu,
            "utilization": [busy[gpu], busy[gpu] // 2],
            "memory": [141 * GIB, GIB, 120 * GIB + tick], "temperature": 61,
            "power": 1000 * (500 + busy[gpu]), "power_limit": 700000,
            "fields": {"138": 1024 * tick, "139": 1024 * tick, "197": 1000 * tick,
                       "198": 1000 * tick},
            "processes": [[4000 + gpu, 120 * GIB]], "ecc": 0, "throttle": 0,
            "links": [uuid for uuid in uuids if uuid != uuids[gpu]]} for gpu in range(GPUS)]}))
        next_one.replace(self.file)


VENDORS = {"AMD": Amd, "NVIDIA": Nvidia}


def hardware(build):
    """Returns start, memory and CPU of an agent without a kubelet, for each vendor."""
    return {name: of_vendor(build, vendor) for name, vendor in VENDORS.items()}


def of_vendor(build, vendor):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:  # without a disk, as /sys
        node = vendor(build, pathlib.Path(folder))
        starts = []
        for _ in range(STARTS):
            with agent(build, node) as ours:
                wait_for_gpus(ours)
                starts.append(1000 * (time.monotonic() - ours.started_at))
        with agent(build, node) as ours:
            wait_for_gpus(ours)
            time.sleep(3)
            before, began = ours.cpu_seconds(), time.monotonic()
            for tick in range(1, COST_SECONDS + 1):
                node.show(tick)
                time.sleep(max(0.0, began + tick - time.monotonic()))
            cpu = ours.cpu_seconds() - before
            return {"first_reading_ms": statistics.median(starts),
                    "cpu_percent_of_a_core": 100 * cpu / (time.monotonic() - began),
                    "memory_kib": ours.memory_kib()}


def agent(build, node):
    return ServerProcess([build / "src/app/keda-gpu-scaler", "serve", "--role=agent",
                          "--attribution=none", "--bind-address=127.0.0.1", "--telemetry-port=any",
                          "--metrics-port=any", "--probe-port=any", "--poll-interval=1s",
                          *node.flags], node.environment)


def wait_for_gpus(ours, seconds=20):
    deadline = time.monotonic() + seconds
    while ours.metrics().count("keda_gpu_scaler_gpu_utilization_percent{") < GPUS:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the agent shows fewer than {GPUS} GPUs with a utilization")
        time.sleep(0.001)


def table(results):
    """Yields lines of "name, result"."""
    for vendor, one in results.items():
        yield f"8 GPUs of {vendor}: exec to first reading, ms", f"{one['first_reading_ms']:>12.1f}"
        yield f"8 GPUs of {vendor}: RSS, MiB", f"{one['memory_kib']['rss'] / 1024:>12.1f}"
        yield f"8 GPUs of {vendor}: CPU, % of a core", f"{one['cpu_percent_of_a_core']:>12.3f}"
