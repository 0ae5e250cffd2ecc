// Online programs of whose work nobody tells.
#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

class GpuUnseenWork : public DaemonTest {
 protected:
  bool is_unseen(const Program& program) {
    const auto job = job_of(program.pid());
    return job.contains("processes") && job["processes"][0]["work_unseen"] == true;
  }
  bool is_logged(const Program& program) const {
    return log().find("process " + std::to_string(program.pid()) + ": online, but nobody") !=
           std::string::npos;
  }
};

TEST_F(GpuUnseenWork, IsNamedWhereThereIsNoAgent) {
  start_daemon();
  const auto seen = online(), unseen = puppet({{"GPREEMPT_CLASS", "online"}});
  ASSERT_EQ(seen->ask("default"), "ok");
  ASSERT_EQ(unseen->ask("default"), "ok");
  EXPECT_TRUE(eventually([&] { return is_unseen(*unseen); }));
  EXPECT_TRUE(eventually([&] { return is_logged(*unseen); }));
  EXPECT_FALSE(is_unseen(*seen));
  EXPECT_FALSE(is_logged(*seen)) << log();
}

}  // namespace
}  // namespace gp::daemon
