// Parts find each other from where they lie; tests/packaging looks at installations.
#include "base/parts.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace gp {
namespace {

TEST(Parts, AProgramIsFoundBesideThisOne) {
  const auto found = find_part(PartKind::program, "base_tests");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, GPREEMPT_BIN_DIR "/base_tests");
}

TEST(Parts, WhatIsNotThereIsAnErrorWithItsName) {
  const auto found = find_part(PartKind::helper, "gpreempt-nothing");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ENOENT);
  EXPECT_NE(found.error().what.find("gpreempt-nothing"), std::string::npos);
  EXPECT_FALSE(found.error().hint.empty());
}

TEST(Parts, OtherFoldersThanThoseOfTheKindAreNotLookedAt) {
  EXPECT_FALSE(find_part(PartKind::example, "base_tests"));
}

}  // namespace
}  // namespace gp
