"""What a source tree has that documentation can name: paths, words, options, keys, targets."""
import fnmatch
import os
import re

C_ENDINGS = (".h", ".c", ".cpp", ".hip", ".def")
CODE_ENDINGS = C_ENDINGS + (".py", ".sh", ".cmake", ".toml", ".service", ".in", ".patch", ".config",
                            ".txt", ".json", ".map")
CODE_NAMES = ("Makefile", "Kbuild")
SKIPPED_FOLDERS = re.compile(
    r"(^|/)(\.git|__pycache__|build(-[^/]*)?|gpreempt-(bench|demo|soak))$")
# What is written there is no proof that it exists elsewhere.
NO_CODE = ("tests/docs/", "tests/fixtures/gfx942/")
# Which files parse the options of which program; * is any number of folders, too.
PARSERS = {
    "gpreempt": ["src/*cli/*.cpp"],
    "gpreemptd": ["src/*daemon/options.cpp"],
    "vgpu": ["vgpu/cli/*.cpp", "vgpu/protocol/device_options.cpp"],
    "vgpud": ["vgpu/server/*options.cpp"],
}
# What has the keys of the configuration, and how a key looks there.
CONFIG = {
    "src/*config/config.cpp": r'\{"(\w+)",',
    "src/*policy/parameters.def": r"^[A-Z]+\((\w+),",
}
CONFIG_PAGE = "man/gpreemptd.8"
# Names of instructions stand for all their types: v_div_scale for v_div_scale_f32.
INSTRUCTION = re.compile(r"(s|v|ds|buffer|flat|global)_")


def without_comments(name, text):
    if name.endswith(".patch"):
        diff = text.find("\ndiff ")
        return "\n".join(line for line in text[max(diff, 0):].splitlines() if line[:1] in "+ -")
    if name.endswith(C_ENDINGS):
        pattern = r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/'
        return re.sub(pattern, lambda found: found[0] if found[0][0] == '"' else " ", text,
                      flags=re.S)
    return re.sub(r"(^|\s)#(?!include|define)[^\n]*", r"\1", text)


def comments(name, text):
    """The comment a file begins with, and all others: two texts with the lines of the file."""
    mark = "//" if name.endswith(C_ENDINGS) else "#"
    head, rest = [], []
    in_head = True
    for number, line in enumerate(text.splitlines()):
        is_comment = line.startswith(mark) and not line.startswith(("#include", "#pragma"))
        in_head = in_head and (is_comment or number == 0 and line.startswith("#!"))
        head.append(line[len(mark):] if in_head and not line.startswith("#!") else "")
        found = None if in_head else re.search(rf"(?:^|\s){mark} (.*)", line)
        rest.append(found[1] if found else "")
    return "\n".join(head), "\n".join(rest)


class Tree:
    """What there is to name."""

    def __init__(self, root):
        self.root = root
        self.files = []
        self.folders = set()
        for folder, folders, names in os.walk(root):
            base = os.path.relpath(folder, root).replace(os.sep, "/")
            base = "" if base == "." else base + "/"
            folders[:] = sorted(name for name in folders
                                if not SKIPPED_FOLDERS.search(base + name))
            self.folders.update(base + name for name in folders)
            self.files += [base + name for name in sorted(names)]
        self.paths = set(self.files) | self.folders
        self.names = {path.rsplit("/", 1)[-1] for path in self.paths}
        self.comments = {}
        self.words = set()
        code = []
        for name in self.files:
            if self.is_code(name):
                text = self.read(name)
                self.comments[name] = comments(name, text)
                code.append((name, without_comments(name, text)))
        self.text = "\n".join(text for _, text in code)
        self.words.update(re.findall(r"[A-Za-z_]\w*", self.text))
        self.words.update(re.findall(r"\w+(?:-\w+)+", self.text))
        self.words.update(re.findall(r"\w+(?:\.\w+)+", self.text))
        self.options = {program: self.parsed_options(code, patterns)
                        for program, patterns in PARSERS.items()}
        self.all_options = set(re.findall(r"--[a-z][\w-]*", self.text))
        self.all_options.update(*self.options.values())
        self.targets = set(re.findall(r"^([a-z][\w-]*):", self.read("Makefile"), re.M))
        self.keys = set()
        for name, text in code:
            for pattern, key in CONFIG.items():
                if fnmatch.fnmatch(name, pattern):
                    self.keys.update(re.findall(key, text, re.M))

    def read(self, name):
        try:
            with open(os.path.join(self.root, name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def is_code(self, name):
        if name.startswith(NO_CODE):
            return False
        if name.endswith(CODE_ENDINGS) or os.path.basename(name) in CODE_NAMES:
            return True
        return "." not in os.path.basename(name) and self.read(name).startswith("#!")

    @staticmethod
    def parsed_options(code, patterns):
        options = {"--help", "--version"}
        for name, text in code:
            if any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                options.update(re.findall(r'"(?:-\w,)?(--[a-z][\w-]*)"', text))
                options.update("--" + option for option in
                               re.findall(r'\{"([\w-]+)", (?:no|required|optional)_argument', text))
        return options

    def has_path(self, path, beside):
        path = re.sub(r"<[^>]*>|\b[A-Z]+\b(?=/|$)", "*", path).rstrip("/")
        if "*" in path:
            return any(fnmatch.fnmatch(known, path) or fnmatch.fnmatch(known, "*/" + path)
                       for known in self.paths)
        places = [path, os.path.normpath(os.path.join(os.path.dirname(beside), path))]
        return any(place in self.paths for place in places) or \
            any(known.endswith("/" + path) for known in self.paths)

    def has_word(self, word):
        if INSTRUCTION.match(word) and "*" not in word:
            word += "*"
        if "*" in word:
            return any(fnmatch.fnmatchcase(known, word) for known in self.words | self.names)
        return word in self.words or word in self.names
