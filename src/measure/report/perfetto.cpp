#include "report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "libc/types.h"

namespace gp::report {
namespace {

// A protobuf message being written: just the wire types that are needed here.
// https://protobuf.dev/programming-guides/encoding: a field is a varint key (number << 3 | type),
// then a varint (type 0), or a length and so many bytes (type 2: strings and messages).
class Proto {
 public:
  Proto& number(u32 field, u64 value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  Proto& text(u32 field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Proto& message(u32 field, const Proto& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(u64 value) {
    for (; value >= 0x80; value >>= 7) {
      bytes_ += static_cast<char>(value | 0x80);
    }
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

// Field numbers of protos/perfetto/trace/ in github.com/google/perfetto, commit ec5d16b14b74.
namespace trace_file {  // trace.proto
constexpr u32 packet = 1;
}
namespace packet {  // trace_packet.proto
constexpr u32 clock_snapshot = 6, timestamp = 8, trusted_packet_sequence_id = 10, track_event = 11,
              timestamp_clock_id = 58, track_descriptor = 60;
}
namespace clock_snapshot {  // clock_snapshot.proto
constexpr u32 clocks = 1, primary_trace_clock = 2;
constexpr u32 clock_id = 1, timestamp = 2;  // of each of `clocks`
}  // namespace clock_snapshot
namespace track_descriptor {  // track_event/track_descriptor.proto
constexpr u32 uuid = 1, name = 2, parent_uuid = 5, child_ordering = 11, sibling_order_rank = 12;
constexpr u64 by_rank = 3;  // ChildTracksOrdering.EXPLICIT
}  // namespace track_descriptor
namespace track_event {  // track_event/track_event.proto
constexpr u32 debug_annotations = 4, type = 9, track_uuid = 11, categories = 22, name = 23;
enum Type : u64 { slice_begin = 1, slice_end = 2, instant = 3 };
}  // namespace track_event
namespace debug_annotation {  // track_event/debug_annotation.proto
constexpr u32 uint_value = 3, name = 10;
}
constexpr u64 kMonotonic = 3, kBoottime = 6;  // common/builtin_clock.proto

// A number names a track in the whole file. Slices of one track must nest, and the scheduler's do
// not: it may start one job while it still stops another. So each job has a track for its stops and
// one for its starts; Perfetto shows tracks of one name and parent as one, with lanes where needed.
constexpr u64 kRoot = 1;
constexpr char kSchedulerName[] = "scheduler";
u64 job_track(u64 job) { return 4 * job + 4; }
u64 track_of(const Slice& slice) {
  switch (slice.kind) {
    case SliceKind::stop: return job_track(slice.job) + 1;
    case SliceKind::start: return job_track(slice.job) + 2;
    case SliceKind::failed:
    case SliceKind::lease_ended: return job_track(slice.job) + 3;
    default: return job_track(slice.job);
  }
}

class File {
 public:
  const std::string& bytes() const { return file_.bytes(); }

  void add_clocks(const ClockReading& reading) {
    const auto clock = [](u64 id, u64 time_ns) {
      return Proto()
          .number(clock_snapshot::clock_id, id)
          .number(clock_snapshot::timestamp, time_ns);
    };
    Proto clocks;
    clocks.message(clock_snapshot::clocks, clock(kMonotonic, reading.monotonic_ns))
        .message(clock_snapshot::clocks, clock(kBoottime, reading.boottime_ns))
        .number(clock_snapshot::primary_trace_clock, kBoottime);
    add(Proto().message(packet::clock_snapshot, clocks));
  }

  void add_root(std::string_view name) {
    Proto track;
    track.number(track_descriptor::uuid, kRoot)
        .text(track_descriptor::name, name)
        .number(track_descriptor::child_ordering, track_descriptor::by_rank);
    add(Proto().message(packet::track_descriptor, track));
  }

  void add_track(u64 uuid, std::string_view name, u64 rank) {
    Proto track;
    track.number(track_descriptor::uuid, uuid)
        .text(track_descriptor::name, name)
        .number(track_descriptor::parent_uuid, kRoot)
        .number(track_descriptor::sibling_order_rank, rank);
    add(Proto().message(packet::track_descriptor, track));
  }

  void add_event(u64 time_ns, const Proto& event) {
    add(Proto()
            .number(packet::timestamp, time_ns)
            .number(packet::timestamp_clock_id, kMonotonic)
            .message(packet::track_event, event));
  }

 private:
  void add(Proto packet) {
    constexpr u64 kSequence = 1;
    packet.number(packet::trusted_packet_sequence_id, kSequence);
    file_.message(trace_file::packet, packet);
  }

  Proto file_;
};

struct Edge {
  u64 time_ns = 0;
  track_event::Type type{};
  const Slice* slice = nullptr;
};

// In the order of time. Where one slice ends and the next begins at the same moment, the end comes
// first, or they would nest. A slice of no length is an instant.
std::vector<Edge> edges_of(const std::vector<Slice>& slices) {
  std::vector<Edge> edges;
  for (const Slice& slice : slices) {
    if (slice.start_ns == slice.end_ns) {
      edges.push_back({slice.start_ns, track_event::instant, &slice});
      continue;
    }
    edges.push_back({slice.start_ns, track_event::slice_begin, &slice});
    edges.push_back({slice.end_ns, track_event::slice_end, &slice});
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    const bool a_begins = a.type != track_event::slice_end;
    const bool b_begins = b.type != track_event::slice_end;
    return std::pair(a.time_ns, a_begins) < std::pair(b.time_ns, b_begins);
  });
  return edges;
}

Proto event_of(const Edge& edge, const std::string& job_name) {
  Proto event;
  event.number(track_event::type, edge.type).number(track_event::track_uuid, track_of(*edge.slice));
  if (edge.type == track_event::slice_end) {
    return event;
  }
  const bool of_scheduler = is_of_scheduler(edge.slice->kind);
  const char* what = name(edge.slice->kind);
  event.text(track_event::categories, of_scheduler ? kSchedulerName : "job")
      .text(track_event::name, of_scheduler ? fmt::format("{} {}", what, job_name) : what)
      .message(track_event::debug_annotations,
               Proto()
                   .text(debug_annotation::name, "job")
                   .number(debug_annotation::uint_value, edge.slice->job));
  return event;
}

}  // namespace

std::string perfetto_trace(const TraceSlices& trace, const std::map<u64, std::string>& names,
                           const ClockReading& clocks) {
  File file;
  file.add_clocks(clocks);
  file.add_root("gpreempt");
  std::map<u64, std::string> job_names;
  u64 rank = 1;  // the scheduler's tracks have 0: it is shown first
  for (const auto& [job, work_class] : trace.class_of_job) {
    const auto named = names.find(job);
    const std::string number = fmt::format("job {}", job);
    job_names[job] = named == names.end() ? number : fmt::format("{} ({})", named->second, number);
    for (u64 part = 1; part <= 3; ++part) {
      file.add_track(job_track(job) + part, kSchedulerName, 0);
    }
    file.add_track(job_track(job), fmt::format("{}: {}", work_class, job_names[job]), rank++);
  }
  for (const Edge& edge : edges_of(trace.slices)) {
    file.add_event(edge.time_ns, event_of(edge, job_names.at(edge.slice->job)));
  }
  return file.bytes();
}

}  // namespace gp::report
