"""Our declarations of NVML (src/gpu/nvml_api.h) against the newest nvidia-ml-py, NVIDIA's own for Python."""
import ctypes
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"

# Structures by our name: theirs, and their member for each of ours.
STRUCTURES = {
    "Utilization": ("c_nvmlUtilization_t", {"gpu": "gpu", "memory": "memory"}),
    "Memory": ("c_nvmlMemory_t", {"total": "total", "free": "free", "used": "used"}),
    "MemoryV2": ("c_nvmlMemory_v2_t", {
        "version": "version", "total": "total", "reserved": "reserved", "free": "free",
        "used": "used"}),
    "Temperature": ("c_nvmlTemperature_v1_t", {
        "version": "version", "sensor": "sensorType", "celsius": "temperature"}),
    "Process": ("c_nvmlProcessInfo_v2_t", {
        "pid": "pid", "memory_bytes": "usedGpuMemory", "gpu_instance": "gpuInstanceId",
        "compute_instance": "computeInstanceId"}),
    "ProcessUtilization": ("c_nvmlProcessUtilizationSample_t", {
        "pid": "pid", "usec": "timeStamp", "percent": "smUtil", "memory_percent": "memUtil",
        "encoder_percent": "encUtil", "decoder_percent": "decUtil"}),
    "Value": ("c_nvmlValue_t", {
        "as_double": "dVal", "as_uint32": "uiVal", "as_uint64": "ullVal", "as_int64": "sllVal",
        "as_int32": "siVal", "as_uint16": "usVal"}),
    "Sample": ("c_nvmlSample_t", {"usec": "timeStamp", "value": "sampleValue"}),
    "Field": ("c_nvmlFieldValue_t", {
        "id": "fieldId", "scope": "scopeId", "usec": "timestamp", "latency_usec": "latencyUsec",
        "type": "valueType", "result": "nvmlReturn", "value": "value"}),
    "GpmSupport": ("c_nvmlGpmSupport_t", {
        "version": "version", "supported": "isSupportedDevice"}),
    "GpmMetric": ("c_nvmlGpmMetric_t", {
        "id": "metricId", "result": "nvmlReturn", "value": "value", "names": "metricInfo"}),
    "GpmMetricsGet": ("c_nvmlGpmMetricsGet_t", {
        "version": "version", "count": "numMetrics", "earlier": "sample1", "later": "sample2",
        "metrics": "metrics"}),
}

# Their name for each of our values.
VALUES = {
    "kSuccess": "NVML_SUCCESS", "kUninitialized": "NVML_ERROR_UNINITIALIZED",
    "kInvalidArgument": "NVML_ERROR_INVALID_ARGUMENT", "kNotSupported": "NVML_ERROR_NOT_SUPPORTED",
    "kNoPermission": "NVML_ERROR_NO_PERMISSION", "kNotFound": "NVML_ERROR_NOT_FOUND",
    "kInsufficientSize": "NVML_ERROR_INSUFFICIENT_SIZE",
    "kDriverNotLoaded": "NVML_ERROR_DRIVER_NOT_LOADED",
    "kFunctionNotFound": "NVML_ERROR_FUNCTION_NOT_FOUND", "kGpuIsLost": "NVML_ERROR_GPU_IS_LOST",
    "kResetRequired": "NVML_ERROR_RESET_REQUIRED",
    "kLibRmVersionMismatch": "NVML_ERROR_LIB_RM_VERSION_MISMATCH", "kNoData": "NVML_ERROR_NO_DATA",
    "kUnknown": "NVML_ERROR_UNKNOWN",
    "kTextSize": "NVML_DEVICE_UUID_V2_BUFFER_SIZE",
    "MemoryV2::kVersion": "nvmlMemory_v2", "Temperature::kVersion": "nvmlTemperature_v1",
    "GpmSupport::kVersion": "NVML_GPM_SUPPORT_VERSION",
    "GpmMetricsGet::kVersion": "NVML_GPM_METRICS_GET_VERSION",
    "kGpuSensor": "NVML_TEMPERATURE_GPU",
    "kDouble": "NVML_VALUE_TYPE_DOUBLE", "kUint32": "NVML_VALUE_TYPE_UNSIGNED_INT",
    "kUnsignedLong": "NVML_VALUE_TYPE_UNSIGNED_LONG",
    "kUint64": "NVML_VALUE_TYPE_UNSIGNED_LONG_LONG", "kInt64": "NVML_VALUE_TYPE_SIGNED_LONG_LONG",
    "kInt32": "NVML_VALUE_TYPE_SIGNED_INT", "kUint16": "NVML_VALUE_TYPE_UNSIGNED_SHORT",
    "kGpuUtilizationSamples": "NVML_GPU_UTILIZATION_SAMPLES",
    "kMemoryUtilizationSamples": "NVML_MEMORY_UTILIZATION_SAMPLES",
    "kFieldNvlinkLinkCount": "NVML_FI_DEV_NVLINK_LINK_COUNT",
    "kFieldNvlinkDataTx": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX",
    "kFieldNvlinkDataRx": "NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX",
    "kFieldPcieTxBytes": "NVML_FI_DEV_PCIE_COUNT_TX_BYTES",
    "kFieldPcieRxBytes": "NVML_FI_DEV_PCIE_COUNT_RX_BYTES",
    "kFieldNvlink5TxBytes": "NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES",
    "kFieldNvlink5RxBytes": "NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES",
    "kPcieTx": "NVML_PCIE_UTIL_TX_BYTES", "kPcieRx": "NVML_PCIE_UTIL_RX_BYTES",
    "kUncorrectedErrors": "NVML_MEMORY_ERROR_TYPE_UNCORRECTED",
    "kVolatileCounter": "NVML_VOLATILE_ECC", "kMigEnabled": "NVML_DEVICE_MIG_ENABLE",
    "kGpmGraphicsUtilization": "NVML_GPM_METRIC_GRAPHICS_UTIL",
    "kGpmSmUtilization": "NVML_GPM_METRIC_SM_UTIL",
    "kGpmTensorUtilization": "NVML_GPM_METRIC_ANY_TENSOR_UTIL",
    "kGpmDramUtilization": "NVML_GPM_METRIC_DRAM_BW_UTIL",
}


