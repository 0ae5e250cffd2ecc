#!/usr/bin/env python3
"""Says what the documentation names and the tree does not have.

  check_docs.py [--root DIR] [--words FILE]

Looked at: Markdown, man pages, and the comments at the head of source files. There, every word in
backticks (in man pages: in bold) must exist:

  a path          in the tree: from its root, beside the document, or as the end of a path of the
                  tree (`daemon/board.h`)
  --option        where the program that the text names parses its options, else in any program
  make target     in the Makefile
  key = , [key]   in the parser of the configuration; and each of its keys is in gpreemptd.8
  anything else   as a word of the code, comments aside: functions, variables, names in texts
  a link          file and heading exist

Lines of prose in Markdown have at most 100 columns.

Lines of code blocks are looked at for make, options of our programs, folders and GPREEMPT_*. What
can be nothing but a name is one without backticks, too: foo() and foo.h in Markdown and in all
comments, foo_bar in heads. Words of others are in words.txt; one that is not used any more is an
error, too.

Prints file:line: `word`: why, and returns 1 if there is anything to print.
"""
import argparse
import collections
import fnmatch
import os
import re
import sys

sys.dont_write_bytecode = True
from tree import C_ENDINGS, CONFIG_PAGE, PARSERS, Tree  # noqa: E402

FILE_NAME = re.compile(
    r"\w[\w.-]*\.(h|cpp|hip|md|toml|json|html|so(\.\d+)*|sh|py|svg|service|config|rst|txt|patch)$")

WIDTH = 100  # of prose: neither tables nor code

Problem = collections.namedtuple("Problem", "file line word why")


def blanked(pattern, text):
    """Without what matches, but with all its lines."""
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), text)


