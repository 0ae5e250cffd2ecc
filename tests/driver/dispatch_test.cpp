// How ioctls reach their handlers: numbers, versions, sizes, whose file it is.
#include <algorithm>
#include <set>

#include "driver/driver_support.h"
#include "driver/ioctl_table.h"

namespace vgpu::driver {
namespace {

class Dispatch : public DriverTest {
 protected:
  int raw(Client& client, u32 cmd, std::vector<u8>& args) {
    Caller caller = client.make_caller();
    args.resize(4096);
    return driver->ioctl(caller, client.file(), cmd, args);
  }
  int number(Client& client, u32 nr) {
    std::vector<u8> args;
    return raw(client, static_cast<u32>(_IOC(_IOC_READ | _IOC_WRITE, 'K', nr, 8)), args);
  }
  void start_version(KfdVersion version) {
    DriverConfig config = small();
    config.kfd = version;
    start(config);
  }
};

TEST(Abi, CommandValuesAreThoseOfLinux612) {
  const auto value = [](u32 direction, u32 nr, std::size_t size) {
    return static_cast<u32>(_IOC(direction, abi::kKfdIoctlBase, nr, size));
  };
  const u32 rw = _IOC_READ | _IOC_WRITE;
  EXPECT_EQ(value(_IOC_READ, abi::kfd_get_version, sizeof(abi::GetVersionArgs)), 0x80084b01u);
  EXPECT_EQ(value(rw, abi::kfd_create_queue, sizeof(abi::CreateQueueArgs)), 0xc0604b02u);
  EXPECT_EQ(value(rw, abi::kfd_destroy_queue, sizeof(abi::DestroyQueueArgs)), 0xc0084b03u);
  EXPECT_EQ(value(_IOC_WRITE, abi::kfd_update_queue, sizeof(abi::UpdateQueueArgs)), 0x40184b07u);
  EXPECT_EQ(value(_IOC_WRITE, abi::kfd_set_cu_mask, sizeof(abi::SetCuMaskArgs)), 0x40104b1au);
  EXPECT_EQ(value(rw, abi::kfd_get_queue_wave_state, sizeof(abi::GetQueueWaveStateArgs)),
            0xc0184b1bu);
  EXPECT_EQ(value(rw, abi::kfd_smi_events, sizeof(abi::SmiEventsArgs)), 0xc0084b1fu);
  EXPECT_EQ(value(rw, abi::kfd_criu_op, sizeof(abi::CriuArgs)), 0xc0384b22u);
  EXPECT_EQ(value(rw, abi::kfd_available_memory, sizeof(abi::GetAvailableMemoryArgs)), 0xc0104b23u);
  EXPECT_EQ(value(rw, abi::kfd_runtime_enable, sizeof(abi::RuntimeEnableArgs)), 0xc0104b25u);
  EXPECT_EQ(value(rw, abi::kfd_dbg_trap, sizeof(abi::DbgTrapArgs)), 0xc0204b26u);
}

TEST(IoctlTable, HasEveryNumberOfTheInterfaceOnce) {
  std::vector<u32> numbers;
  for (const IoctlInfo& info : ioctl_infos()) {
    numbers.push_back(info.nr);
  }
  EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
  std::vector<u32> expected;
  for (u32 nr = 0x01; nr <= 0x26; ++nr) {
    expected.push_back(nr);
  }
  expected.insert(expected.end(), {0x80, 0x81, 0x82});  // DKMS
  expected.insert(expected.end(), {0x87, 0x88});        // early builds
  for (u32 nr = 0xe0; nr <= 0xe8; ++nr) {               // kernel/patches
    expected.push_back(nr);
  }
  EXPECT_EQ(numbers, expected);
}

TEST(IoctlTable, NamesNoTwoIoctlsAlike) {
  std::set<std::string> names;
  for (const IoctlInfo& info : ioctl_infos()) {
    EXPECT_STRNE(info.name, "");
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
}

TEST(IoctlTable, KnowsEveryIoctlThatCarriesAFile) {
  std::vector<std::string> in_request, in_reply;
  for (const IoctlInfo& info : ioctl_infos()) {
    if (info.file == protocol::IoctlFile::in_request) {
      in_request.emplace_back(info.name);
    } else if (info.file == protocol::IoctlFile::in_reply) {
      in_reply.emplace_back(info.name);
    }
  }
  EXPECT_EQ(in_request,
            (std::vector<std::string>{"ACQUIRE_VM", "ALLOC_MEMORY_OF_GPU", "DBG_TRAP"}));
  EXPECT_EQ(in_reply, (std::vector<std::string>{"SMI_EVENTS", "PREEMPT_LEASE"}));
}

TEST_F(Dispatch, TellsItsVersion) {
  struct {
    KfdVersion version;
    u32 minor;
  } const cases[] = {{KfdVersion::v1_11, 11}, {KfdVersion::v1_17, 17}, {KfdVersion::dkms, 17}};
  for (const auto& each : cases) {
    start_version(each.version);
    Client client(*driver);
    abi::GetVersionArgs args = {};
    EXPECT_EQ(client.call(abi::kfd_get_version, args), 0);
    EXPECT_EQ(args.major_version, 1u);
    EXPECT_EQ(args.minor_version, each.minor);
  }
}

TEST_F(Dispatch, OldKernelHasNoDebugger) {
  start_version(KfdVersion::v1_11);
  Client client(*driver);
  for (const u32 nr : {0x24u, 0x25u, 0x26u}) {
    EXPECT_EQ(number(client, nr), -ENOTTY) << nr;
  }
  EXPECT_NE(number(client, abi::kfd_available_memory), -ENOTTY);
}

TEST_F(Dispatch, UnknownNumbersAreNotIoctls) {
  Client client(*driver);
  for (const u32 nr : {0x00u, 0x27u, 0x28u, 0x7fu, 0x80u, 0x81u, 0x82u, 0xe0u, 0xffu}) {
    EXPECT_EQ(number(client, nr), -ENOTTY) << nr;
  }
}

TEST_F(Dispatch, DkmsHasASecondRangeWithHoles) {
  start_version(KfdVersion::dkms);
  Client client(*driver);
  EXPECT_EQ(number(client, 0x82), -EPERM);  // the debugger ROCr 5.2.3 looks for
  for (const u32 nr : {0x83u, 0x84u, 0x85u, 0x86u}) {
    EXPECT_EQ(number(client, nr), -EINVAL) << nr;
  }
  EXPECT_EQ(number(client, 0x87), -ENOTTY);
}

TEST_F(Dispatch, OtherIoctlTypesAreRefused) {
  Client client(*driver);
  std::vector<u8> args;
  EXPECT_EQ(raw(client, static_cast<u32>(_IOC(_IOC_READ, 'd', 1, 8)), args), -ENOTTY);
}

TEST_F(Dispatch, RemovedDebuggerIsRefused) {
  Client client(*driver);
  for (const u32 nr : {0x0du, 0x0eu, 0x0fu, 0x10u}) {
    EXPECT_EQ(number(client, nr), -EPERM) << nr;
  }
}

TEST_F(Dispatch, CallerFromAnOlderHeaderIsServed) {
  Client client(*driver);
  TestQueue queue;
  const abi::CreateQueueArgs args = client.queue_args(queue, abi::queue_type_compute_aql);
  std::vector<u8> bytes(4096, 0xaa);
  std::memcpy(bytes.data(), &args, 88);  // before 1.17
  ASSERT_EQ(raw(client, static_cast<u32>(_IOC(_IOC_READ | _IOC_WRITE, 'K', 0x02, 88)), bytes), 0);
  abi::CreateQueueArgs result = {};
  std::memcpy(&result, bytes.data(), 88);
  EXPECT_EQ(result.queue_id, 0u);
  EXPECT_NE(result.doorbell_offset, 0u);
  EXPECT_EQ(bytes[88], 0xaa) << "bytes behind the caller's struct must not be touched";
}

TEST_F(Dispatch, InputOnlyArgumentsAreNotWrittenBack) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  abi::UpdateQueueArgs args = {};
  args.ring_size = 16;  // the driver works with at least 1024
  args.queue_id = queue.id;
  args.queue_percentage = 100;
  EXPECT_EQ(client.call(abi::kfd_update_queue, args), 0);
  EXPECT_EQ(args.ring_size, 16u);
}

TEST_F(Dispatch, OnlyTheOpenerMayUseTheFile) {
  Client owner(*driver), stranger(*driver);
  abi::GetVersionArgs args = {};
  EXPECT_EQ(stranger.call_on(owner.file(), abi::kfd_get_version, args), -EBADF);
  EXPECT_EQ(owner.call(abi::kfd_get_version, args), 0);
  EXPECT_EQ(owner.call_on(FileId{1, 2}, abi::kfd_get_version, args), -EBADF);
}

TEST_F(Dispatch, SecondOpenIsTheSameProcess) {
  Client client(*driver);
  const u32 event = client.create_event();
  Client again(*driver, client.pid());
  abi::EventIdArgs args = {event, 0};
  EXPECT_EQ(again.call(abi::kfd_set_event, args), 0);
}

TEST_F(Dispatch, FeaturesThatAreNotThereSaySo) {
  Client client(*driver);
  client.acquire_vm();
  abi::SvmArgs svm = {};
  svm.start_addr = 0x10000;
  svm.size = 4096;
  EXPECT_EQ(client.call(abi::kfd_svm, svm), -EPERM);
  svm.nattr = 5;  // more than was passed
  EXPECT_EQ(client.call(abi::kfd_svm, svm), -EINVAL);
  abi::GetDmabufInfoArgs info = {};
  EXPECT_EQ(client.call(abi::kfd_get_dmabuf_info, info), -EINVAL);
  abi::ImportDmabufArgs import = {};
  EXPECT_EQ(client.call(abi::kfd_import_dmabuf, import), -EINVAL);
  import.gpu_id = client.gpu_id();
  EXPECT_EQ(client.call(abi::kfd_import_dmabuf, import), -EINVAL);
  abi::ExportDmabufArgs exported = {};
  EXPECT_EQ(client.call(abi::kfd_export_dmabuf, exported), -EINVAL);
  exported.handle = client.allocate(4096).handle;
  EXPECT_EQ(client.call(abi::kfd_export_dmabuf, exported), -EOPNOTSUPP);
}

}  // namespace
}  // namespace vgpu::driver
