// SMI_EVENTS: text lines about evictions, restores and resets.
#include <unistd.h>

#include "driver/driver_support.h"
#include "driver/files/smi.h"

namespace vgpu::driver {
namespace {

constexpr u64 kEvictionAndRestore =
    abi::smi_mask(abi::smi_queue_eviction) | abi::smi_mask(abi::smi_queue_restore);

std::string read_all(const UniqueFd& fd) {
  char buffer[4096];
  const ssize_t got = ::read(fd.get(), buffer, sizeof(buffer));
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
}
void subscribe(const UniqueFd& fd, u64 mask) {
  ASSERT_EQ(::write(fd.get(), &mask, sizeof(mask)), static_cast<ssize_t>(sizeof(mask)));
}

class Smi : public DriverTest {
 protected:
  UniqueFd open(Client& client) {
    abi::SmiEventsArgs args = {.gpuid = client.gpu_id(), .anon_fd = 0};
    Caller caller = client.make_caller();
    EXPECT_EQ(client.call_as(caller, client.file(), abi::kfd_smi_events, args), 0);
    return std::move(caller.reply_fd);
  }
};

TEST_F(Smi, EvictionAndRestoreLines) {
  Client client(*driver);
  client.create_queue();
  const UniqueFd fd = open(client);
  subscribe(fd, kEvictionAndRestore);
  const std::string pid = std::to_string(client.pid());
  ASSERT_TRUE(driver->inject("evict=" + pid));
  ASSERT_TRUE(driver->inject("restore=" + pid));
  const std::string text = read_all(fd);
  long long ns = 0;
  int evicted_pid = 0, trigger = -1, restored_pid = 0;
  unsigned gpu = 0;
  char rescheduled = 0;
  ASSERT_EQ(sscanf(text.c_str(), "9 %lld -%d %x %d\n", &ns, &evicted_pid, &gpu, &trigger), 4)
      << text;
  EXPECT_EQ(evicted_pid, client.pid());
  EXPECT_EQ(gpu, client.gpu_id());
  EXPECT_EQ(trigger, static_cast<int>(abi::eviction_ttm));
  const std::string second = text.substr(text.find('\n') + 1);
  ASSERT_EQ(sscanf(second.c_str(), "a %lld -%d %x %c\n", &ns, &restored_pid, &gpu, &rescheduled), 4)
      << second;
  EXPECT_EQ(restored_pid, client.pid());
  EXPECT_EQ(rescheduled, '0');
}

TEST_F(Smi, OnlyWhatWasAskedFor) {
  Client client(*driver);
  const UniqueFd fd = open(client);
  const std::string evict = "evict=" + std::to_string(client.pid());
  ASSERT_TRUE(driver->inject(evict));
  EXPECT_EQ(read_all(fd), "") << "nothing before a mask is written; and reading does not block";
  subscribe(fd, abi::smi_mask(abi::smi_queue_restore));
  ASSERT_TRUE(driver->inject(evict));
  EXPECT_EQ(read_all(fd), "");
}

TEST_F(Smi, SuspendAndUpdateAreSilent) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  const UniqueFd fd = open(client);
  subscribe(fd, ~u64{0});
  EXPECT_EQ(client.update_queue(queue, 0), 0);
  EXPECT_EQ(client.update_queue(queue, 100), 0);
  EXPECT_EQ(read_all(fd), "");
}

TEST_F(Smi, EventsOfOthersAreForThePrivileged) {
  Client client(*driver), other(*driver);
  const UniqueFd fd = open(client);  // a fake pid has no capabilities
  subscribe(fd, kEvictionAndRestore | abi::smi_mask(abi::smi_all_process));
  ASSERT_TRUE(driver->inject("evict=" + std::to_string(other.pid())));
  EXPECT_EQ(read_all(fd), "");

  SmiClients clients;
  const UniqueFd privileged = clients.open(1, true), plain = clients.open(1, false);
  subscribe(privileged, kEvictionAndRestore);
  clients.queue_eviction(2, 0x12ab, 4);
  EXPECT_EQ(read_all(privileged), "") << "it did not ask for them";
  subscribe(privileged, kEvictionAndRestore | abi::smi_mask(abi::smi_all_process));
  subscribe(plain, kEvictionAndRestore | abi::smi_mask(abi::smi_all_process));
  clients.queue_eviction(2, 0x12ab, 4);
  EXPECT_NE(read_all(privileged).find(" -2 12ab 4\n"), std::string::npos);
  EXPECT_EQ(read_all(plain), "");
}

TEST_F(Smi, ClientThatDoesNotReadLosesEventsOnly) {
  SmiClients clients;
  const UniqueFd fd = clients.open(1, false);
  subscribe(fd, kEvictionAndRestore);
  for (int i = 0; i < 100'000; ++i) {
    clients.queue_restore(1, 1);
  }
  const std::string text = read_all(fd);
  EXPECT_EQ(text.substr(0, 2), "a ");
}

TEST_F(Smi, ClosedClientsAreForgotten) {
  SmiClients clients;
  {
    const UniqueFd fd = clients.open(1, false);
    subscribe(fd, ~u64{0});
  }
  clients.queue_restore(1, 1);
  clients.vm_fault(1, "x");
}

}  // namespace
}  // namespace vgpu::driver
