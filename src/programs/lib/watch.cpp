// Watches: each event goes to one caller.
#include <deque>

#include "lib/boundary.h"
#include "lib/context.h"

using namespace gp::lib;

struct gpreempt_watch {
  std::unique_ptr<gp::discover::Watch> source;
  std::mutex mutex;
  std::deque<gp::discover::QueueEvent> pending;  // taken from `source`, guarded by `mutex`
};

namespace {

gpreempt_event describe(const gp::discover::QueueEvent& event) {
  gpreempt_event out{};
  out.appeared = event.appeared ? 1 : 0;
  out.pid = event.key.process.pid;
  out.start_time = event.key.process.start_time;
  out.queue_id = event.key.queue_id;
  out.gpu_id = event.gpu_id;
  out.type = number_of(event.type);
  return out;
}

}  // namespace

int gpreempt_watch_open(gpreempt_context* context, gpreempt_watch** watch) {
  return guarded([&]() -> int {
    if (context == nullptr || watch == nullptr) {
      return fail(EINVAL, "gpreempt_watch_open: no context, or no place for the watch");
    }
    if (!context->paths.live) {
      return fail(EINVAL, "gpreempt_watch_open: a saved copy does not change");
    }
    auto source = gp::discover::Watch::create(gp::system_os(), context->paths);
    if (!source) {
      if (source.error().code == ENOENT) {
        source.error().code = ENODEV;  // a machine without the driver
      }
      return fail(source.error());
    }
    auto made = std::make_unique<gpreempt_watch>();
    made->source = std::move(*source);
    *watch = made.release();
    return 0;
  });
}

int gpreempt_watch_fd(const gpreempt_watch* watch) {
  return watch == nullptr ? fail(EINVAL, "the watch is null") : watch->source->fd();
}

// What was taken from the source and not yet given out keeps the descriptor readable: the next
// batch is taken only when the last one is used up, and callers take until there is none.
int gpreempt_watch_next(gpreempt_watch* watch, gpreempt_event* event) {
  return guarded([&]() -> int {
    if (watch == nullptr) {
      return fail(EINVAL, "the watch is null");
    }
    const std::scoped_lock lock(watch->mutex);
    if (watch->pending.empty()) {
      auto events = watch->source->take_events();
      if (!events) {
        return fail(events.error());
      }
      watch->pending.assign(events->begin(), events->end());
    }
    if (watch->pending.empty()) {
      return 0;
    }
    const int written = write_answer(describe(watch->pending.front()), event, "gpreempt_event");
    if (written != 0) {
      return written;
    }
    watch->pending.pop_front();
    return 1;
  });
}

void gpreempt_watch_close(gpreempt_watch* watch) { delete watch; }
