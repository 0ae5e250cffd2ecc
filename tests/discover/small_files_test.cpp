// The files of a few lines: topology properties, /proc/<pid>/{stat,status,environ,cmdline}.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "discover/process_files.h"
#include "discover/process_queues.h"
#include "discover/text.h"
#include "discover/topology.h"
#include "support/eventually.h"

namespace gp::discover {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

TEST(Properties, UnknownNamesAreSkippedAndMissingOnesStayEmpty) {
  const NodeProperties properties =
      parse_properties("simd_count 80\nsimd_per_cu 4\nwarp_drive 9\nnum_xcc 4\n");
  EXPECT_EQ(properties.simd_count, 80u);
  EXPECT_EQ(properties.num_xcc, 4u);
  EXPECT_FALSE(properties.cwsr_size);
  EXPECT_EQ(properties.damaged_lines, 0u);
}

TEST(Properties, AValueThatIsNoNumberIsNotZero) {
  const NodeProperties properties = parse_properties("simd_count 8o\nnum_cp_queues\nnum_xcc 4");
  EXPECT_FALSE(properties.simd_count);
  EXPECT_FALSE(properties.num_cp_queues);
  EXPECT_FALSE(properties.num_xcc) << "the line was cut: it may have been 40";
  EXPECT_EQ(properties.damaged_lines, 3u);
}

TEST(QueueFiles, TypesAreTheDriversOwn) {
  EXPECT_EQ(queue_type_of("0"), QueueType::compute);
  EXPECT_EQ(queue_type_of("1"), QueueType::sdma);
  EXPECT_EQ(queue_type_of("4"), QueueType::sdma_xgmi);
  EXPECT_EQ(queue_type_of("2"), QueueType::unknown);
  EXPECT_EQ(queue_type_of(""), QueueType::unknown);
}

TEST(Stat, ACommandMayLookLikeTheRestOfTheLine) {
  const auto stat =
      parse_stat("7 (a) S 1) (b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'R');
  EXPECT_EQ(stat->start_time, 4711u);
}

TEST(Stat, ALineThatIsCutGivesNothing) {
  EXPECT_FALSE(parse_stat("7 (a) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 47"));
  EXPECT_FALSE(parse_stat("7 (a) R 1 2 3\n"));
  EXPECT_FALSE(parse_stat("7 (a"));
  EXPECT_FALSE(parse_stat(""));
}

TEST(ProcStatus, PidsOfAllNamespacesAreListedOutermostFirst) {
  const ProcessStatus status =
      parse_status("Name:\tpython\nUid:\t1000\t0\t0\t0\nNSpid:\t4242\t17\t1\n");
  EXPECT_EQ(status.uid, 1000u);
  EXPECT_EQ(status.namespace_pids, (std::vector<pid_t>{4242, 17, 1}));
}

TEST(ProcStatus, GroupsAreTheEffectiveOneAndTheSupplementaryOnes) {
  const ProcessStatus status = parse_status("Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \n");
  EXPECT_EQ(status.uid, 1u);
  EXPECT_EQ(status.effective_uid, 2u);
  EXPECT_EQ(status.groups, (std::vector<gid_t>{6, 9, 10}));
}

TEST(Environ, TheFirstOfANameCounts) {
  const auto environ = "A=1\0AMD_QUEUE_TAG=online\0AMD_QUEUE_TAG=offline\0"sv;
  EXPECT_EQ(find_variable(environ, "AMD_QUEUE_TAG"), "online");
  EXPECT_EQ(find_variable(environ, "A"), "1");
  EXPECT_FALSE(find_variable(environ, "AMD_QUEUE"));
  EXPECT_FALSE(find_variable(environ, "1"));
}

TEST(Environ, AnEntryThatIsCutGivesNothing) {
  EXPECT_FALSE(find_variable("AMD_QUEUE_PRIORITY=1", "AMD_QUEUE_PRIORITY"));
  EXPECT_EQ(find_variable("AMD_QUEUE_PRIORITY=\0"sv, "AMD_QUEUE_PRIORITY"), "");
}

// A megabyte and a half, as much as a process can have: the daemon reads it in its loop.
TEST(Environ, OfAnySizeIsReadInPart) {
  std::vector<std::string> variables = {"AMD_QUEUE_TAG=first"};
  for (int i = 0; i < 12; ++i) {
    variables.push_back("V" + std::to_string(i) + "=" + std::string(120'000, 'x'));
  }
  std::vector<char*> words;
  for (std::string& variable : variables) {
    words.push_back(variable.data());
  }
  words.push_back(nullptr);
  char program[] = "/bin/sleep", argument[] = "1000";
  char* arguments[] = {program, argument, nullptr};
  pid_t child = 0;
  ASSERT_EQ(::posix_spawn(&child, program, nullptr, nullptr, arguments, words.data()), 0);
  Result<ProcessFacts> facts = Error{ESRCH, "", ""};
  eventually([&] {  // it is in the middle of exec
    facts = read_process(system_os(), "/proc", child, false);
    return facts && facts->environ && !facts->environ->empty();
  });
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->environ->size(), kMostEnviron);
  EXPECT_EQ(find_variable(*facts->environ, "AMD_QUEUE_TAG"), "first");
}

TEST(Command, IsOnePrintableLine) {
  EXPECT_EQ(printable_command("python\0train.py\0--name\0a\nb\x1b[2J\0"sv),
            "python train.py --name a?b?[2J");
  EXPECT_EQ(printable_command(""), "");
}

TEST(Numbers, MustBeWholeAndFit) {
  EXPECT_EQ(decimal(" 12\n"), 12u);
  EXPECT_FALSE(decimal("12x"));
  EXPECT_FALSE(decimal("-1"));
  EXPECT_FALSE(decimal("18446744073709551616"));
  EXPECT_EQ(hex("0xf7bc"), 0xf7bcu);
  EXPECT_FALSE(hex("0x"));
  EXPECT_FALSE(narrow<u32>(u64{1} << 32));
  EXPECT_FALSE(narrow<pid_t>(u64{1} << 31));
}

}  // namespace
}  // namespace gp::discover
