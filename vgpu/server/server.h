// The server: accepts connections, runs each on a thread of its own, and ends in good order.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "server/calls.h"

namespace vgpu::server {

class Server {
 public:
  static Result<std::unique_ptr<Server>> create(driver::Driver& driver,
                                                const protocol::DeviceDescription& device,
                                                UniqueFd listener);
  ~Server();

  // Serves until kind_stop comes, or `stop_fd` or `lifetime_fd` (-1: none) becomes readable or is
  // hung up. Then lets every blocked call return and closes all connections.
  void run(int stop_fd, int lifetime_fd);

 private:
  struct Thread {
    UniqueFd socket;
    std::thread thread;
    bool done = false;
  };

  Server(driver::Driver& driver, UniqueFd listener)
      : driver_(driver), listener_(std::move(listener)) {}
  void accept_one();
  void spawn(UniqueFd socket, std::function<void(int)> body);
  void join_finished();
  void close_all();

  driver::Driver& driver_;
  UniqueFd listener_;
  UniqueFd stop_requested_;
  std::unique_ptr<Processes> processes_;
  std::unique_ptr<Services> services_;
  std::mutex mutex_;
  std::list<Thread> threads_;
  bool closing_ = false;
};

}  // namespace vgpu::server
