#!/usr/bin/env python3
"""The check of includes finds what it is for."""
import os
import tempfile
import unittest

import check_includes


class Check(unittest.TestCase):
    def complaints_about(self, path, line):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, os.path.dirname(path)))
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(line + "\n")
            return check_includes.check(root)[0]

    def test_a_folder_may_include_itself_and_those_of_its_rule(self):
        self.assertEqual(self.complaints_about("src/core/policy/a.h", '#include "policy/b.h"'), [])
        self.assertEqual(self.complaints_about("src/core/os/a.h", '#include "base/result.h"'), [])

    def test_a_policy_knows_no_mechanism(self):
        found = self.complaints_about("src/core/policy/a.cpp", '#include "mechanism/controller.h"')
        self.assertEqual(len(found), 1)
        self.assertIn("src/core/policy/a.cpp:1: mechanism/controller.h", found[0])

    def test_the_agent_has_no_strings(self):
        self.assertEqual(
            len(self.complaints_about("src/inside/agent/a.cpp", "#include <string>")), 1)
        self.assertEqual(self.complaints_about("src/inside/agent/a.cpp", "#include <errno.h>"), [])

    def test_the_core_has_no_json(self):
        self.assertEqual(
            len(self.complaints_about("src/core/base/a.cpp", "#include <nlohmann/json.hpp>")), 1)

    def test_a_new_folder_needs_a_rule(self):
        self.assertEqual(len(self.complaints_about("src/core/utils/a.cpp", "")), 1)


if __name__ == "__main__":
    unittest.main()
