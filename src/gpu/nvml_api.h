// The calls of NVML that we use: our own declarations of the binary interface of libnvidia-ml.so.1.
// Neither the build nor the start needs NVIDIA's files. Sizes and offsets are those of nvml.h 13 on
// 64-bit Linux; tests/real/nvml_test.py compares them with NVIDIA's newest. The version of a
// structure is its size with the version number in the top byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuscaler::nvml {

// nvmlReturn_t. Newer drivers add values. nvml_error.h has the names.
using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kLibRmVersionMismatch = 18;
inline constexpr Return kNoData = 21;
inline constexpr Return kUnknown = 999;

using Device = struct DeviceHandle*;      // a GPU or a MIG instance; invalid after nvmlShutdown
using GpmSample = struct GpmSampleData*;  // a snapshot of the GPU's performance counters

inline constexpr unsigned kTextSize = 96;  // NVML's longest: a MIG UUID or a device name

struct Utilization {
  uint32_t gpu;     // percent
  uint32_t memory;  // percent
};
static_assert(sizeof(Utilization) == 8);

// In bytes, as MemoryV2.
struct Memory {
  uint64_t total;
  uint64_t free;
  uint64_t used;  // includes the driver's reserve from driver 510 on
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  static constexpr uint32_t kVersion = 40 | 2 << 24;
  uint32_t version;
  uint64_t total;
  uint64_t reserved;
  uint64_t free;
  uint64_t used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, used) == 32);

struct Temperature {
  static constexpr uint32_t kVersion = 12 | 1 << 24;
  uint32_t version;
  uint32_t sensor;
  int32_t celsius;
};
static_assert(sizeof(Temperature) == 12);
inline constexpr uint32_t kGpuSensor = 0;

inline constexpr uint64_t kMemoryNotAvailable = ~uint64_t{0};

// nvmlDeviceGetComputeRunningProcesses, without a suffix.
struct ProcessV1 {
  uint32_t pid;
  uint64_t memory_bytes;
};
static_assert(sizeof(ProcessV1) == 16);

// The calls with _v2 and _v3.
struct Process {
  uint32_t pid;
  uint64_t memory_bytes;
  uint32_t gpu_instance;
  uint32_t compute_instance;
};
static_assert(sizeof(Process) == 24 && offsetof(Process, gpu_instance) == 16);
// The size of a row that drivers 535.43 to 535.86 write through _v3.
inline constexpr size_t kLargestProcessRow = 32;

// nvmlDeviceGetProcessUtilization: one for each process that used the device since the given time.
struct ProcessUtilization {
  uint32_t pid;
  uint64_t usec;     // the host's clock
  uint32_t percent;  // time with a kernel of the process running
  uint32_t memory_percent;
  uint32_t encoder_percent;
  uint32_t decoder_percent;
};
static_assert(sizeof(ProcessUtilization) == 32 && offsetof(ProcessUtilization, percent) == 16);

union Value {
  double as_double;
  uint32_t as_uint32;
  uint64_t as_uint64;
  int64_t as_int64;
  int32_t as_int32;
  uint16_t as_uint16;
};
static_assert(sizeof(Value) == 8);

// nvmlValueType_t: what a Value holds.
enum ValueType : int32_t {
  kDouble = 0,
  kUint32 = 1,
  kUnsignedLong = 2,
  kUint64 = 3,
  kInt64 = 4,
  kInt32 = 5,
  kUint16 = 6,
};

struct Sample {
  uint64_t usec;  // the host's clock
  Value value;
};
static_assert(sizeof(Sample) == 16);
inline constexpr uint64_t kSecondUsec = 1'000'000;  // on the host's clock
inline constexpr int kGpuUtilizationSamples = 1;
inline constexpr int kMemoryUtilizationSamples = 2;

struct Field {
  uint32_t id;
  uint32_t scope;
  int64_t usec;  // when the value was read, by the host's clock
  int64_t latency_usec;
  ValueType type;
  Return result;
  Value value;
};
static_assert(sizeof(Field) == 40 && offsetof(Field, value) == 32);
inline constexpr uint32_t kFieldNvlinkLinkCount = 91;
inline constexpr uint32_t kFieldNvlinkDataTx = 138;  // KiB; scope is the link
inline constexpr uint32_t kFieldNvlinkDataRx = 139;  // KiB
inline constexpr uint32_t kFieldPcieTxBytes = 197;   // CUDA 12.5 and later
inline constexpr uint32_t kFieldPcieRxBytes = 198;
inline constexpr uint32_t kFieldNvlink5TxBytes = 202;  // Blackwell; scope is the link
inline constexpr uint32_t kFieldNvlink5RxBytes = 204;
inline constexpr uint32_t kAllLinks = ~uint32_t{0};

inline constexpr int kPcieTx = 0;
inline constexpr int kPcieRx = 1;

inline constexpr int kUncorrectedErrors = 1;
inline constexpr int kVolatileCounter = 0;  // since the driver was loaded

inline constexpr uint32_t kMigEnabled = 1;

inline constexpr int kP2pNvlink = 2;  // nvmlGpuP2PCapsIndex_t
inline constexpr int kP2pOk = 0;      // nvmlGpuP2PStatus_t

// nvmlGpuFabricInfoV_t, version 2.
struct FabricInfo {
  static constexpr uint32_t kVersion = 36 | 2 << 24;
  uint32_t version;
  uint8_t cluster_uuid[16];
  Return status;  // the result of the registration; valid if it is completed
  uint32_t clique;
  uint8_t state;
  uint32_t health;
};
static_assert(sizeof(FabricInfo) == 36 && offsetof(FabricInfo, state) == 28);
// nvmlGpuFabricState_t: the registration with the fabric manager, in progress after the start.
inline constexpr uint8_t kFabricNotStarted = 1;
inline constexpr uint8_t kFabricInProgress = 2;
inline constexpr uint8_t kFabricCompleted = 3;

