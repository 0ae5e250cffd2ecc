#include "agent/api_tables.h"

#include <stdio.h>

namespace gp::agent {

bool ApiTables::recognise(TableKind kind, TableVersion* version, Table& table, Refusal& refusal) {
  const char* const name = kind == TableKind::core ? "core" : "AMD";
  if (version == nullptr) {
    snprintf(refusal.text, sizeof refusal.text, "ROCr has no %s table of functions", name);
    return false;
  }
  for (const KnownTable& known : kKnownTables) {
    if (known.kind == kind && known.major_id == version->major_id &&
        version->minor_id >= known.least_bytes && version->minor_id <= known.most_bytes) {
      table = {reinterpret_cast<char*>(version), known.layout};
      return true;
    }
  }
  snprintf(refusal.text, sizeof refusal.text,
           "ROCr's %s table of functions is of a version that is not known (%u, %u bytes)", name,
           version->major_id, version->minor_id);
  return false;
}

bool ApiTables::recognise(const RootTable* root, Refusal& refusal) {
  const TableVersion& version = root->version;
  if (version.major_id < kFirstRootMajor || version.major_id > kLastRootMajor ||
      version.minor_id < sizeof(RootTable)) {
    snprintf(refusal.text, sizeof refusal.text,
             "ROCr's tables of functions are of a version that is not known (%u, %u bytes)",
             version.major_id, version.minor_id);
    return false;
  }
  return recognise(TableKind::core, root->core, core_, refusal) &&
         recognise(TableKind::amd, root->amd, amd_, refusal);
}

}  // namespace gp::agent
