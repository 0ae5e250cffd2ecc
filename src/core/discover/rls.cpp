#include "discover/rls.h"

#include "abi/mqd.h"
#include "discover/hex_dump.h"
#include "discover/mqd_reading.h"
#include "discover/text.h"

namespace gp::discover {
namespace {

// MAP_QUEUES (kfd_pm4_headers_ai.h): dword 2 doorbell, 3 and 4 the MQD's address.
constexpr u32 kMapQueuesDoorbell = 2, kMapQueuesMqdLow = 3, kMapQueuesMqdHigh = 4;
constexpr u32 kPacketType3 = 3;

class RlsParser {
 public:
  Rls parse(std::string_view text) {
    if (!each_line(text, [this](std::string_view line) { take_line(line); })) {
      damaged();
    }
    end_node();
    return std::move(result_);
  }

 private:
  void damaged() {
    ++result_.damaged_lines;
    is_whole_ = false;
  }

  void take_line(std::string_view line) {
    std::string_view text = trim(line);
    if (const auto dump = parse_dump_line(line)) {
      take_dump(*dump);
    } else if (skip(text, "Node ")) {
      begin_node(text);
    } else if (text == "No active runlist" && list_) {
      list_->none = true;
    } else if (!text.empty()) {
      damaged();
    }
  }

  void begin_node(std::string_view text) {
    end_node();
    const auto node_id = narrow<u32>(take_decimal(text));
    const auto gpu_id = skip(text, ", gpu_id ") ? narrow<u32>(take_hex(text)) : std::nullopt;
    if (!node_id || !gpu_id || text != ":") {
      ++result_.damaged_lines;
      return;
    }
    list_.emplace();
    list_->node_id = *node_id;
    list_->gpu_id = *gpu_id;
  }

  void take_dump(const DumpLine& line) {
    if (line.address != dwords_.size() * sizeof(u32)) {
      is_whole_ = false;  // a line is missing
    }
    if (is_whole_) {
      dwords_.insert(dwords_.end(), line.dwords.begin(), line.dwords.begin() + line.count);
    }
  }

  void end_node() {
    if (list_) {
      read_packets();
      list_->is_whole = is_whole_ && list_->none == dwords_.empty();
      result_.nodes.push_back(std::move(*list_));
    }
    list_.reset();
    dwords_.clear();
    is_whole_ = true;
  }

  // Packets up to the first that is unknown: behind it nothing is certain. Zeros fill the end.
  void read_packets() {
    std::size_t at = 0;
    while (at < dwords_.size() && dwords_[at] != 0) {
      const u32 header = dwords_[at];
      const std::size_t length = (header >> 16 & 0x3fff) + 2;
      const u32 opcode = header >> 8 & 0xff;
      const bool known =
          opcode == abi::kOpMapProcess || opcode == abi::kOpMapQueues || opcode == abi::kOpRunList;
      if (header >> 30 != kPacketType3 || !known || length > dwords_.size() - at) {
        is_whole_ = false;
        return;
      }
      if (opcode == abi::kOpMapQueues && length >= abi::kMapQueuesDwords) {
        const u64 low = dwords_[at + kMapQueuesMqdLow], high = dwords_[at + kMapQueuesMqdHigh];
        list_->queues.push_back(
            {high << 32 | low, doorbell_of(dwords_[at + kMapQueuesDoorbell]).value_or(0)});
      }
      at += length;
    }
  }

  Rls result_;
  std::optional<RunList> list_;
  std::vector<u32> dwords_;
  bool is_whole_ = true;
};

}  // namespace

Rls parse_rls(std::string_view text) { return RlsParser().parse(text); }

}  // namespace gp::discover
