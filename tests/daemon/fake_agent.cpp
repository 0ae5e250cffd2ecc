#include "daemon/fake_agent.h"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/socket.h"
#include "client/frame.h"
#include "libc/eventfd.h"

namespace gp::daemon {
namespace {

constexpr int kPatienceMs = 60'000;  // far more than anything here takes on a busy machine

// The next message: its size, 0 at the end.
std::size_t receive(const UniqueFd& connection, std::span<u8> buffer,
                    std::vector<UniqueFd>* files = nullptr) {
  pollfd ready = {connection.get(), POLLIN, 0};
  if (::poll(&ready, 1, kPatienceMs) != 1) {
    return 0;
  }
  auto received = receive_message(connection.get(), buffer);
  if (received && files != nullptr) {
    *files = std::move(received->files);
  }
  return received ? received->size : 0;
}

UniqueFd connection_to(const std::string& socket) {
  auto connection = connect_to(socket);
  return connection ? std::move(*connection) : UniqueFd();
}

wire::Header header_in(std::span<const u8> buffer) {
  wire::Header header;
  std::memcpy(&header, buffer.data(), sizeof header);
  return header;
}

}  // namespace

FakeAgent::FakeAgent(UniqueFd connection, Part part, const char* job)
    : connection_(std::move(connection)) {
  wire::Hello hello;
  hello.part = index_of(part);
  hello.abilities = MechanismSet(Mechanism::self_debug, Mechanism::update_queue).bits();
  wire::set_text(hello.job, job);
  (void)send_message(connection_.get(), wire::bytes_of(hello));
}

FakeAgent::FakeAgent(const std::string& socket, Part part)
    : FakeAgent(connection_to(socket), part) {}

FakeAgent::~FakeAgent() {
  if (page_ != nullptr) {
    ::munmap(page_, wire::kPageBytes);
  }
}

bool FakeAgent::is_welcome() {
  alignas(8) u8 buffer[512];
  std::vector<UniqueFd> files;
  const std::size_t size = receive(connection_, buffer, &files);
  if (size != sizeof(wire::Welcome) || header_in(buffer).kind != wire::Kind::welcome) {
    return false;
  }
  if (page_ == nullptr && files.size() == 2) {
    void* memory =
        ::mmap(nullptr, wire::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, files[0].get(), 0);
    page_ = memory == MAP_FAILED ? nullptr : static_cast<wire::Page*>(memory);
    wake_ = std::move(files[1]);
  }
  return page_ != nullptr;
}

void FakeAgent::make_queue(u64 ring, u32 gpu_id) const {
  wire::QueueCreated created;
  created.ring_base = ring;
  created.gpu_id = gpu_id;
  (void)send_message(connection_.get(), wire::bytes_of(created));
}

void FakeAgent::set_busy(bool busy) const {
  page_->busy.store(busy ? 1 : 0);
  signal_event(wake_.get());
}

bool FakeAgent::obeys(wire::Kind verb, int error) const {
  for (;;) {
    alignas(8) u8 buffer[512];
    const std::size_t size = receive(connection_, buffer);
    if (size < sizeof(wire::Header)) {
      return false;
    }
    const wire::Header header = header_in(buffer);
    if (header.kind == wire::Kind::stop || header.kind == wire::Kind::start) {
      wire::Done done;
      done.header.sequence = header.sequence;
      done.error = -error;
      (void)send_message(connection_.get(), wire::bytes_of(done));
      return header.kind == verb;
    }
  }
}

bool FakeAgent::is_cut_off() const {
  alignas(8) u8 buffer[512];
  while (receive(connection_, buffer) > 0) {
  }
  pollfd ended = {connection_.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 1 && (ended.revents & POLLHUP) != 0;
}

}  // namespace gp::daemon
