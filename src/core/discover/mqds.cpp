#include "discover/mqds.h"

#include "abi/kfd.h"
#include "abi/mqd.h"
#include "discover/hex_dump.h"
#include "discover/mqd_reading.h"
#include "discover/text.h"

namespace gp::discover {
namespace {

// Where the fields of mqd_reading.cpp lie. A machine with many queues prints megabytes, of which
// these lines are a fifth: the others are not read.
bool has_fields(u32 address) {
  constexpr struct {
    u32 first, end;        // dwords
  } kRanges[] = {{0, 32},  // of an SDMA queue
                 {abi::mqd_base_addr_lo, abi::mqd_base_addr_lo + abi::kHqdRegisters},
                 {224, 232}};  // cp_mqd_stride_size
  for (const auto& range : kRanges) {
    if (address >= range.first * sizeof(u32) && address < range.end * sizeof(u32)) {
      return true;
    }
  }
  return false;
}

class MqdsParser {
 public:
  Mqds parse(std::string_view text) {
    if (!each_line(text, [this](std::string_view line) { take_line(line); })) {
      ++result_.damaged_lines;
    }
    end_queue();
    return std::move(result_);
  }

 private:
  void take_line(std::string_view line) {
    const auto address = full_line_address(line);
    if (address && !has_fields(*address)) {
      DumpLine unread;
      unread.address = *address;
      unread.count = DumpLine::kLongest;
      take_dump(unread);
    } else if (const auto dump = parse_dump_line(line)) {
      take_dump(*dump);
    } else if (resembles_dump_line(line)) {
      ++result_.damaged_lines;
      dump_is_whole_ = false;
    } else if (!trim(line).empty() && !take_header(line) && !take_annotation(line)) {
      // It may have been any header: what follows belongs to nobody until the next one that says
      // whose it is.
      ++result_.damaged_lines;
      end_queue();
      pid_.reset();
    }
  }

  bool take_header(std::string_view line) {
    if (skip(line, "Process ")) {
      end_queue();
      pid_ = narrow<pid_t>(take_decimal(line));
      return pid_ && skip(line, " PASID ") && take_hex(line) && trim(line) == ":";
    }
    line = trim(line);
    if (skip(line, "Compute queue on device ")) {
      return begin_queue(QueueType::compute, line);
    }
    if (skip(line, "SDMA queue on device ")) {
      return begin_queue(QueueType::sdma, line);
    }
    // Queues nobody outside the driver uses, or that it cannot name itself.
    if (line.starts_with("DIQ on device ") || line.starts_with("Bad user queue type ") ||
        line.starts_with("Bad kernel queue type ") || line.starts_with("Weird: Queue node ")) {
      end_queue();
      return true;
    }
    return false;
  }

  bool begin_queue(QueueType type, std::string_view device) {
    end_queue();
    queue_.emplace();
    queue_->type = type;
    if (device.find(':') != std::string_view::npos) {
      queue_->pci_address = device;
      return true;
    }
    queue_->gpu_id = narrow<u32>(hex(device));
    if (!queue_->gpu_id) {
      queue_.reset();
    }
    return queue_.has_value();
  }

  // "    key: value" of the annotated form. Unknown keys say nothing; a value that cannot be right
  // leaves its field empty.
  bool take_annotation(std::string_view line) {
    const std::string_view text = trim(line);
    const std::size_t colon = text.find(": ");
    if (!queue_ || !line.starts_with("    ") || colon == std::string_view::npos) {
      return false;
    }
    const std::string_view key = text.substr(0, colon);
    std::string_view value = text.substr(colon + 2);
    bool understood = true;
    if (key == "Queue ID") {
      queue_->queue_id = queue_id(value);
      understood = queue_->queue_id.has_value();
    } else if (key == "Process") {
      queue_pid_ = skip(value, "pid ") ? narrow<pid_t>(take_decimal(value)) : std::nullopt;
      understood = queue_pid_ && (value.empty() || value.starts_with(' '));
      queue_pid_is_damaged_ = !understood;
    } else if (key == "Address") {
      annotated_.ring_base = hex(value);
      understood = annotated_.ring_base.has_value();
    } else if (key == "is active") {
      understood = value == "yes" || value == "no";
      queue_->active = understood ? std::optional(value == "yes") : std::nullopt;
    } else if (key == "priority") {
      const auto priority = decimal(value);
      understood = priority && *priority <= abi::kMaxQueuePriority;
      annotated_.priority = understood ? narrow<u32>(priority) : std::nullopt;
    }
    result_.damaged_lines += understood ? 0 : 1;
    is_annotated_ = true;
    return true;
  }

