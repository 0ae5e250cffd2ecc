#include "isa/exec/memory.h"

#include "isa/exec/select.h"

namespace vgpu::isa::VGPU_ENGINE {

namespace {

using Select = Handler (*)(const Inst&);

Handler first_of(const Inst& inst, std::initializer_list<Select> parts) {
  for (const Select part : parts) {
    if (Handler found = part(inst)) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace

Handler select_memory(const Inst& inst) {
  switch (inst.op->format) {
    case Format::smem: return select_smem(inst);
    case Format::ds: return first_of(inst, {select_ds, select_ds_atomic, select_ds_cross_lane});
    case Format::flat:
    case Format::global:
    case Format::scratch: return first_of(inst, {select_flat, select_flat_atomic});
    case Format::mubuf: return select_buffer(inst);
    default: return nullptr;  // MTBUF: conversion between formats is for graphics
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
