// Fields of an MQD's dwords. The offsets are in abi/mqd.h.
#pragma once

#include <span>

#include "discover/mqds.h"

namespace gp::discover {

// Empty if the dump is too short to hold the fields.
std::optional<MqdReading> read_compute_mqd(std::span<const u32> dwords);
std::optional<MqdReading> read_sdma_mqd(std::span<const u32> dwords);

// The fields that HQD registers and MQD share: `registers` begins with CP_MQD_BASE_ADDR.
MqdReading read_hqd_registers(std::span<const u32> registers);

// Of a register whose bits [27:2] hold the doorbell; empty if it has none.
std::optional<u32> doorbell_of(u32 control);

}  // namespace gp::discover
