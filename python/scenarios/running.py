"""What the scenarios share: where gpreempt's programs are, and `gpreempt bench` under old names."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from typing import List, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.normpath(os.path.join(HERE, "../.."))
if os.path.isdir(os.path.join(SOURCE, "python/gpreempt")):  # not installed: for children, too
    sys.path.insert(0, os.path.join(SOURCE, "python"))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [os.path.join(SOURCE, "python"), *filter(None, [os.environ.get("PYTHONPATH")])])
    BUILT = os.path.join(SOURCE, "build/lib/libgpreempt.so.0")
    if os.path.exists(BUILT):
        os.environ.setdefault("GPREEMPT_LIBRARY", BUILT)


def program(name: str) -> str:
    """The path of gpreempt, gpreemptd or vgpu: $GPREEMPT_BIN, what was built here, or in PATH."""
    for folder in (os.environ.get("GPREEMPT_BIN"), os.path.join(SOURCE, "build/bin")):
        if folder and os.access(os.path.join(folder, name), os.X_OK):
            return os.path.join(folder, name)
    found = shutil.which(name)
    if found is None:
        sys.exit(f"{name} was not found\n"
                 "hint: make build, or install gpreempt; GPREEMPT_BIN names its folder")
    return found


def arguments(doc: str, name: str) -> argparse.ArgumentParser:
    """The options that all of them have."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="seconds rather than minutes")
    parser.add_argument("--output", default=f"gpreempt-{name}", metavar="FOLDER",
                        help="for results.json and report.html")
    parser.add_argument("--virtual-gpu", action="store_true", help="even if there is a GPU")
    return parser


def bench_words(options: argparse.Namespace, scenarios: Sequence[str], duration: str) -> List[str]:
    """How `gpreempt bench` is called; `duration`: of the long form, "" is its own."""
    words = [program("gpreempt"), "bench", *scenarios, "--output", options.output]
    if options.virtual_gpu:
        words.append("--virtual-gpu")
    if not options.quick:
        words.append("--full")
        if duration:
            words += ["--duration", duration]
    return words


def bench(doc: str, name: str, scenarios: Sequence[str], duration: str = "") -> None:
    """Runs scenarios of `gpreempt bench`; its exit status is ours."""
    options = arguments(doc, name).parse_args()
    sys.exit(subprocess.call(bench_words(options, scenarios, duration)))
