// The files of NVIDIA's DRA driver on a node about the devices of its claims. HAMi's driver has the
// CDI files only.
//
// Three sources name the GPU of a device. The CDI file has the device nodes that the container
// runtime gave the container, so it is right whatever the driver's version calls the device. The
// checkpoint has the UUID, of an instance too, and is the only source of adminAccess; its format is
// private to the driver. The device's name, "gpu-0", has the minor number, needs no file, and comes
// last.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kubelet/pod_resources.h"
#include "workload/cdi_spec.h"
#include "workload/dra_checkpoint.h"
#include "workload/node_folders.h"

namespace gpuscaler {

// Not thread-safe.
class ClaimFiles {
 public:
  explicit ClaimFiles(const NodeFolders& folders);

  // Fills `other_ids` and `is_held` of the devices of these drivers, in the order above. Removes
  // devices with adminAccess: a pod that only monitors a GPU does not hold it. An absent file adds
  // nothing. If a file cannot be read or parsed, its content before that counts, and one line is
  // logged until it changes. One line is logged if there are such devices and the driver's folder
  // has no checkpoint. Blocks on files; reads a file again only if it has changed.
  void AddTo(std::vector<PodDevices>& pods);

 private:
  template <typename Content>
  struct File {
    std::string version;  // changes with the file; empty: absent
    Content content;      // from the last version without a fault
  };

  const PreparedDevice* Find(const std::string& pod, const PodDevice& device) const;
  const CdiDevices& Spec(const std::string& path);
  std::vector<std::string> CdiIdsOf(const PodDevice& device);
  std::string IdByNodes(const std::vector<std::string>& paths) const;
  std::string InstanceIdOf(int minor_number, const std::set<int>& capabilities) const;
  void LogAbsence(const std::vector<PodDevices>& pods);

  const NodeFolders folders_;
  File<PreparedDevices> checkpoint_;
  std::map<std::string, File<CdiDevices>> specs_;  // key: path; for the claims in the newest list
  std::set<std::string> used_;                     // paths in this AddTo()
  bool lacks_checkpoint_ = false;                  // as last logged
};

}  // namespace gpuscaler
