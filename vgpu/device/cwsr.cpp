// Compute wave save/restore.
//
// A queue's context save area is the program's own memory: [header and control stack,
// ctl_stack_size bytes] [wave state, up to save_area_size]. Layout of the wave state is the
// device's own business; here it is, per work-group and in this order:
//
//   per wave: SavedWave, then the allocated SGPRs        (544 bytes at most)
//   per wave: all allocated VGPRs, 256 bytes each
//   the group's LDS, as allocated
//
// What waves can be resident at a time is bounded by the CUs, and so is this: it always fits into
// the CUs x (VGPRs + SGPR 0x4000 + LDS 0x10000 + HWREG 0x1000) the runtime sets aside (libhsakmt
// queues.c, update_ctx_save_restore_size). The control stack gets one entry of 8 bytes per wave,
// growing down from its end: the offset of the wave's state.
//
// The program can scribble on the area. Only register contents come back from it; sizes and counts
// are kept in the device's own WorkGroup.
#include <algorithm>
#include <cstring>

#include "device/cost.h"
#include "device/dispatch.h"
#include "device/impl.h"

namespace vgpu::device {
namespace {

constexpr u32 kScalarBase = isa::op_flat_scratch;  // 102: what follows the general SGPRs
constexpr u32 kScalars = 128 - kScalarBase;
constexpr u32 kControlStackEntry = 8;
constexpr u32 kSaveAreaHeader = 40;  // kfd_context_save_area_header, the driver's

struct SavedWave {
  u64 pc;
  u64 gws_phase;
  u32 mode, trapsts;
  u8 scc, priority, at_barrier, ended, gws_arrived, pad[3];
  u32 scalars[kScalars];  // flat_scratch, xnack_mask, vcc, ttmps, m0, exec
};
static_assert(sizeof(SavedWave) == 136);

u32 saved_sgprs(const Kernel& kernel) { return std::min(kernel.sgprs, kScalarBase); }

u64 wave_scalar_bytes(const Kernel& kernel) {
  return sizeof(SavedWave) + saved_sgprs(kernel) * sizeof(u32);
}
u64 wave_vector_bytes(const Kernel& kernel) { return u64{kernel.vgprs} * isa::kLanes * 4; }

u64 group_bytes(const WorkGroup& group) {
  const Kernel& kernel = group.packet.kernel;
  return group.footprint.waves * (wave_scalar_bytes(kernel) + wave_vector_bytes(kernel)) +
         group.footprint.lds;
}

SavedWave saved_form(const isa::Wave& wave) {
  SavedWave saved{};
  saved.pc = wave.pc;
  saved.gws_phase = wave.gws_phase;
  saved.mode = wave.mode;
  saved.trapsts = wave.trapsts;
  saved.scc = wave.scc;
  saved.priority = wave.priority;
  saved.at_barrier = wave.at_barrier;
  saved.ended = wave.ended;
  saved.gws_arrived = wave.gws_arrived;
  std::memcpy(saved.scalars, wave.s + kScalarBase, sizeof(saved.scalars));
  return saved;
}

void from_saved_form(isa::Wave& wave, const SavedWave& saved) {
  wave.pc = saved.pc;
  wave.gws_phase = saved.gws_phase;
  wave.mode = saved.mode;
  wave.trapsts = saved.trapsts;
  wave.scc = saved.scc & 1;
  wave.priority = saved.priority & 3;
  wave.at_barrier = saved.at_barrier != 0;
  wave.ended = saved.ended != 0;
  wave.gws_arrived = saved.gws_arrived != 0;
  std::memcpy(wave.s + kScalarBase, saved.scalars, sizeof(saved.scalars));
}

u64 area_begin(const QueueProperties& queue) {
  return std::max<u64>(queue.ctl_stack_size, kPageSize);
}

bool write_group(const PageTable& memory, u64 va, const WorkGroup& group) {
  const Kernel& kernel = group.packet.kernel;
  const u64 sgpr_bytes = saved_sgprs(kernel) * sizeof(u32);
  bool ok = true;
  for (u32 i = 0; i < group.footprint.waves; ++i) {
    const SavedWave saved = saved_form(group.waves[i]);
    ok = ok && memory.write(va, &saved, sizeof(saved)) &&
         memory.write(va + sizeof(saved), group.waves[i].s, sgpr_bytes);
    va += wave_scalar_bytes(kernel);
  }
  const u64 vector_bytes = group.footprint.waves * wave_vector_bytes(kernel);
  return ok && memory.write(va, group.registers.get(), vector_bytes) &&
         memory.write(va + vector_bytes, group.lds.get(), group.footprint.lds);
}

bool read_group(const PageTable& memory, u64 va, WorkGroup& group) {
  const Kernel& kernel = group.packet.kernel;
  const u64 sgpr_bytes = saved_sgprs(kernel) * sizeof(u32);
  bool ok = true;
  for (u32 i = 0; i < group.footprint.waves; ++i) {
    SavedWave saved;
    ok = ok && memory.read(va, &saved, sizeof(saved)) &&
         memory.read(va + sizeof(saved), group.waves[i].s, sgpr_bytes);
    if (ok) {
      from_saved_form(group.waves[i], saved);
    }
    va += wave_scalar_bytes(kernel);
  }
  const u64 vector_bytes = group.footprint.waves * wave_vector_bytes(kernel);
  return ok && memory.read(va, group.registers.get(), vector_bytes) &&
         memory.read(va + vector_bytes, group.lds.get(), group.footprint.lds);
}

}  // namespace

// Where new state goes: behind the groups that were not restored since the last save. If that does
// not leave `wanted` bytes, those are moved down, over the holes that restored ones left.
u64 Gpu::Impl::make_save_space(QueueExecution& queue, u64 wanted) {
  const QueueProperties& properties = queue.mqd->properties;
  const PageTable& memory = queue.mqd->vmid->memory;
  const auto by_offset = [](const WorkGroup* a, const WorkGroup* b) {
    return a->save_offset < b->save_offset;
  };
  std::vector<WorkGroup*> kept(queue.saved.begin(), queue.saved.end());
  std::sort(kept.begin(), kept.end(), by_offset);
  const u64 begin = area_begin(properties);
  const u64 end = kept.empty() ? begin : kept.back()->save_offset + kept.back()->save_bytes;
  if (end + wanted <= properties.save_area_size) {
    return end;
  }
  u64 offset = begin;
  std::vector<u8> state;
  for (WorkGroup* group : kept) {
    state.resize(group->save_bytes);
    if (!memory.read(properties.save_area + group->save_offset, state.data(), state.size()) ||
        !memory.write(properties.save_area + offset, state.data(), state.size())) {
      return end;  // restoring it will report the fault
    }
    group->save_offset = offset;
    offset += group->save_bytes;
  }
  return offset;
}

namespace {

// One entry per saved wave, growing down from the end of the control stack.
void write_control_stack(const QueueExecution& queue) {
  const QueueProperties& properties = queue.mqd->properties;
  std::vector<u64> entries;
  for (const WorkGroup* group : queue.saved) {
    for (u32 wave = 0; wave < group->footprint.waves; ++wave) {
      entries.push_back(group->save_offset + wave * wave_scalar_bytes(group->packet.kernel));
    }
  }
  const u64 bytes = entries.size() * kControlStackEntry;
  if (bytes != 0 && bytes + kSaveAreaHeader <= properties.ctl_stack_size) {
    queue.mqd->vmid->memory.write(properties.save_area + properties.ctl_stack_size - bytes,
                                  entries.data(), bytes);
  }
}

}  // namespace

// Gives every resident group its place in the save area. One that gets none stays resident and is
// not among those returned.
std::vector<WorkGroup*> Gpu::Impl::plan_save(QueueExecution& queue) {
  std::vector<WorkGroup*> placed;
  const QueueProperties& properties = queue.mqd->properties;
  if (properties.save_area == 0) {
    return placed;  // no CWSR: the waves drain (kfd_mqd_manager_v9.c, QSWITCH_MODE)
  }
  u64 wanted = 0;
  for (const WorkGroup* group : queue.ready) {
    wanted += group_bytes(*group);
  }
  u64 offset = make_save_space(queue, wanted);
  for (WorkGroup* group : queue.ready) {
    const u64 bytes = group_bytes(*group);
    if (offset + bytes <= properties.save_area_size) {
      group->save_offset = offset;
      offset += bytes;
      placed.push_back(group);
    }
  }
  return placed;
}

void Gpu::Impl::save_group(WorkGroup& group) {
  const Mqd& mqd = *group.queue.mqd;
  if (write_group(mqd.vmid->memory, mqd.properties.save_area + group.save_offset, group)) {
    group.save_bytes = group_bytes(group);
  }
}

void Gpu::Impl::save_groups(QueueExecution& queue) {
  for (WorkGroup* group : plan_save(queue)) {
    save_group(*group);
  }
}

bool Gpu::Impl::commit_saved(QueueExecution& queue) {
  std::deque<WorkGroup*> resident;
  for (WorkGroup* group : queue.ready) {
    if (group->save_bytes == 0) {
      resident.push_back(group);
      continue;
    }
    group->state = WorkGroup::State::saved;
    release_cu(*group);
    group->free_state();
    stats_.waves_saved += group->footprint.waves;
    stats_.saved_bytes += group->save_bytes;
    queue.saved.push_back(group);
  }
  queue.ready = std::move(resident);
  write_control_stack(queue);
  SaveInfo info;
  u64 end = area_begin(queue.mqd->properties);
  for (const WorkGroup* group : queue.saved) {
    info.waves += group->footprint.waves;
    end = std::max(end, group->save_offset + group->save_bytes);
  }
  info.save_area_used = static_cast<u32>(end - area_begin(queue.mqd->properties));
  info.ctl_stack_used = static_cast<u32>(info.waves * kControlStackEntry);
  queue.save_info = info;
  return queue.ready.empty();
}

bool Gpu::Impl::restore_group(WorkGroup& group) {
  group.allocate(group.packet.kernel);
  const u64 va = group.queue.mqd->properties.save_area + group.save_offset;
  group.save_bytes = 0;
  return read_group(group.queue.mqd->vmid->memory, va, group);
}

// Cost model: when restored waves of a queue that is mapped now may run.
u64 Gpu::Impl::restore_time(const QueueExecution& queue) const {
  u64 bytes = 0;
  for (const WorkGroup* group : queue.saved) {
    bytes += group->save_bytes;
  }
  const u64 cost = preemption_ns(config_.cost_model, bytes);
  return cost == 0 ? 0 : now_ns() + cost;
}

}  // namespace vgpu::device
