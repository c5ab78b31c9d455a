// A fake /sys with AMD GPUs, laid out as the kernel does it, with its symbolic links.
//
//   TestAmdSysfs sysfs;
//   sysfs.AddMi210("0000:63:00.0", {.card = 1, .render_minor = 128});
//   AmdSource source(sysfs.root(), "gpu-7", clock);
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/test_folder.h"

namespace gpuscaler {

// A gpu_metrics table. Every field is not available until it is set.
class TestGpuMetrics {
 public:
  TestGpuMetrics(uint8_t revision, uint16_t size, uint8_t format = 1) : bytes_(size, '\xff') {
    Set<uint16_t>(0, size);
    Set<uint8_t>(2, format);
    Set<uint8_t>(3, revision);
  }

  template <typename T>
  TestGpuMetrics& Set(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Version 1.7, which MI300 has since Linux 6.14.
struct TestMi300Metrics {
  uint32_t cycles = 0;
  uint32_t gfx_sum = 0;
  // Partitions, then compute dies.
  std::vector<std::vector<uint32_t>> busy_percent;
  std::vector<std::vector<uint64_t>> busy_sums;

  std::string bytes() const {
    TestGpuMetrics table(7, 2208);
    table.Set<uint16_t>(12, 40).Set<uint16_t>(14, 20).Set(40, cycles).Set(76, gfx_sum);
    table.Set<uint16_t>(338, static_cast<uint16_t>(busy_percent.size()));
    for (size_t i = 0; i < busy_percent.size(); ++i) {
      const size_t partition = 344 + i * 232;
      for (size_t die = 0; die < busy_percent[i].size(); ++die) {
        table.Set(partition + 4 * die, busy_percent[i][die]);
        if (i < busy_sums.size()) table.Set(partition + 104 + 8 * die, busy_sums[i][die]);
      }
    }
    return table.bytes();
  }
};

class TestAmdSysfs {
 public:
  struct Drm {
    int card = 0;
    int render_minor = 128;
  };

  TestAmdSysfs() {
    folder_.Write("bus/pci/drivers/amdgpu/bind", "");
    folder_.AddFolder("module/amdgpu/drivers");
    Link("../../../bus/pci/drivers/amdgpu", "module/amdgpu/drivers/pci:amdgpu");
    folder_.AddFolder("devices/platform/serial8250");
    folder_.Write("devices/virtual/kfd/kfd/topology/generation_id", "2\n");
    folder_.AddFolder("devices/virtual/kfd/kfd/topology/nodes");
    folder_.AddFolder("devices/virtual/kfd/kfd/proc");
    folder_.AddFolder("class/kfd");
    Link("../../devices/virtual/kfd/kfd", "class/kfd/kfd");
  }

  const std::string& root() const { return folder_.path(); }

  // A server card that cannot be divided.
  void AddMi210(const std::string& pci, Drm drm) {
    AddCard(pci, drm,
            {{"device", "0x740f"},
             {"unique_id", "1901e6b24a7a4ae6"},
             {"product_name", "AMD Instinct MI210"},
             {"gpu_busy_percent", "71"},
             {"mem_busy_percent", "33"},
             {"mem_info_vram_total", "68702699520"},
             {"mem_info_vram_used", "10804899840"},
             {"power/runtime_status", "active"},
             {"hwmon/hwmon5/name", "amdgpu"},
             {"hwmon/hwmon5/in0_input", "806"},
             {"hwmon/hwmon5/in0_label", "vddgfx"},
             {"hwmon/hwmon5/power1_average", "147000000"},
             {"hwmon/hwmon5/power1_cap", "300000000"},
             {"hwmon/hwmon5/temp1_input", "45000"},
             {"hwmon/hwmon5/temp1_label", "edge"},
             {"hwmon/hwmon5/temp2_input", "52000"},
             {"hwmon/hwmon5/temp2_label", "junction"},
             {"hwmon/hwmon5/temp3_input", "60000"},
             {"hwmon/hwmon5/temp3_label", "mem"}});
    Set(pci, "gpu_metrics", TestGpuMetrics(3, 120).Set<uint16_t>(16, 71).bytes());
  }

  // Adds the GPU and, as the kernel does in every mode, the devices of seven further partitions:
  // amdgpu_xcp_<first_device> and on. Their render minors follow the GPU's.
  void AddMi300(const std::string& pci, Drm drm, const std::string& unique_id,
                const std::string& compute_mode, int first_device) {
    AddCard(pci, drm,
            {{"device", "0x74a1"},
             {"unique_id", unique_id},
             {"product_name", "AMD Instinct MI300X OAM"},
             {"gpu_busy_percent", "55"},
             {"mem_busy_percent", "12"},
             {"mem_info_vram_total", "206141652992"},
             {"mem_info_vram_used", "297234432"},
             {"current_compute_partition", compute_mode},
             {"current_memory_partition", "NPS1"},
             {"power/runtime_status", "active"},
             {"hwmon/hwmon7/name", "amdgpu"},
             {"hwmon/hwmon7/in0_input", "806"},
             {"hwmon/hwmon7/in0_label", "vddgfx"},
             {"hwmon/hwmon7/power1_input", "132000000"},
             {"hwmon/hwmon7/power1_cap", "750000000"},
             {"hwmon/hwmon7/temp2_input", "38000"},
             {"hwmon/hwmon7/temp2_label", "junction"},
             {"hwmon/hwmon7/temp3_input", "31000"},
             {"hwmon/hwmon7/temp3_label", "mem"}});
    for (int i = 0; i < 7; ++i) {
      folder_.AddFolder(absl::StrCat("devices/platform/amdgpu_xcp_", first_device + i,
                                     "/drm/renderD", drm.render_minor + 1 + i));
    }
  }

  // A card with display connectors, without product's name, id, partitions and compute driver.
  void AddDesktopCard(const std::string& pci, Drm drm) {
    AddCard(pci, drm,
            {{"device", "0x744c"},
             {"gpu_busy_percent", "4"},
             {"mem_busy_percent", "1"},
             {"mem_info_vram_total", "25753026560"},
             {"mem_info_vram_used", "1288490188"},
             {"power/runtime_status", "active"},
             {"hwmon/hwmon1/name", "amdgpu"},
             {"hwmon/hwmon1/power1_average", "28000000"},
             {"hwmon/hwmon1/power1_cap", "327000000"},
             {"hwmon/hwmon1/temp1_input", "41000"},
             {"hwmon/hwmon1/temp1_label", "edge"}});
    folder_.AddFolder(absl::StrCat(Device(pci), "/drm/card", drm.card, "/card", drm.card, "-DP-1"));
    folder_.AddFolder(absl::StrCat(Device(pci), "/drm/controlD64"));
  }

  void Set(const std::string& pci, const std::string& file, const std::string& text) {
    folder_.Write(absl::StrCat(Device(pci), "/", file), text);
  }
  void Remove(const std::string& pci, const std::string& file) {
    std::filesystem::remove_all(PathIn(pci, file));
  }
  // Makes reads of the file fail with EISDIR, in place of the driver's EPERM.
  void Break(const std::string& pci, const std::string& file) {
    Remove(pci, file);
    std::filesystem::create_directory(PathIn(pci, file));
  }
  void Unplug(const std::string& pci) {
    std::filesystem::remove(folder_.PathOf("bus/pci/drivers/amdgpu/" + pci));
    std::filesystem::remove_all(folder_.PathOf(Device(pci)));
  }

  struct KfdGpu {
    int64_t gpu_id = 0;
    int render_minor = 0;
    int64_t location_id = 0;
    int64_t memory_bytes = 0;
  };
  // A node with files that cannot be read: this process may not open the device.
  void AddHiddenNode(int number) { folder_.AddFolder(Node(number)); }
  void AddCpuNode(int number) {
    folder_.Write(Node(number) + "/gpu_id", "0\n");
    folder_.Write(Node(number) + "/name", "\n");
    folder_.Write(Node(number) + "/properties", "cpu_cores_count 96\nsimd_count 0\n");
    AddLinkFolders(number);
    folder_.Write(Node(number) + "/mem_banks/0/properties", "heap_type 0\nsize_in_bytes 99\n");
  }
  void AddGpuNode(int number, const KfdGpu& gpu) {
    folder_.Write(Node(number) + "/gpu_id", absl::StrCat(gpu.gpu_id, "\n"));
    folder_.Write(Node(number) + "/properties",
                  absl::StrCat("cpu_cores_count 0\nsimd_count 152\narray_count 8\n"
                               "simd_arrays_per_engine 1\ncu_per_simd_array 14\n"
                               "vendor_id 4098\nlocation_id ",
                               gpu.location_id, "\ndomain 0\ndrm_render_minor ", gpu.render_minor,
                               "\nhive_id 15188982192727901047\nnum_xcc 1\n"));
    folder_.Write(Node(number) + "/mem_banks/0/properties",
                  absl::StrCat("heap_type 1\nsize_in_bytes ", gpu.memory_bytes,
                               "\nflags 0\nwidth 8192\nmem_clk_max 1300\n"));
    folder_.Write(Node(number) + "/mem_banks/0/used_memory", "297234432\n");
    folder_.Write(Node(number) + "/name", "aldebaran\n");
    AddLinkFolders(number);
  }
  // The key is the gpu_id.
  void SetProcess(int64_t pid, const std::map<int64_t, int64_t>& memory_bytes) {
    for (const auto& [gpu_id, bytes] : memory_bytes) {
      folder_.Write(absl::StrCat("devices/virtual/kfd/kfd/proc/", pid, "/vram_", gpu_id),
                    absl::StrCat(bytes, "\n"));
      folder_.Write(absl::StrCat("devices/virtual/kfd/kfd/proc/", pid, "/sdma_", gpu_id), "7\n");
    }
    folder_.Write(absl::StrCat("devices/virtual/kfd/kfd/proc/", pid, "/pasid"), "32770\n");
  }
  void RemoveKfd() { std::filesystem::remove(folder_.PathOf("class/kfd/kfd")); }
  void LoadNvidiaDriver() { folder_.AddFolder("module/nvidia"); }

 private:
  static std::string Device(const std::string& pci) { return "devices/pci0000:00/" + pci; }
  static std::string Node(int number) {
    return absl::StrCat("devices/virtual/kfd/kfd/topology/nodes/", number);
  }
  void AddLinkFolders(int node) {
    folder_.AddFolder(Node(node) + "/io_links");
    folder_.AddFolder(Node(node) + "/p2p_links");
  }
  std::string PathIn(const std::string& pci, const std::string& file) const {
    return folder_.PathOf(absl::StrCat(Device(pci), "/", file));
  }
  void Link(const std::string& target, const std::string& name) {
    std::filesystem::create_directory_symlink(target, folder_.PathOf(name));
  }
  void AddCard(const std::string& pci, Drm drm, const std::map<std::string, std::string>& files) {
    for (const auto& [file, text] : files) Set(pci, file, text + "\n");
    Set(pci, "vendor", "0x1002\n");
    Set(pci, "vbios_version", "113-D65209-0C\n");
    const std::string card = absl::StrCat("card", drm.card);
    folder_.AddFolder(absl::StrCat(Device(pci), "/drm/", card));
    Link("../../../" + pci, absl::StrCat(Device(pci), "/drm/", card, "/device"));
    folder_.AddFolder("class/drm");
    Link(absl::StrCat("../../", Device(pci), "/drm/", card), "class/drm/" + card);
    folder_.AddFolder(absl::StrCat(Device(pci), "/drm/renderD", drm.render_minor));
    Link("../../../../" + Device(pci), "bus/pci/drivers/amdgpu/" + pci);
  }

  const TestFolder folder_;
};

}  // namespace gpuscaler