class Checker:
    def __init__(self, tree, allowed):
        self.tree = tree
        self.allowed = allowed
        self.used = set()
        self.problems = []

    def say(self, file, line, word, why):
        self.problems.append(Problem(file, line, word, why))

    def is_allowed(self, word):
        for pattern in self.allowed:
            if word == pattern or ("*" in pattern and fnmatch.fnmatchcase(word, pattern)):
                self.used.add(pattern)
                return True
        return False

    # ---- words ----

    def span(self, file, line, text, program=None):
        """One piece of text in backticks or in bold."""
        text = re.sub(r"\s+", " ", text.strip()).replace("\\|", "|")
        if self.is_allowed(text):
            return
        include = re.fullmatch(r"#include [<\"](.*)[>\"]", text)
        if include:
            text = include[1]
        tokens = text.split(" ")
        if tokens[0] == "make":
            self.make(file, line, tokens[1:])
            return
        if re.fullmatch(r"\[\[?[\w.]+\]\]?", text) or re.match(r"\w+ = ", text):
            for key in re.findall(r"\w+", text.split(" = ")[0]):
                if key not in self.tree.keys and not self.is_allowed(key):
                    self.say(file, line, text, "no key of the configuration")
            return
        named = os.path.basename(tokens[0])
        if len(tokens) > 1 and named in PARSERS:
            self.command(file, line, named, tokens[1:])
            return
        for token in tokens:
            if not re.fullmatch(r"\[?[A-Z]+[\]=.]*[A-Z]*", token):  # stands for something else
                self.token(file, line, token.strip("[]"), program)

    def make(self, file, line, tokens):
        for token in tokens:
            if "=" in token or token.startswith("#"):
                return
            if token not in self.tree.targets:
                self.say(file, line, f"make {token}", "no target of the Makefile")

    def command(self, file, line, program, tokens):
        """The words behind one of our programs' names; what follows -- is somebody else's."""
        for number, token in enumerate(tokens):
            token = token.strip("[](),.;:&|'\"")
            if token in ("", "-") or tokens[number] in ("--", "#", "|", "&&"):
                return
            if token.startswith("--"):
                self.option(file, line, token, program)
            elif re.fullmatch(r"[a-z-]+", token) and not self.tree.has_word(token):
                self.say(file, line, f"{program} {token}", "no such command or argument")

    def option(self, file, line, token, program):
        option = re.match(r"--[\w-]*", token)[0].rstrip("-")
        known = self.tree.options[program] if program else self.tree.all_options
        if len(option) > 2 and option not in known and not self.is_allowed(option):
            self.say(file, line, option, f"no option of {program or 'any program'}")

    def token(self, file, line, token, program=None):
        token = token.strip("(){},;:'\"“”").rstrip(".[=")
        token = re.sub(r"(?<=\w)\($", "", token)
        if not re.search(r"[A-Za-z]", token) or self.is_allowed(token) or \
                re.match(r"-?[\d.]|-[A-Za-z]", token):
            return
        if token.startswith("--"):
            self.option(file, line, token, program)
        elif token[0] in "/~$" or token.startswith("http"):
            self.elsewhere(file, line, token)
        elif "|" in token or "=" in token:
            for part in re.split(r"[|=]", token):
                self.token(file, line, part, program)
        elif "/" in token:
            path = token.split("#")[0]
            if not self.tree.has_path(path, file) and not self.is_built(path):
                self.say(file, line, token, "no such path")
        elif FILE_NAME.match(token) and "*" not in token:
            if not self.tree.has_word(token) and not self.is_built(token):
                self.say(file, line, token, "no such file, and the code does not name one")
        else:
            self.identifier(file, line, token)

    def elsewhere(self, file, line, token):
        """On an installed system: ours if it has our name in it."""
        if "gpreempt" not in token or token.startswith("http"):
            return
        path = re.sub(r"[<{$].*|\*.*", "", token).rstrip("/")
        if path and path not in self.tree.text and \
                os.path.basename(path) not in self.tree.words:
            self.say(file, line, token, "the code names no such path")

    def is_built(self, path):
        """build/bin/vgpu, build/hip/lds_reduction, libvgpu.so, gpreempt-demo/report.html: made of
        something of that name, or by a program that names it."""
        folder, _, name = path.rpartition("/")
        library = re.fullmatch(r"lib(\w+?)(\.so[.\d]*)?", name)
        if library and self.tree.has_word(library[1]):
            return True
        if folder.split("/")[0] not in ("build", "bench", "gpreempt-demo", "gpreempt-bench"):
            return False
        return self.tree.has_word(name) or any(name + ending in self.tree.names
                                               for ending in (".hip", ".cpp"))

    def identifier(self, file, line, token):
        if self.tree.has_word(token) or self.is_built(token):
            return
        for word in re.split(r"[^\w*-]+|(?<=\w)-(?=>)", token):
            if not re.search(r"[A-Za-z]{2}", word) or re.match(r"\d", word):
                continue
            if not self.tree.has_word(word) and not self.is_allowed(word):
                self.say(file, line, word, "no word of the code")

    # ---- kinds of document ----

    def markdown(self, file):
        text = self.tree.read(file)
        lines = text.split("\n")
        fence = None
        for number, line in enumerate(lines, 1):
            mark = re.match(r"\s*```(\w*)", line)
            if mark:
                fence = None if fence is not None else mark[1]
                lines[number - 1] = ""
            elif fence is not None:
                self.code_line(file, number, line, fence)
                lines[number - 1] = ""
            elif len(line) > WIDTH and not line.startswith("|"):
                self.say(file, number, line[:20] + "...", f"longer than {WIDTH} columns")
        text = "\n".join(lines)
        for found in re.finditer(r"(?<!`)`([^`]+)`(?!`)", text):
            if "\n\n" not in found[1]:
                self.span(file, text.count("\n", 0, found.start()) + 1, found[1])
        for found in re.finditer(r"\]\(([^)\s]+)\)", text):
            self.link(file, text.count("\n", 0, found.start()) + 1, found[1])
        self.names(file, blanked(r"`[^`]+`|\]\([^)\s]+\)", text), r"\(|\.")

    def code_line(self, file, number, line, language):
        if language == "toml":
            key = re.match(r"\[*([\w.]+)\]*", line)
            for word in key[1].split(".") if key else []:
                if word not in self.tree.keys:
                    self.say(file, number, word, "no key of the configuration")
            return
        for variable in re.findall(r"\bGPREEMPT_\w+", line):
            self.identifier(file, number, variable)
        folder = re.match(r"(\.?\w[\w./-]*/)(\s|$)", line)
        if folder and not self.tree.has_path(folder[1], file):
            self.say(file, number, folder[1], "no such path")
        for command in re.split(r"&&|;|\|", re.sub(r"\s# .*", "", line)):
            tokens = re.sub(r"^\s*\$?\s*(sudo )?", "", command).split()
            if tokens and os.path.basename(tokens[0]) in PARSERS:
                self.command(file, number, os.path.basename(tokens[0]), tokens[1:])
            elif tokens and tokens[0] == "make":
                self.make(file, number, tokens[1:])

    def link(self, file, line, target):
        if re.match(r"\w+:", target):
            return
        path, _, heading = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file
        if path not in self.tree.paths:
            self.say(file, line, target, "no such file")
        elif heading and heading not in self.headings(path):
            self.say(file, line, target, "no such heading")

    def headings(self, file):
        """As anchors, made the way GitHub does."""
        return {re.sub(r"[^\w -]", "", title.strip().lower()).replace(" ", "-")
                for title in re.findall(r"^#+ (.*)$", self.tree.read(file), re.M)}

    def man_page(self, file):
        program = os.path.basename(file).rsplit(".", 1)[0]
        section = file.rsplit(".", 1)[1]
        program = program if program in PARSERS and section != "3" else None
        in_example = False
        for number, line in enumerate(self.tree.read(file).splitlines(), 1):
            line = re.sub(r"\\([- ])", lambda found: found[1] if found[1] == "-" else "\0", line)
            line = line.replace("\\(dq", '"')
            in_example = line == ".nf" or (in_example and line != ".fi")
            if in_example and not line.startswith("."):
                self.code_line(file, number, line, "")
            for bold in self.bold(line):
                self.bold_words(file, number, bold.replace("\0", " "), program)

    @staticmethod
    def bold(line):
        """The bold pieces of a line; an escaped blank is \\0 in them."""
        pieces = re.findall(r"\\fB(.*?)(?=\\f|$)", line)
        macro = re.match(r"\.(B|BR|BI|RB|IB) (.*)", line)
        if macro:
            rest = macro[2].split("\\f")[0] if macro[1] == "B" else re.sub(r"\\f.", "", macro[2])
            words = [a or b for a, b in re.findall(r'"((?:[^"]|"")*)"(?=\s|$)|(\S+)', rest)]
            pieces += [" ".join(words)] if macro[1] == "B" else \
                words[0::2] if macro[1][0] == "B" else words[1::2]
        return pieces

    def bold_words(self, file, line, text, program):
        tokens = text.split()
        if tokens and tokens[0] in PARSERS and len(tokens) > 1:
            self.command(file, line, tokens[0], tokens[1:])
        elif text.strip():
            self.span(file, line, text, program)

    def source(self, file):
        head, rest = self.tree.comments[file]
        for found in re.finditer(r"`([^`]+)`", head):
            self.span(file, head.count("\n", 0, found.start()) + 1, found[1])
        self.names(file, blanked(r"`[^`]+`", head), r"[a-z]_[a-z]|\(|\.")
        if file.endswith(C_ENDINGS):
            self.names(file, rest, r"\(|\.")

    def names(self, file, text, sign):
        """What can be nothing but a name, because of a sign, is taken for one without backticks."""
        for found in re.finditer(r"[^\s,;\"'=]+", text):
            word = re.sub(r"^[(]+|[.:)]+$|:[\d-]+.*$", "", re.sub(r"\(\)[).,:]*$", "()", found[0]))
            if re.fullmatch(r"[\w/-]*\w\.(h|cpp|hip|md)|(\w+::)*[a-z]\w*\(?\)?", word) and \
                    re.search(sign, word):
                self.token(file, text.count("\n", 0, found.start()) + 1, word)

    def config_page(self):
        text = re.sub(r"\\-", "-", self.tree.read(CONFIG_PAGE))
        for key in sorted(self.tree.keys):
            if text and not re.search(rf"\b{key}\b", text):
                self.say(CONFIG_PAGE, 1, key, "a key of the configuration that is not described")

    def all(self):
        for file in self.tree.files:
            if file.endswith(".md"):
                self.markdown(file)
            elif re.fullmatch(r"man/.*\.\d", file):
                self.man_page(file)
            elif file in self.tree.comments:
                self.source(file)
        self.config_page()
        for program, options in self.tree.options.items():
            if len(options) == 2:
                self.say("tests/docs/tree.py", 1, program, "PARSERS: no file parses its options")
        if not self.tree.keys:
            self.say("tests/docs/tree.py", 1, "CONFIG", "no file has keys of a configuration")
        for word in sorted(self.allowed.keys() - self.used):
            self.say("tests/docs/words.txt", self.allowed[word], word, "nobody uses it any more")
        return self.problems


def read_words(path):
    """Words with their line numbers. A line is a word or a text, and "  # why"."""
    words = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            word = re.sub(r"(^|\s+)#( .*)?$", "", line.rstrip("\n"))
            if word:
                words[word] = number
    return words


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(here, "../.."))
    parser.add_argument("--words", default=os.path.join(here, "words.txt"))
    arguments = parser.parse_args()
    problems = Checker(Tree(os.path.abspath(arguments.root)), read_words(arguments.words)).all()
    for file, line, word, why in problems:
        print(f"{file}:{line}: `{word}`: {why}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
