// What `gpreempt doctor` finds out, as data; doctor.cpp shows it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "discover/discover.h"
#include "mechanism/mechanism.h"

namespace gp::cli {

enum class Health { good, limited, bad, unknown };
const char* name(Health health);

struct Finding {
  std::string subject;  // "device"
  Health health = Health::good;
  std::string text;
  std::string fix;               // empty if nothing is to be done
  ExitCode exit_code = exit_ok;  // what a bad finding means for the command
};

struct MechanismFinding {
  Mechanism mechanism;
  std::optional<mechanism::Probe> probe;  // empty: no process was given
};

struct Diagnosis {
  std::string kernel;
  std::string driver_version;              // of the amdgpu module; empty: the kernel's own
  std::optional<std::string> kfd_version;  // "1.17"
  discover::Snapshot snapshot;
  std::vector<Finding> findings;
  std::optional<pid_t> pid;
  std::vector<MechanismFinding> mechanisms;

  // That of the first bad finding; 5 if a process was given and no mechanism works on it.
  ExitCode exit_code() const;
};

// As `gpreempt doctor --json` says it.
std::string diagnosis_json(const Diagnosis& diagnosis);

// Who asks: which groups and rights the answers depend on.
struct Identity {
  uid_t uid = 0;
  std::string user;
};
Identity current_identity();

// Everything that can be said without looking at a process. `gpu`: the one that is meant, by its
// place among those the driver lists; without it any that can be used will do.
Diagnosis diagnose(Os& os, const discover::Paths& paths, const Identity& who,
                   const discover::Sources& sources, std::optional<unsigned> gpu = {});
// Probes every mechanism on the process. ESRCH if there is none.
Status probe_process(Os& os, const discover::Paths& paths, pid_t pid, Diagnosis& diagnosis);

}  // namespace gp::cli
