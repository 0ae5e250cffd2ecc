// How long a work-group runs before others have their turn, in retired instructions.
#pragma once

#include "memory/page_table.h"

namespace vgpu::device {

constexpr u64 kSliceInstructions = 32'768;

// What launching a work-group counts besides the instructions it runs.
constexpr u64 kLaunchInstructions = 64;

// What an s_sleep counts towards the time slice of an oversubscribed run list: waves that sleep use
// their slot without retiring much.
constexpr u64 kSleepInstructions = 256;

}  // namespace vgpu::device
