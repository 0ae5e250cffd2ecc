#include "daemon/directory_watch.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/log.h"

namespace gp::daemon {

DirectoryWatch::DirectoryWatch(Loop& loop, std::string directory, std::function<void()> on_loss)
    : loop_(loop),
      directory_(std::move(directory)),
      on_loss_(std::move(on_loss)),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  // The directory may be one like /tmp, where others have files, too.
  const auto token =
      inotify_ ? loop_.add(
                     inotify_.get(), EPOLLIN, [this](u32) { on_events(); }, Loop::Manner::patient)
               : Result<Loop::Token>(Error{errno, "inotify", ""});
  if (!token) {
    log_warning("{} is not watched: {}", directory_, token.error().message());
    inotify_.reset();
    return;
  }
  token_ = *token;
  follow();
}

DirectoryWatch::~DirectoryWatch() {
  if (inotify_) {
    loop_.remove(token_);
  }
}

void DirectoryWatch::follow() {
  if (inotify_) {
    constexpr u32 kEvents = IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF;
    ::inotify_add_watch(inotify_.get(), directory_.c_str(), kEvents | IN_ONLYDIR);
  }
}

void DirectoryWatch::on_events() {
  alignas(inotify_event) char events[4096];
  if (::read(inotify_.get(), events, sizeof events) > 0) {
    on_loss_();
  }
}

}  // namespace gp::daemon