def newest():
    """Returns the module of the newest nvidia-ml-py. Fetches it, if another one is installed."""
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--no-deps",
                    "--disable-pip-version-check", "nvidia-ml-py"], check=True)
    importlib.invalidate_caches()
    return importlib.import_module("pynvml")


def ours():
    """Returns the sizes, offsets and values in nvml_api.h, as a compiler has them."""
    lines = []
    for name, (_, members) in STRUCTURES.items():
        lines.append((name, f"sizeof({name})"))
        lines += [(f"{name}.{member}", f"offsetof({name}, {member})") for member in members]
    lines += [(name, name) for name in VALUES]
    prints = "".join(f'  printf(",\\n\\"{name}\\": %lld", (long long)({value}));\n'
                     for name, value in lines)
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "sizes.cc")
        source.write_text('#include <cstdio>\n#include "gpu/nvml_api.h"\n'
                          "using namespace gpuscaler::nvml;\n"
                          f'int main() {{\n  printf("{{\\"none\\": 0");\n{prints}  puts("}}");\n}}\n')
        program = source.with_suffix("")
        subprocess.run(["c++", "-std=c++20", f"-I{SOURCES}", source, "-o", program], check=True)
        return json.loads(subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout)


class Declarations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.theirs = newest()
        cls.ours = ours()

    def test_sizes_and_offsets_are_theirs(self):
        for name, (their_name, members) in STRUCTURES.items():
            theirs = getattr(self.theirs, their_name)
            with self.subTest(name):
                self.assertEqual({member: self.ours[f"{name}.{member}"] for member in members},
                                 {ours: getattr(theirs, member).offset
                                  for ours, member in members.items()})
                if name != "GpmMetricsGet":
                    self.assertEqual(self.ours[name], ctypes.sizeof(theirs))

    def test_no_member_of_theirs_is_missing(self):
        for name, (their_name, members) in STRUCTURES.items():
            with self.subTest(name):
                fields = {field[0] for field in getattr(self.theirs, their_name)._fields_}
                self.assertEqual(fields - set(members.values()) - {"ulVal"}, set())

    # The array grows with each new metric, under the same version.
    def test_there_is_room_for_every_metric_of_gpm(self):
        self.assertGreaterEqual(self.ours["GpmMetricsGet"],
                                ctypes.sizeof(self.theirs.c_nvmlGpmMetricsGet_t))

    def test_values_are_theirs(self):
        for name, their_name in VALUES.items():
            with self.subTest(name):
                self.assertEqual(self.ours[name], getattr(self.theirs, their_name))


if __name__ == "__main__":
    unittest.main()