struct GpmSupport {
  static constexpr uint32_t kVersion = 1;
  uint32_t version;
  uint32_t supported;
};
static_assert(sizeof(GpmSupport) == 8);

struct GpmMetric {
  uint32_t id;
  Return result;
  double value;
  const char* names[3];
};
static_assert(sizeof(GpmMetric) == 40);
// Percent of the time with any compute or graphics work on the device.
inline constexpr uint32_t kGpmGraphicsUtilization = 1;
inline constexpr uint32_t kGpmSmUtilization = 2;      // percent of the SMs that were busy
inline constexpr uint32_t kGpmTensorUtilization = 5;  // percent of the time with any tensor work
inline constexpr uint32_t kGpmDramUtilization = 10;   // percent of the memory bandwidth

// The array had 98 elements, then 210, 333, now 477, all under version 1. This is the longest.
struct GpmMetricsGet {
  static constexpr uint32_t kVersion = 1;
  uint32_t version;
  uint32_t count;
  GpmSample earlier;
  GpmSample later;
  GpmMetric metrics[477];
};
static_assert(offsetof(GpmMetricsGet, metrics) == 24);

// The library's functions; null if this driver has none. Each comment has the symbols without
// "nvml": later ones in a list are fallbacks for older drivers.
struct NvmlFunctions {
  Return (*init)();                              // Init_v2, Init
  Return (*shutdown)();                          // Shutdown
  Return (*driver_version)(char*, unsigned);     // SystemGetDriverVersion
  Return (*count)(unsigned*);                    // DeviceGetCount_v2, DeviceGetCount
  Return (*handle_by_index)(unsigned, Device*);  // DeviceGetHandleByIndex_v2, without _v2
  Return (*uuid)(Device, char*, unsigned);       // DeviceGetUUID
  Return (*name)(Device, char*, unsigned);       // DeviceGetName
  Return (*minor_number)(Device, unsigned*);     // DeviceGetMinorNumber
  Return (*utilization)(Device, Utilization*);   // DeviceGetUtilizationRates
  Return (*samples)(Device, int type, uint64_t since_usec, int* value_type, unsigned* count,
                    Sample*);                           // DeviceGetSamples
  Return (*memory_v2)(Device, MemoryV2*);               // DeviceGetMemoryInfo_v2 (driver 510)
  Return (*memory)(Device, Memory*);                    // DeviceGetMemoryInfo
  Return (*temperature_v)(Device, Temperature*);        // DeviceGetTemperatureV (CUDA 12.8)
  Return (*temperature)(Device, int, unsigned*);        // DeviceGetTemperature
  Return (*power_milliwatts)(Device, unsigned*);        // DeviceGetPowerUsage
  Return (*power_limit_milliwatts)(Device, unsigned*);  // DeviceGetEnforcedPowerLimit
  Return (*pcie_kbps)(Device, int, unsigned*);          // DeviceGetPcieThroughput: blocks 20 ms
  Return (*fields)(Device, int count, Field*);          // DeviceGetFieldValues
  Return (*throttle_reasons)(Device, uint64_t*);        // DeviceGetCurrentClocksEventReasons
                                                        // (12.2), ...ThrottleReasons
  Return (*ecc_errors)(Device, int error, int counter, uint64_t*);  // DeviceGetTotalEccErrors
  Return (*processes_v3)(Device, unsigned*, Process*);    // DeviceGetComputeRunningProcesses_v3
  Return (*processes_v2)(Device, unsigned*, Process*);    // DeviceGetComputeRunningProcesses_v2
  Return (*processes_v1)(Device, unsigned*, ProcessV1*);  // DeviceGetComputeRunningProcesses
  Return (*mps_processes_v3)(Device, unsigned*,
                             Process*);  // DeviceGetMPSComputeRunningProcesses_v3
  Return (*process_utilization)(Device, ProcessUtilization*, unsigned* count,
                                uint64_t since_usec);            // DeviceGetProcessUtilization
  Return (*mig_mode)(Device, unsigned* now, unsigned* pending);  // DeviceGetMigMode
  Return (*mig_max_count)(Device, unsigned*);                    // DeviceGetMaxMigDeviceCount
  Return (*mig_handle_by_index)(Device, unsigned, Device*);      // DeviceGetMigDeviceHandleByIndex
  Return (*gpu_instance_id)(Device, unsigned*);                  // DeviceGetGpuInstanceId
  Return (*p2p_status)(Device, Device, int capability, int*);    // DeviceGetP2PStatus
  Return (*fabric_info)(Device, FabricInfo*);                    // DeviceGetGpuFabricInfoV (R545)
  Return (*gpm_support)(Device, GpmSupport*);                    // GpmQueryDeviceSupport
  Return (*gpm_sample_alloc)(GpmSample*);                        // GpmSampleAlloc
  Return (*gpm_sample_free)(GpmSample);                          // GpmSampleFree
  Return (*gpm_sample)(Device, GpmSample);                       // GpmSampleGet
  Return (*gpm_mig_sample)(Device parent, unsigned gpu_instance, GpmSample);  // GpmMigSampleGet
  Return (*gpm_metrics)(GpmMetricsGet*);                                      // GpmMetricsGet
};

// Calls `function`. Returns kFunctionNotFound if the driver has none.
template <typename Function, typename... Arguments>
Return Call(Function* function, Arguments... arguments) {
  return function == nullptr ? kFunctionNotFound : function(arguments...);
}

}  // namespace gpuscaler::nvml
