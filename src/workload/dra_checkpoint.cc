#include "workload/dra_checkpoint.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using Json = nlohmann::json;

// Returns null if a part of the path is absent, null or no object.
const Json& At(const Json& json, std::initializer_list<const char*> path) {
  static const Json kNull;
  const Json* at = &json;
  for (const char* const key : path) {
    if (!at->is_object()) return kNull;
    const auto found = at->find(key);
    if (found == at->end()) return kNull;
    at = &*found;
  }
  return *at;
}

std::string TextAt(const Json& json, std::initializer_list<const char*> path) {
  const Json& text = At(json, path);
  return text.is_string() ? text.get<std::string>() : "";
}

using DevicesByKey = std::map<PreparedDevices::Key, PreparedDevice>;

// The UUID of an instance is in "info" until v25.8, later in "concrete".
void AddPrepared(const std::string& claim_uid, const Json& device, DevicesByKey& of_claim) {
  const std::pair<const char*, std::string> kinds[] = {
      {"gpu", TextAt(device, {"gpu", "info", "uuid"})},
      {"mig", TextAt(device, {"mig", "concrete", "migUUID"})},
      {"mig", TextAt(device, {"mig", "info", "uuid"})}};
  for (const auto& [kind, uuid] : kinds) {
    const std::string name = TextAt(device, {kind, "device", "DeviceName"});
    if (!uuid.empty() && !name.empty()) of_claim[{claim_uid, name}].uuid = uuid;
  }
}

// Adds the devices by the names of the pods for which the claim is reserved.
void AddByPods(const Json& claim, const DevicesByKey& of_claim, DevicesByKey& by_pod) {
  for (const Json& user : At(claim, {"status", "reservedFor"})) {
    const std::string pod = TextAt(user, {"name"});
    if (pod.empty() || TextAt(user, {"resource"}) != "pods") continue;
    for (const auto& [key, device] : of_claim) {
      const auto entry = by_pod.try_emplace({pod, key.second}, device).first;
      if (!device.has_admin_access) entry->second.has_admin_access = false;
    }
  }
}

void AddClaim(const std::string& uid, const Json& claim, DevicesByKey& of_claim) {
  for (const Json& result : At(claim, {"status", "allocation", "devices", "results"})) {
    if (TextAt(result, {"driver"}) != "gpu.nvidia.com") continue;
    const Json& admin = At(result, {"adminAccess"});
    of_claim[{uid, TextAt(result, {"device"})}].has_admin_access =
        admin.is_boolean() && admin.get<bool>();
  }
  for (const Json& group : At(claim, {"preparedDevices"})) {
    for (const Json& device : At(group, {"devices"})) AddPrepared(uid, device, of_claim);
  }
}

}  // namespace

absl::StatusOr<PreparedDevices> ParseDraCheckpoint(absl::string_view json) {
  const Json checkpoint = Json::parse(json.begin(), json.end(), nullptr, false);
  const bool has_v2 = At(checkpoint, {"v2"}).is_object();
  if (!has_v2 && !At(checkpoint, {"v1"}).is_object()) {
    return absl::InvalidArgumentError("no checkpoint of NVIDIA's DRA driver: it has no v1 or v2");
  }
  PreparedDevices devices;
  const Json& claims = At(checkpoint, {has_v2 ? "v2" : "v1", "preparedClaims"});
  for (const auto& [uid, claim] : claims.items()) {
    DevicesByKey of_claim;
    AddClaim(uid, claim, of_claim);
    AddByPods(claim, of_claim, devices.by_pod);
    devices.by_claim.merge(of_claim);
  }
  return devices;
}

}  // namespace gpuscaler
