#include "discover/hqds.h"

#include <algorithm>
#include <array>
#include <utility>

#include "abi/mqd.h"
#include "discover/hex_dump.h"
#include "discover/mqd_reading.h"
#include "discover/text.h"

namespace gp::discover {
namespace {

// Of an SDMA queue: bytes from its first register, SDMA0_RLC0_RB_CNTL, to ..._DOORBELL_OFFSET
// (sdma0_4_0_offset.h and later).
constexpr u32 kSdmaDoorbellOffset = 0xac;
constexpr u32 kSdmaRingEnable = 1;      // SDMA0_RLC0_RB_CNTL, bit 0
constexpr u32 kSdmaFirstRegisters = 7;  // RB_CNTL to RB_WPTR_HI, all in the first line

enum class Block { none, hiq, compute, sdma };

class HqdsParser {
 public:
  Hqds parse(std::string_view text) {
    if (!each_line(text, [this](std::string_view line) { take_line(line); })) {
      damaged();
    }
    end_node();
    if (!result_.nodes.empty()) {
      result_.nodes.back().is_last = true;
    }
    return std::move(result_);
  }

 private:
  void take_line(std::string_view line) {
    if (const auto dump = parse_dump_line(line)) {
      take_dump(*dump);
      return;
    }
    std::string_view text = trim(line);
    if (text.empty()) {
      return;
    }
    if (resembles_dump_line(line)) {
      damaged();
      block_is_whole_ = false;
    } else if (skip(text, "Node ")) {
      begin_node(text);
    } else if (text == "Device is stopped" && node_) {
      node_->stopped = true;
    } else if (!node_ || !begin_block(text)) {
      // It may have been any header: the block that follows is nobody's.
      damaged();
      end_block();
    }
  }

  void damaged() {
    ++result_.damaged_lines;
    node_is_whole_ = false;
  }

  // "2, gpu_id f7bc:"
  void begin_node(std::string_view text) {
    end_node();
    const auto node_id = narrow<u32>(take_decimal(text));
    const auto gpu_id = skip(text, ", gpu_id ") ? narrow<u32>(take_hex(text)) : std::nullopt;
    if (!node_id || !gpu_id || text != ":") {
      ++result_.damaged_lines;
      return;
    }
    node_.emplace();
    node_->node_id = *node_id;
    node_->gpu_id = *gpu_id;
    node_is_whole_ = true;
  }

  bool begin_block(std::string_view text) {
    end_block();
    if (skip(text, "SDMA Engine ")) {
      const auto engine = narrow<u32>(take_decimal(text));
      const auto rlc = skip(text, ", RLC ") ? narrow<u32>(take_decimal(text)) : std::nullopt;
      return engine && rlc && text.empty() && begin(Block::sdma, *engine, *rlc, 0);
    }
    if (!skip(text, "Inst ")) {
      return false;
    }
    const auto instance = narrow<u32>(take_decimal(text));
    if (instance && text.starts_with(", HIQ on MEC ")) {
      return begin(Block::hiq, *instance, 0, 0);
    }
    const auto pipe = skip(text, ",  CP Pipe ") ? narrow<u32>(take_decimal(text)) : std::nullopt;
    const auto queue = skip(text, ", Queue ") ? narrow<u32>(take_decimal(text)) : std::nullopt;
    return instance && pipe && queue && text.empty() &&
           begin(Block::compute, *instance, *pipe, *queue);
  }

  bool begin(Block block, u32 first, u32 second, u32 third) {
    block_ = block;
    header_ = {first, second, third};
    block_is_whole_ = true;
    registers_.clear();
    return true;
  }

  void take_dump(const DumpLine& line) {
    if (block_ == Block::none) {
      return;
    }
    if (registers_.empty()) {
      first_address_ = line.address;
    }
    const u32 offset = line.address - first_address_;
    if (block_ == Block::sdma) {
      take_sdma_line(line, offset);
    } else if (offset != registers_.size() * sizeof(u32)) {
      block_is_whole_ = false;  // a line is missing
    }
    if (block_is_whole_ && registers_.size() < abi::kHqdRegisters) {
      registers_.insert(registers_.end(), line.dwords.begin(), line.dwords.begin() + line.count);
    }
  }

