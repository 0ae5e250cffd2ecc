#include "device/dispatch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace vgpu::device {
namespace {

constexpr u64 kRegisterAlignment = 64;

// COMPUTE_PGM_RSRC2 bits.
constexpr u32 kRsrc2PrivateSegment = 1 << 0;
constexpr u32 kRsrc2GroupIdX = 1 << 7;
constexpr u32 kRsrc2GroupIdY = 1 << 8;
constexpr u32 kRsrc2GroupIdZ = 1 << 9;
constexpr u32 kRsrc2GroupInfo = 1 << 10;
constexpr u32 rsrc2_user_sgprs(u32 rsrc2) { return rsrc2 >> 1 & 0x1f; }
constexpr u32 rsrc2_work_item_id(u32 rsrc2) { return rsrc2 >> 11 & 3; }
constexpr u32 rsrc2_exceptions(u32 rsrc2) { return rsrc2 >> 24 & 0x7f; }

// The MODE register at launch: round and denorm from RSRC1 19:12, DX10_CLAMP 21, IEEE 23,
// FP16_OVFL 26, and the enabled exceptions of RSRC2.
u32 initial_mode(u32 rsrc1, u32 rsrc2) {
  return (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9 |
         rsrc2_exceptions(rsrc2) << 12 | (rsrc1 >> 26 & 1) << 23;
}

// HW_REG_HW_ID, gfx9 layout.
u32 hardware_id(const WorkGroup& group, u32 wave) {
  const Placement& place = group.placement;
  return place.slot[wave] | place.simd[wave] << 4u | (place.cu & 15) << 8 |
         (place.cu >> 4 & 1) << 12 | (place.cu >> 5 & 7) << 13 | (group.number & 15) << 16 |
         (group.queue.slot & 7) << 24;
}

// Appends SGPRs in launch order.
class SgprWriter {
 public:
  explicit SgprWriter(isa::Wave& wave) : wave_(wave) {}
  void push(u32 value) { wave_.s[next_++] = value; }
  void push64(u64 value) {
    push(static_cast<u32>(value));
    push(static_cast<u32>(value >> 32));
  }
  void seek(u32 index) { next_ = index; }

 private:
  isa::Wave& wave_;
  u32 next_ = 0;
};

void write_user_sgprs(SgprWriter& out, const WorkGroup& group) {
  const Packet& packet = group.packet;
  const u16 properties = packet.kernel.properties;
  const QueueProperties& queue = group.queue.mqd->properties;
  if (properties & abi::sgpr_private_segment_buffer) {
    for (const u32 word : packet.scratch.descriptor) {
      out.push(word);
    }
  }
  if (properties & abi::sgpr_dispatch_ptr) {
    out.push64(queue.ring_base + packet.index % group.queue.packet_slots() * abi::kPacketSize);
  }
  if (properties & abi::sgpr_queue_ptr) {
    out.push64(group.queue.amd_queue());
  }
  if (properties & abi::sgpr_kernarg_ptr) {
    out.push64(packet.aql.dispatch.kernarg_address);
  }
  if (properties & abi::sgpr_dispatch_id) {
    out.push64(packet.index);
  }
  if (properties & abi::sgpr_flat_scratch_init) {
    out.push64(packet.scratch.base);
  }
  if (properties & abi::sgpr_private_segment_size) {
    out.push(packet.aql.dispatch.private_segment_size);
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (properties & abi::sgpr_grid_count_x << axis) {
      out.push(packet.groups[axis]);
    }
  }
}

void write_system_sgprs(SgprWriter& out, const WorkGroup& group, const GroupShape& shape,
                        u32 wave) {
  const Kernel& kernel = group.packet.kernel;
  out.seek(kernel.user_sgprs);
  if (kernel.rsrc2 & kRsrc2GroupIdX) {
    out.push(shape.id[0]);
  }
  if (kernel.rsrc2 & kRsrc2GroupIdY) {
    out.push(shape.id[1]);
  }
  if (kernel.rsrc2 & kRsrc2GroupIdZ) {
    out.push(shape.id[2]);
  }
  if (kernel.rsrc2 & kRsrc2GroupInfo) {
    out.push(u32{wave == 0} << 31 | shape.waves());
  }
  if (kernel.rsrc2 & kRsrc2PrivateSegment) {
    out.push(group.scratch.empty() ? 0 : group.scratch[wave] * group.packet.scratch.wave_bytes);
  }
}

// Work-item ids. gfx90a packs them into v0 (10 bits each), gfx906 uses v0, v1, v2.
void write_work_item_ids(isa::Wave& wave, const Kernel& kernel, const GroupShape& shape,
                         u32 wave_index) {
  const u32 ids = rsrc2_work_item_id(kernel.rsrc2);
  for (u32 lane = 0; lane < isa::kLanes; ++lane) {
    const u32 item = wave_index * isa::kLanes + lane;
    const u32 x = item % shape.size[0];
    const u32 y = item / shape.size[0] % shape.size[1];
    const u32 z = item / shape.size[0] / shape.size[1];
    if (wave.arch == isa::Arch::gfx90a) {
      wave.v[lane] = x | (ids >= 1 ? y << 10 : 0) | (ids >= 2 ? z << 20 : 0);
      continue;
    }
    wave.v[lane] = x;
    if (ids >= 1 && kernel.vgprs > 1) {
      wave.v[isa::kLanes + lane] = y;
    }
    if (ids >= 2 && kernel.vgprs > 2) {
      wave.v[2 * isa::kLanes + lane] = z;
    }
  }
}

}  // namespace

std::optional<Kernel> read_kernel(const Vmid& vmid, u64 kernel_object) {
  abi::KernelDescriptor descriptor;
  if (!vmid.memory.read(kernel_object, &descriptor, sizeof(descriptor))) {
    return std::nullopt;
  }
  const isa::Arch arch = vmid.code.arch();
  const bool unified = arch == isa::Arch::gfx90a;
  Kernel kernel;
  kernel.entry = kernel_object + static_cast<u64>(descriptor.code_entry_offset);
  // GRANULATED_WORKITEM_VGPR_COUNT 5:0 and GRANULATED_WAVEFRONT_SGPR_COUNT 9:6 of RSRC1.
  kernel.vgprs = ((descriptor.rsrc1 & 63) + 1) * (unified ? 8 : 4);
  kernel.sgprs = ((descriptor.rsrc1 >> 6 & 15) / 2 + 1) * 16;
  // ACCUM_OFFSET of RSRC3: where the accumulation registers begin in the unified file.
  kernel.arch_vgprs =
      unified ? std::min(((descriptor.rsrc3 & 63) + 1) * 4, kernel.vgprs) : kernel.vgprs;
  kernel.mode = initial_mode(descriptor.rsrc1, descriptor.rsrc2);
  kernel.rsrc2 = descriptor.rsrc2;
  kernel.user_sgprs = rsrc2_user_sgprs(descriptor.rsrc2);
  kernel.properties = descriptor.properties;
  return kernel;
}

Footprint footprint_of(const Kernel& kernel, u32 waves, u32 group_segment_size) {
  return {waves, kernel.vgprs, kernel.sgprs, lds_allocated(group_segment_size)};
}

GroupShape group_shape(const Packet& packet, u64 number) {
  GroupShape shape{};
  const abi::DispatchPacket& dispatch = packet.aql.dispatch;
  u64 rest = number;
  for (int axis = 0; axis < 3; ++axis) {
    shape.id[axis] = static_cast<u32>(rest % packet.groups[axis]);
    rest /= packet.groups[axis];
    const u64 begin = u64{shape.id[axis]} * dispatch.workgroup_size[axis];
    shape.size[axis] = static_cast<u32>(
        std::min<u64>(dispatch.workgroup_size[axis], dispatch.grid_size[axis] - begin));
  }
  return shape;
}

void WorkGroup::allocate(const Kernel& kernel) {
  const u64 bytes = u64{footprint.waves} * kernel.vgprs * isa::kLanes * sizeof(u32);
  registers = {static_cast<u32*>(std::aligned_alloc(kRegisterAlignment, bytes)), std::free};
  if (!registers) {
    throw std::bad_alloc();
  }
  std::memset(registers.get(), 0, bytes);
  waves = std::make_unique<isa::Wave[]>(footprint.waves);
  lds = footprint.lds ? std::make_unique<u8[]>(footprint.lds) : nullptr;
  for (u32 i = 0; i < footprint.waves; ++i) {
    attach_wave(*this, i);
  }
}

void WorkGroup::free_state() {
  waves.reset();
  registers.reset();
  lds.reset();
}

bool WorkGroup::ended() const {
  return std::all_of(waves.get(), waves.get() + footprint.waves,
                     [](const isa::Wave& wave) { return wave.ended; });
}

void attach_wave(WorkGroup& group, u32 wave_index) {
  isa::Wave& wave = group.waves[wave_index];
  const Kernel& kernel = group.packet.kernel;
  Vmid& vmid = *group.queue.mqd->vmid;
  wave.v = group.registers.get() + u64{wave_index} * kernel.vgprs * isa::kLanes;
  wave.acc = wave.v + u64{kernel.arch_vgprs} * isa::kLanes;
  wave.nv = static_cast<u16>(kernel.arch_vgprs);
  wave.nacc = static_cast<u16>(kernel.vgprs - kernel.arch_vgprs);
  wave.wave_in_group = wave_index;
  wave.hw_id = hardware_id(group, wave_index);
  wave.code = &vmid.code;
  wave.memory = &vmid.memory;
  wave.arch = vmid.code.arch();
  wave.lds = group.lds.get();
  wave.lds_size = group.footprint.lds;
}

void start_waves(WorkGroup& group, const GroupShape& shape) {
  const Kernel& kernel = group.packet.kernel;
  group.allocate(kernel);
  for (u32 i = 0; i < group.footprint.waves; ++i) {
    isa::Wave& wave = group.waves[i];
    wave.pc = kernel.entry;
    wave.mode = kernel.mode;
    SgprWriter sgprs(wave);
    write_user_sgprs(sgprs, group);
    write_system_sgprs(sgprs, group, shape, i);
    write_work_item_ids(wave, kernel, shape, i);
    const u32 lanes = std::min(shape.items() - i * isa::kLanes, u32{isa::kLanes});
    wave.set_exec(lanes == isa::kLanes ? ~u64{0} : (u64{1} << lanes) - 1);
  }
}

}  // namespace vgpu::device
