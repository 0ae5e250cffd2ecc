"""The C API as ctypes sees it is that of the header: structures, constants and functions, checked
by the C compiler."""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, List

from conftest import SOURCE

from gpreempt import _abi

HEADER = SOURCE / "include/gpreempt/gpreempt.h"
TEXT = re.sub(r"/\*.*?\*/", " ", HEADER.read_text(), flags=re.S)


def declared_structures() -> Dict[str, List[str]]:
    """Those of the header, with the names of their fields."""
    found = {}
    for name, body in re.findall(r"^struct (gpreempt_\w+) \{(.*?)\n\};", TEXT, re.S | re.M):
        found[name] = [re.findall(r"(\w+)(?:\[\d+\])?$", field.strip())[0]
                       for field in body.split(";") if field.strip()]
    return found


def declared_functions() -> Dict[str, List[str]]:
    """Those of the header: what each returns and takes."""
    found = {}
    for result, name, arguments in re.findall(
            r"^GPREEMPT_API ([^;{]*?)\b(gpreempt_\w+)\(([^)]*)\);", TEXT, re.S | re.M):
        types = [re.sub(r"\s*\b\w+$", "", " ".join(each.split())) for each in arguments.split(",")]
        found[name] = [result.strip()] + ([] if arguments.strip() == "void" else types)
    return found


def declared_constants() -> List[str]:
    names = re.findall(r"^#define GPREEMPT_(\w+) +[^\\\n]+", TEXT, re.M)
    return [name for name in names if name not in ("GPREEMPT_H", "API", "VERSION")]


def ask_compiler(folder: Path, expressions: Dict[str, str]) -> Dict[str, int]:
    """The values of C expressions."""
    lines = "".join(f'  printf("%s\\"{key}\\": %lld", n++ ? ",\\n" : "", (long long)({value}));\n'
                    for key, value in expressions.items())
    source = folder / "ask.c"
    source.write_text('#include <stdio.h>\n#include <gpreempt/gpreempt.h>\nint main(void) {\n'
                      f'  int n = 0;\n  puts("{{");\n{lines}  puts("}}");\n  return 0;\n}}\n')
    program = folder / "ask"
    subprocess.check_call(["cc", "-I", str(SOURCE / "include"), str(source), "-o", str(program)])
    answer: Dict[str, int] = json.loads(subprocess.check_output([str(program)]))
    return answer


def test_every_structure_has_the_layout_of_the_header(tmp_path: Path) -> None:
    declared = declared_structures()
    assert len(declared) >= 15
    assert {name: [field[0] for field in each._fields_]
            for name, each in _abi.STRUCTURES.items()} == declared
    wanted, expected = {}, {}
    for name, structure in _abi.STRUCTURES.items():
        wanted[name] = f"sizeof(struct {name})"
        expected[name] = ctypes.sizeof(structure)
        for field in declared[name]:
            place = getattr(structure, field)
            wanted[f"{name}.{field}"] = f"offsetof(struct {name}, {field})"
            expected[f"{name}.{field}"] = place.offset
            wanted[f"{name}.{field} size"] = f"sizeof(((struct {name}*)0)->{field})"
            expected[f"{name}.{field} size"] = place.size
    assert ask_compiler(tmp_path, wanted) == expected


def test_a_wrong_layout_is_found(tmp_path: Path) -> None:
    found = ask_compiler(tmp_path, {"size": "sizeof(struct gpreempt_queue)"})["size"]

    class Shorter(ctypes.Structure):
        _fields_ = _abi.Queue._fields_[:-1]

    assert ctypes.sizeof(Shorter) != found


def test_every_constant_has_its_value(tmp_path: Path) -> None:
    names = [name for name in declared_constants() if name != "MAKE_VERSION"]
    assert len(names) >= 40
    values = ask_compiler(tmp_path, {name: f"GPREEMPT_{name}" for name in names})
    assert {name: getattr(_abi, name) for name in names} == values


def kind_of(c_type: str) -> Any:
    """How ctypes calls a type of the header."""
    if re.fullmatch(r"(const )?gpreempt_\w+\*", c_type):
        return ctypes.c_void_p
    if re.fullmatch(r"gpreempt_\w+\*\*", c_type):
        return ctypes.POINTER(ctypes.c_void_p)
    structure = re.fullmatch(r"(?:const )?struct (gpreempt_\w+)\*", c_type)
    if structure:
        return ctypes.POINTER(_abi.STRUCTURES[structure[1]])
    return {"int": ctypes.c_int, "void": None, "pid_t": ctypes.c_int, "size_t": ctypes.c_size_t,
            "ssize_t": ctypes.c_ssize_t, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
            "size_t*": ctypes.POINTER(ctypes.c_size_t), "char*": ctypes.c_char_p,
            "const char*": ctypes.c_char_p}[c_type]


def test_every_function_is_called_as_it_is_declared() -> None:
    declared = declared_functions()
    assert len(declared) >= 40
    expected = {name: [kind_of(each) for each in types] for name, types in declared.items()}
    assert {name: [result, *arguments]
            for name, (result, arguments) in _abi.FUNCTIONS.items()} == expected
