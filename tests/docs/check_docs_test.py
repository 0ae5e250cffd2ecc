#!/usr/bin/env python3
"""check_docs.py finds what is broken in a small tree, and nothing else."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_docs  # noqa: E402
import tree  # noqa: E402

# Everything a whole tree has; a test changes one file of it.
WHOLE = {
    "Makefile": "help: ## Show this list\ntest: build\nbuild:\n",
    "src/core/base/clock.h": "// Reads the clock.\nnamespace clock {\nu64 now_ns();\n}\n",
    "src/cli/line/commands.cpp": 'add_option("--pid", pid);\nadd_subcommand("queues");\n'
                                 'getenv("GPREEMPT_SOCKET");\n',
    "src/daemon/options.cpp": '{"config", required_argument, nullptr, 1},\n',
    "src/config/config.cpp": 'Keys keys = {{"lease", duration(lease_ns)},\n{"reserve", table}};\n',
    "vgpu/cli/main.cpp": 'add_flag("--json", json);\n',
    "vgpu/server/options.cpp": 'if (name == "--dir") {\n',
    "man/gpreemptd.8": ".TP\n.BR lease \\ =\\ \\(dq2s\\(dq\n.B [reserve]\n"
                       ".BI \\-\\-config\\  FILE\n",
    "docs/clock.md": "# Clock\n\n`now_ns()` of `base/clock.h`, [why](../README.md#what-it-is).\n",
    "README.md": "# What it is\n\n`gpreempt queues --pid 1`, `make test`, `docs/clock.md`,\n"
                 "`GPREEMPT_SOCKET`, `[reserve]`, `src/*/base`, [clock](docs/clock.md)\n\n"
                 "```\nmake build\ngpreempt queues --pid 1 -- true --not-ours\nsrc/core/\n```\n",
}


class CheckDocs(unittest.TestCase):
    def problems(self, changes=None, words=None):
        with tempfile.TemporaryDirectory() as root:
            for name, text in (WHOLE | (changes or {})).items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            checker = check_docs.Checker(tree.Tree(root), words or {})
            return [(problem.file, problem.line, problem.word) for problem in checker.all()]

    def assert_found(self, file, text, line, word):
        self.assertEqual(self.problems({file: text}), [(file, line, word)])

    def assert_found_in_readme(self, text, word):
        self.assert_found("README.md", "# What it is\n\n" + text + "\n", 3, word)

    def test_a_whole_tree_has_no_problems(self):
        self.assertEqual(self.problems(), [])

    def test_a_path_that_is_not_there(self):
        self.assert_found_in_readme("see `docs/gone.md`", "docs/gone.md")
        self.assert_found_in_readme("see `base/gone.h`", "base/gone.h")
        self.assert_found_in_readme("see `src/*/gone`", "src/*/gone")

    def test_a_folder_in_a_code_block_that_is_not_there(self):
        self.assert_found("README.md", "# What it is\n\n```\nsrc/gone/   the past\n```\n", 4,
                          "src/gone/")

    def test_an_option_nobody_parses(self):
        self.assert_found_in_readme("`gpreempt queues --gone`", "--gone")
        self.assert_found_in_readme("`--gone`", "--gone")

    def test_an_option_of_another_program(self):
        self.assert_found_in_readme("`gpreempt queues --dir /tmp`", "--dir")

    def test_an_option_in_a_code_block(self):
        self.assert_found("README.md", "# What it is\n\n```\n$ gpreempt queues --gone\n```\n", 4,
                          "--gone")

    def test_an_option_in_a_man_page(self):
        file = "man/gpreemptd.8"
        self.assert_found(file, WHOLE[file] + ".B \\-\\-gone\n", 5, "--gone")

    def test_a_command_that_does_not_exist(self):
        self.assert_found_in_readme("`gpreempt dance`", "gpreempt dance")

    def test_an_identifier_the_code_does_not_have(self):
        self.assert_found_in_readme("`then_ns()`", "then_ns")
        self.assert_found_in_readme("`clock::then_ns`", "then_ns")
        self.assert_found_in_readme("`GPREEMPT_GONE`", "GPREEMPT_GONE")

    def test_an_identifier_that_only_a_comment_has(self):
        self.assertEqual(self.problems({
            "src/core/base/clock.h": "u64 now_ns();  // once then_ns\n",
            "README.md": "# What it is\n\n`then_ns`\n"}), [("README.md", 3, "then_ns")])

    def test_a_variable_in_a_code_block(self):
        self.assert_found("README.md", "# What it is\n\n```\nrun -e GPREEMPT_GONE=1\n```\n", 4,
                          "GPREEMPT_GONE")

    def test_a_file_or_function_without_backticks(self):
        self.assert_found_in_readme("as base/gone.h says (base/clock.h does)", "base/gone.h")
        self.assert_found_in_readme("what then_ns() was", "then_ns")

    def test_a_span_over_two_lines(self):
        self.assert_found_in_readme("`gpreempt queues\n--gone`", "--gone")

    def test_a_key_the_configuration_does_not_have(self):
        self.assert_found_in_readme("`[gone]`", "[gone]")
        self.assert_found_in_readme('`gone = "2s"`', 'gone = "2s"')
        self.assert_found("README.md", '# What it is\n\n```toml\ngone = 1\n```\n', 4, "gone")

    def test_a_key_the_manual_does_not_have(self):
        self.assertEqual(
            self.problems({"man/gpreemptd.8": ".BR lease \\ =\\ \\(dq2s\\(dq\n"}),
            [("man/gpreemptd.8", 1, "reserve")])

    def test_a_target_the_makefile_does_not_have(self):
        self.assert_found_in_readme("`make gone`", "make gone")
        self.assert_found("README.md", "# What it is\n\n```\nmake gone   # what\n```\n", 4,
                          "make gone")

    def test_a_link_to_nowhere(self):
        self.assert_found_in_readme("[clock](docs/gone.md)", "docs/gone.md")
        self.assert_found_in_readme("[clock](docs/clock.md#gone)", "docs/clock.md#gone")

    def test_prose_that_is_too_wide(self):
        wide = "word " * 20 + "word"
        self.assert_found_in_readme(wide, wide[:20] + "...")
        self.assertEqual(self.problems({"README.md": f"# What it is\n\n| {wide} |\n\n"
                                                     f"```\n{wide}\n```\n"}), [])

    def test_a_name_in_the_head_of_a_file(self):
        file = "src/core/base/clock.h"
        self.assert_found(file, "// Once it was then_ns.\nu64 now_ns();\n", 1, "then_ns")
        self.assert_found(file, "// Reads `gone`.\nu64 now_ns();\n", 1, "gone")
        self.assert_found(file, "// See\n// gone.h.\nu64 now_ns();\n", 2, "gone.h")

    def test_a_function_in_any_comment(self):
        self.assert_found("src/core/base/clock.h", "u64 now_ns();  // calls then_ns()\n", 1,
                          "then_ns")

    def test_words_of_others_are_let_pass(self):
        changes = {"README.md": "# What it is\n\n`rocminfo`, `hip_init`\n"}
        self.assertEqual(self.problems(changes, {"rocminfo": 1, "hip_*": 2}), [])

    def test_a_word_nobody_uses_any_more(self):
        self.assertEqual(self.problems(words={"rocminfo": 7}),
                         [("tests/docs/words.txt", 7, "rocminfo")])


if __name__ == "__main__":
    unittest.main()
