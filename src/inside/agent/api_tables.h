// ROCr's tables of functions, as it hands them to tools: which releases have which layout, and
// where in it the functions lie that the agent needs.
//
// A table begins with its version; behind it each slot is a pointer to a function. The layouts are
// those of hsa_api_trace.h in the releases named here (ROCm/ROCR-Runtime, tags rocm-4.5.0 to
// rocm-6.2.4 and branch rocm-rel-6.3.0.1; ROCm/rocm-systems, branch release/rocm-rel-7.0; Debian's
// libhsa-runtime-dev 6.4.3 and 7.2.4), where `minor_id` is the table's size in bytes
// (hsa_api_trace.cpp). The headers that this is compiled with decide nothing.
//
//   release      root major   core: major, bytes   AMD: major, bytes
//   4.5 to 5.4   1            1, 1016              1, 400
//   5.5          1            1, 1016              1, 424  three inserted after slot 47
//   5.6, 5.7     1            1, 1016              1, 456  two inserted after slot 16
//   6.0          2            2, 1016              2, 552
//   6.1          3            2, 1016              2, 560
//   6.2          3            2, 1016              2, 576
//   6.3          3            2, 1016              2, 584
//   6.4          3            2, 1016              2, 592
//   7.0          3            2, 1016              2, 608
//   7.2          3            2, 1016              2, 624
//
// The core table is the same in all of them. Since 6.0 functions are only appended: the build of
// ROCr breaks when the size of a table changes and its step does not (hsa_api_trace.cpp).
#pragma once

#include "libc/types.h"

namespace gp::agent {

// ApiTableVersion.
struct TableVersion {
  u32 major_id = 0;
  u32 minor_id = 0;  // the size of the table in bytes, this included
  u32 step_id = 0;
  u32 reserved = 0;
};
static_assert(sizeof(TableVersion) == 16);

// The beginning of HsaApiTable; what follows differs and is not needed.
struct RootTable {
  TableVersion version;
  TableVersion* core = nullptr;
  TableVersion* amd = nullptr;
};
static_assert(sizeof(RootTable) == 32);

enum class TableKind : u8 { core, amd };
enum class Layout : u8 { before_5_6, since_5_6 };

struct KnownTable {
  TableKind kind;
  u32 major_id;
  u32 least_bytes, most_bytes;
  Layout layout;
};
constexpr u32 kAnyBytes = ~0u;
constexpr u32 kFirstRootMajor = 1, kLastRootMajor = 3;
constexpr KnownTable kKnownTables[] = {
    {TableKind::core, 1, 1016, 1016, Layout::before_5_6},
    {TableKind::core, 2, 1016, kAnyBytes, Layout::since_5_6},
    {TableKind::amd, 1, 400, 424, Layout::before_5_6},
    {TableKind::amd, 1, 456, 456, Layout::since_5_6},
    {TableKind::amd, 2, 552, kAnyBytes, Layout::since_5_6},
};

// A function's place, counted from 1 behind the version.
struct Slot {
  TableKind kind;
  u32 before_5_6, since_5_6;

  constexpr u32 offset(Layout layout) const {
    const u32 number = layout == Layout::before_5_6 ? before_5_6 : since_5_6;
    return static_cast<u32>(sizeof(TableVersion) + (number - 1) * sizeof(void*));
  }
};

constexpr bool lies_in_known_tables(const Slot& slot) {
  for (const KnownTable& table : kKnownTables) {
    if (table.kind == slot.kind &&
        slot.offset(table.layout) + sizeof(void*) > u64{table.least_bytes}) {
      return false;
    }
  }
  return true;
}

// A slot that does not lie in every table that is known does not compile: nothing has to be checked
// when one is touched.
template <TableKind kind, u32 before, u32 since>
constexpr Slot known_slot() {
  constexpr Slot slot{kind, before, since};
  static_assert(lies_in_known_tables(slot));
  return slot;
}
template <u32 number>
constexpr Slot core_slot = known_slot<TableKind::core, number, number>();
template <u32 before, u32 since>
constexpr Slot amd_slot = known_slot<TableKind::amd, before, since>();

namespace slot {
constexpr Slot system_get_info = core_slot<3>;
constexpr Slot agent_get_info = core_slot<7>;
constexpr Slot queue_create = core_slot<8>;
constexpr Slot queue_destroy = core_slot<10>;
constexpr Slot queue_inactivate = core_slot<11>;
constexpr Slot queue_load_read_index_scacquire = core_slot<12>;
constexpr Slot queue_load_write_index_scacquire = core_slot<14>;
constexpr Slot queue_cas_write_index_scacq_screl = core_slot<18>;
constexpr Slot signal_create = core_slot<38>;
constexpr Slot signal_destroy = core_slot<39>;
constexpr Slot signal_load_scacquire = core_slot<41>;
constexpr Slot signal_store_relaxed = core_slot<42>;
constexpr Slot signal_store_screlease = core_slot<43>;
constexpr Slot signal_silent_store_relaxed = core_slot<103>;
constexpr Slot signal_silent_store_screlease = core_slot<104>;
constexpr Slot amd_signal_async_handler = amd_slot<8, 8>;
constexpr Slot amd_queue_intercept_create = amd_slot<36, 38>;
constexpr Slot amd_queue_intercept_register = amd_slot<37, 39>;
constexpr Slot amd_queue_set_priority = amd_slot<38, 40>;
}  // namespace slot

// Why the agent does not work in this process, for people.
struct Refusal {
  char text[128] = {};
};

// The tables of one runtime, once it is known what they are.
class ApiTables {
 public:
  // False, with the reason, if the runtime's tables are not of a known layout. Reads nothing but
  // versions and the root's two pointers.
  bool recognise(const RootTable* root, Refusal& refusal);

  template <class Function>
  Function* get(const Slot& slot) const {
    return reinterpret_cast<Function*>(*place(slot));
  }
  template <class Function>
  void set(const Slot& slot, Function* function) const {
    *place(slot) = reinterpret_cast<void*>(function);
  }

 private:
  struct Table {
    char* begin = nullptr;
    Layout layout = Layout::since_5_6;
  };
  static bool recognise(TableKind kind, TableVersion* version, Table& table, Refusal& refusal);
  void** place(const Slot& slot) const {
    const Table& table = slot.kind == TableKind::core ? core_ : amd_;
    return reinterpret_cast<void**>(table.begin + slot.offset(table.layout));
  }

  Table core_, amd_;
};

}  // namespace gp::agent
