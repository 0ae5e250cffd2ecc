// The configuration of gpreemptd, /etc/gpreempt/gpreemptd.toml. Everything has a default, an
// unknown key is an error, and every error says where: file, line and column. man gpreemptd.8
// describes the keys; the [parameters] are those of policy/parameters.def.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "discover/discover.h"
#include "sched/tables.h"

namespace gp::config {

constexpr const char* kDefaultPath = "/etc/gpreempt/gpreemptd.toml";

// What a user may do beyond governing their own processes. Root and the daemon's own user may all.
struct Grant {
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;     // any group of the process, supplementary ones too
  bool preempt_others = false;  // online jobs of theirs stop offline jobs of others, too
  bool govern_others = false;   // suspend, resume and classify processes of others
};

// Which classes work of some users may have. Of those that apply to a user, the first counts.
struct Access {
  Grant who;                       // only uid and gid
  std::vector<WorkClass> classes;  // what calls itself something else is of the first one
};

// Who may connect; what they may do is decided by their identity.
struct SocketAccess {
  mode_t mode = 0666;
  std::optional<gid_t> group;  // of the socket; empty: the daemon's
};

struct Limits {
  u32 connections = 4096;
  u32 connections_per_user = 512;
  u32 messages_per_second = 2000;  // of one connection; beyond, it is closed
};

// Hardware slots to keep free for online work: a number, or shares (mechanism/reservation.h).
struct Reservation {
  std::optional<u32> slots;
  u32 online_percent = 0;
  u32 offline_percent = 100;
  bool is_wanted() const {
    return slots.value_or(0) != 0 || online_percent != 0 || offline_percent != 100;
  }
};

struct Config {
  sched::Settings settings;
  Reservation reservation;
  discover::ClassConfig classes;
  std::vector<Grant> grants;
  std::vector<Access> access;
  Limits limits;
  SocketAccess socket_access;
  bool real_time = true;                // daemon and agents, where they are permitted to be
  bool watch_all_processes = true;      // find processes without an agent, too
  u64 read_rings_every_ns = 1'000'000;  // where the settings say that rings are read
};

// EINVAL with "name:line:column: what is wrong".
Result<Config> parse(std::string_view text, const std::string& name);
// The file; the defaults if `path` is empty.
Result<Config> load(const std::string& path);

}  // namespace gp::config