  // "1 (0x1)": both must say the same.
  static std::optional<u32> queue_id(std::string_view value) {
    const auto id = narrow<u32>(take_decimal(value));
    if (!id || value.empty()) {
      return id;
    }
    const bool agrees = skip(value, " (0x") && take_hex(value) == *id && value == ")";
    return agrees ? id : std::nullopt;
  }

  void take_dump(const DumpLine& line) {
    if (!queue_) {
      return;
    }
    if (line.address == 0) {
      end_dump();
      has_dump_ = true;
      dump_is_whole_ = true;
    }
    has_dump_ = true;
    constexpr u64 kNeeded = abi::kComputeMqdDwords * sizeof(u32);
    const u64 expected = dwords_.size() * sizeof(u32);
    if (expected == kNeeded && line.address >= kNeeded) {
      return;  // of a longer MQD than we know
    }
    // Lines that are missing would shift all that follows.
    if (line.address != expected || line.count != DumpLine::kLongest) {
      dump_is_whole_ = false;
    } else {
      dwords_.insert(dwords_.end(), line.dwords.begin(), line.dwords.end());
    }
  }

  void end_dump() {
    if (has_dump_ && queue_) {
      std::optional<MqdReading> reading;
      if (dump_is_whole_) {
        reading =
            queue_->type == QueueType::compute ? read_compute_mqd(dwords_) : read_sdma_mqd(dwords_);
      }
      if (queue_->type == QueueType::compute || queue_->instances.empty()) {
        queue_->instances.push_back(reading);
      }
    }
    dwords_.clear();
    has_dump_ = false;
    dump_is_whole_ = false;
  }

  void end_queue() {
    end_dump();
    const auto pid = queue_pid_ ? queue_pid_ : pid_;
    if (queue_ && pid && !queue_pid_is_damaged_) {
      queue_->pid = *pid;
      if (is_annotated_ && queue_->instances.empty()) {
        queue_->instances.emplace_back(annotated_);
      }
      drop_strangers(queue_->instances);
      result_.queues.push_back(std::move(*queue_));
    }
    queue_.reset();
    queue_pid_.reset();
    queue_pid_is_damaged_ = false;
    is_annotated_ = false;
    annotated_ = {};
  }

  // The MQDs of one queue lie at a fixed stride. A dump that does not fit in is another queue's,
  // whose header has been lost.
  static void drop_strangers(std::vector<std::optional<MqdReading>>& instances) {
    for (std::size_t i = 1; i < instances.size(); ++i) {
      const auto& first = instances.front();
      const auto& other = instances[i];
      const bool belongs = first && other && first->mqd_address && first->xcc_stride != 0 &&
                           other->mqd_address == *first->mqd_address + i * first->xcc_stride;
      if (!belongs && (!first || other || first->xcc_stride == 0)) {
        instances.resize(i);
      }
    }
  }

  Mqds result_;
  std::optional<pid_t> pid_;  // of the last Process line
  std::optional<MqdQueue> queue_;
  std::optional<pid_t> queue_pid_;  // of the queue's own Process line
  bool queue_pid_is_damaged_ = false;
  bool is_annotated_ = false;
  MqdReading annotated_;
  std::vector<u32> dwords_;  // of the current dump
  bool has_dump_ = false;
  bool dump_is_whole_ = false;
};

}  // namespace

Mqds parse_mqds(std::string_view text) { return MqdsParser().parse(text); }

}  // namespace gp::discover