  // The registers of an SDMA queue have gaps between them; the first line and the doorbell's count.
  void take_sdma_line(const DumpLine& line, u32 offset) {
    if (registers_.empty()) {
      sdma_doorbell_.reset();
      block_is_whole_ = block_is_whole_ && line.count >= kSdmaFirstRegisters;
    }
    if (offset <= kSdmaDoorbellOffset && kSdmaDoorbellOffset < offset + line.count * sizeof(u32)) {
      sdma_doorbell_ = line.dwords[(kSdmaDoorbellOffset - offset) / sizeof(u32)];
    }
  }

  void end_block() {
    const Block ended = std::exchange(block_, Block::none);
    if (!node_ || ended == Block::none || ended == Block::hiq) {
      return;
    }
    if (ended == Block::compute) {
      end_compute();
    } else {
      end_sdma();
    }
  }

  void end_compute() {
    slots_.push_back({header_[0], header_[1], header_[2]});
    if (!block_is_whole_ || registers_.size() < abi::kHqdRegisters) {
      node_is_whole_ = false;
      return;
    }
    node_->is_gfx9 = node_->is_gfx9 || first_address_ == abi::kHqdFirstAddress;
    if (registers_[abi::mqd_hqd_active - abi::mqd_base_addr_lo] & 1) {
      node_->compute.push_back(
          {header_[0], header_[1], header_[2], read_hqd_registers(registers_)});
    }
  }

  void end_sdma() {
    ++node_->sdma_slots;
    if (!block_is_whole_ || registers_.empty() || !sdma_doorbell_) {
      sdma_is_whole_ = false;
      return;
    }
    if ((registers_[abi::sdma_mqd_rb_cntl] & kSdmaRingEnable) == 0) {
      return;
    }
    std::vector<u32> mqd(registers_);
    mqd.resize(abi::sdma_mqd_doorbell_offset + 1);
    mqd[abi::sdma_mqd_doorbell_offset] = *sdma_doorbell_;
    if (const auto reading = read_sdma_mqd(mqd)) {
      node_->sdma.push_back({header_[0], header_[1], *reading});
    }
  }

  void end_node() {
    end_block();
    if (node_) {
      // SDMA comes last, so that all compute slots have been printed when it begins.
      node_->sdma_is_whole = node_is_whole_ && sdma_is_whole_ && node_->sdma_slots > 0;
      node_->compute_is_whole = node_is_whole_ && node_->sdma_slots > 0 && count_slots();
      result_.nodes.push_back(std::move(*node_));
    }
    node_.reset();
    slots_.clear();
    sdma_is_whole_ = true;
  }

  // Every instance has the same slots.
  bool count_slots() {
    std::vector<std::pair<u32, u32>> places;
    std::vector<u32> instances;
    for (const Slot& slot : slots_) {
      places.emplace_back(slot.pipe, slot.queue);
      instances.push_back(slot.instance);
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    std::sort(instances.begin(), instances.end());
    instances.erase(std::unique(instances.begin(), instances.end()), instances.end());
    node_->instances = static_cast<u32>(instances.size());
    node_->compute_slots = static_cast<u32>(places.size());
    return !slots_.empty() && places.size() * instances.size() == slots_.size();
  }

  struct Slot {
    u32 instance, pipe, queue;
  };

  Hqds result_;
  std::optional<HqdsNode> node_;
  bool node_is_whole_ = true;
  bool sdma_is_whole_ = true;
  std::vector<Slot> slots_;  // all compute slots of the node
  Block block_ = Block::none;
  std::array<u32, 3> header_{};
  bool block_is_whole_ = true;
  u32 first_address_ = 0;
  std::vector<u32> registers_;
  std::optional<u32> sdma_doorbell_;
};

}  // namespace

Hqds parse_hqds(std::string_view text) { return HqdsParser().parse(text); }

}  // namespace gp::discover
