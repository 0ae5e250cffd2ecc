#include "daemon/ring_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "abi/aql.h"

namespace gp::daemon {
namespace {

constexpr u64 kPage = 4096;
// In an amd_queue_t the two are 72 bytes apart: what lies between is read along with them.
constexpr u64 kNear = 256;

u64 span_of(const discover::Ring& ring) {
  const auto [low, high] = std::minmax(ring.read_index_address, ring.write_index_address);
  return high - low + sizeof(u64);
}

bool is_near(const discover::Ring& ring) {
  const u64 low = std::min(ring.read_index_address, ring.write_index_address);
  return span_of(ring) <= kNear && low % kPage + span_of(ring) <= kPage;
}

iovec remote(u64 address, std::size_t size) {
  return {reinterpret_cast<void*>(static_cast<uintptr_t>(address)), size};
}

}  // namespace

ssize_t read_memory(pid_t pid, std::span<const iovec> to, std::span<const iovec> from) {
  return ::process_vm_readv(pid, to.data(), to.size(), from.data(), from.size(), 0);
}

RingReader::RingReader(pid_t pid, const std::vector<discover::Ring>& rings, ReadMemory read)
    : pid_(pid), read_(std::move(read)) {
  for (const discover::Ring& ring : rings) {
    if (rings_.size() < kMostRings) {
      rings_.push_back({ring});
    }
  }
  plan();
}

void RingReader::plan() {
  from_.clear();
  std::size_t size = 0;
  for (Ring& ring : rings_) {
    const u64 read = ring.place.read_index_address, written = ring.place.write_index_address;
    if (is_near(ring.place)) {
      const u64 low = std::min(read, written);
      ring.read_at = size + (read - low);
      ring.written_at = size + (written - low);
      from_.push_back(remote(low, span_of(ring.place)));
      size += span_of(ring.place);
    } else {
      ring.read_at = size;
      ring.written_at = size + sizeof(u64);
      from_.push_back(remote(read, sizeof(u64)));
      from_.push_back(remote(written, sizeof(u64)));
      size += 2 * sizeof(u64);
    }
  }
  bytes_.resize(size);
}

void RingReader::drop_ring_at(std::size_t offset) {
  const auto gone = std::find_if(rings_.rbegin(), rings_.rend(), [offset](const Ring& ring) {
    return std::min(ring.read_at, ring.written_at) <= offset;
  });
  rings_.erase(std::next(gone).base());
  plan();
}

// The kernel reads in order and up to the first range that is not there.
Status RingReader::read_indices() {
  while (!rings_.empty()) {
    const iovec to{bytes_.data(), bytes_.size()};
    const ssize_t got = read_(pid_, {&to, 1}, from_);
    if (got == static_cast<ssize_t>(bytes_.size())) {
      return ok();
    }
    if (got < 0 && errno != EFAULT) {
      return Error{
          errno, fmt::format("read the memory of process {}", pid_),
          errno == EPERM ? "it needs CAP_SYS_PTRACE, or ptrace access to the process" : ""};
    }
    drop_ring_at(got < 0 ? 0 : static_cast<std::size_t>(got));
  }
  return Error{EFAULT, fmt::format("read the rings of process {}", pid_), ""};
}

u64 RingReader::index_at(std::size_t offset) const {
  u64 value = 0;
  std::memcpy(&value, bytes_.data() + offset, sizeof value);
  return value;
}

bool RingReader::fetch(u64 address, void* to, std::size_t size) const {
  const iovec local{to, size}, there = remote(address, size);
  return read_(pid_, {&local, 1}, {&there, 1}) == static_cast<ssize_t>(size);
}

bool RingReader::is_last_running(const Ring& ring) const {
  const u64 packets = ring.place.bytes / abi::kPacketSize;
  abi::AqlPacket packet{};
  if (packets == 0 || ring.written == 0 ||
      !fetch(ring.place.base + (ring.written - 1) % packets * abi::kPacketSize, &packet,
             sizeof packet)) {
    return false;
  }
  // All kinds of packets have it in the same place.
  const u64 signal = packet.barrier.completion_signal;
  abi::AmdSignal head{};
  constexpr std::size_t kHead = offsetof(abi::AmdSignal, event_mailbox_ptr);
  return signal != 0 && fetch(signal, &head, kHead) && head.kind == abi::signal_user &&
         head.value == 1;
}

// True: an index has moved.
bool RingReader::take(Ring& ring) const {
  const u64 read = index_at(ring.read_at), written = index_at(ring.written_at);
  const bool moved = read != ring.read || written != ring.written;
  ring.read = read;
  ring.written = written;
  if (read > written) {
    return moved;  // they were not read at one moment: the next look tells
  }
  if (read < written) {
    ring.busy = true;
  } else if (ring.done != written) {
    ring.busy = is_last_running(ring);
    ring.done = ring.busy ? ring.done : written;
  } else {
    ring.busy = false;
  }
  return moved;
}

Result<RingReader::Sight> RingReader::look() {
  TRY(read_indices());
  Sight sight;
  for (Ring& ring : rings_) {
    sight.moved |= take(ring);
    sight.busy |= ring.busy;
    sight.read += ring.read;
  }
  return sight;
}

}  // namespace gp::daemon
