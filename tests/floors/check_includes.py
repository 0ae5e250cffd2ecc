#!/usr/bin/env python3
"""Who may include whom, folder by folder.

The compiler refuses an include of a higher floor (src/CMakeLists.txt). It does not know which
folder of a floor, and which library of the system, a folder may use: this table does. What is not
in the table may not be used.

    check_includes.py ROOT    prints each include that is against the rules; status 1 if there is one
"""
import os
import re
import sys

# libstdc++ headers whose templates and inline functions need nothing of libstdc++ at run time;
# tests/floors/needs_libc_alone.sh looks at what is really needed.
PLAIN_CXX = {"algorithm", "atomic", "compare", "cstddef", "cstdint", "initializer_list", "iterator",
             "limits", "new", "optional", "span", "string_view", "type_traits", "utility"}
# Libraries that the floors below the programs do without.
HEAVY = ("nlohmann/", "toml++/", "CLI/")

FOUNDATION = "libc model abi base"
# folder: the folders whose headers it may include, beside its own.
RULES = {
    "src/libraries": "",
    "src/inside/libc": "",
    "src/inside/abi": "libc",
    "src/inside/model": "libc",
    "src/inside/kfd": "libc abi",
    "src/inside/wire": "libc model",
    "src/inside/stop": "libc abi model kfd",
    "src/inside/pause_guard": "libc abi kfd",
    "src/inside/agent": "libc abi model kfd wire stop",
    "src/core/base": "libc",
    "src/core/os": FOUNDATION,
    "src/core/discover": FOUNDATION + " os kfd",
    "src/core/mechanism": FOUNDATION + " os kfd discover stop pause_guard",
    "src/core/client": FOUNDATION + " wire",
    "src/core/policy": "libc model base",
    "src/core/sched": "libc model base policy discover",
    "src/measure/report": FOUNDATION,
    "src/measure/llm": FOUNDATION,
    "src/measure/demo": FOUNDATION + " llm report client wire os discover",
    "src/measure/bench": FOUNDATION + " llm report demo client wire kfd os discover mechanism sched",
    "src/measure/verify": FOUNDATION + " report demo bench client wire os discover mechanism",
    "src/programs/config": FOUNDATION + " policy sched discover",
    "src/programs/keeper": FOUNDATION + " mechanism discover kfd pause_guard",
    "src/programs/daemon": FOUNDATION + " config policy sched discover mechanism client wire kfd os",
    "src/programs/lib": FOUNDATION + " gpreempt discover mechanism client wire kfd os",
    "src/programs/cli": FOUNDATION + " config policy sched discover mechanism client wire kfd os"
                        " llm report demo bench verify",
    "src/programs/llm": FOUNDATION + " llm",
    "src/programs/load": "",
    "vgpu/memory": FOUNDATION,
    "vgpu/isa": FOUNDATION + " memory",
    "vgpu/device": FOUNDATION + " memory isa",
    "vgpu/protocol": FOUNDATION,
    "vgpu/driver": FOUNDATION + " memory isa device protocol",
    "vgpu/server": FOUNDATION + " memory device driver protocol",
    "vgpu/preload": "libc abi protocol",
    "vgpu/cli": FOUNDATION + " protocol",
}
LIBC_ONLY = ("src/inside/", "vgpu/preload")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]')


def rule_of(path):
    return next((folder for folder in RULES if path.startswith(folder + "/")), None)


def complaint(folder, kind, header):
    """Why a file of this folder may not include the header; None if it may."""
    if kind == '"':
        used = header.split("/")[0] if "/" in header else None
        own = folder.split("/")[-1]
        if used is None or used == own or used in RULES[folder].split():
            return None
        return f"{folder} may use: {RULES[folder] or 'nothing of ours'}"
    if folder.startswith(("src/inside", "src/core", "vgpu/preload")) and header.startswith(HEAVY):
        return "JSON, TOML and CLI11 are for programs"
    if folder.startswith(LIBC_ONLY):
        if "." not in header and header not in PLAIN_CXX:
            return "it lives in other people's processes: libc only"
        if header.startswith("fmt/"):
            return "it lives in other people's processes: libc only"
    return None


def check(root):
    found, files = [], 0
    for top in ("src", "vgpu"):
        for directory, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(directory, name), root)
                if not name.endswith((".h", ".cpp", ".def")):
                    continue
                folder = rule_of(path)
                if folder is None:
                    found.append(f"{path}: no rule for this folder (tests/floors)")
                    continue
                files += 1
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        match = INCLUDE.match(line)
                        why = match and complaint(folder, match[1], match[2])
                        if why:
                            found.append(f"{path}:{number}: {match[2]}: {why}")
    return found, files


def main():
    found, files = check(sys.argv[1] if len(sys.argv) > 1 else ".")
    print("\n".join(found) if found else f"{files} files include what they may")
    return 1 if found or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
