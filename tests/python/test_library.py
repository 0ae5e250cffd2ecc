"""Finding the library, and refusing what is none; importing the package does nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SOURCE

import gpreempt

PYTHON = SOURCE / "python"


def said(statement: str, library: str, **environment: str) -> str:
    """What a fresh interpreter says of it."""
    words = [sys.executable, "-c", f"import gpreempt\n{statement}"]
    return subprocess.run(words, env={"PYTHONPATH": str(PYTHON), "GPREEMPT_LIBRARY": library,
                                      "PATH": "/usr/bin:/bin", **environment},
                          check=False, text=True, capture_output=True).stderr


def test_import_has_no_side_effects() -> None:
    statement = """
import os, sys, threading
before = dict(os.environ), list(os.listdir('/proc/self/fd')), sys.modules.get('torch')
import gpreempt
after = dict(os.environ), list(os.listdir('/proc/self/fd')), sys.modules.get('torch')
assert before == after and threading.active_count() == 1
assert 'libgpreempt' not in open('/proc/self/maps').read()
"""
    subprocess.run([sys.executable, "-c", statement], check=True,
                   env={"PYTHONPATH": str(PYTHON), "GPREEMPT_LIBRARY": "/nowhere"})


def test_a_library_that_is_not_there_is_named() -> None:
    text = said("gpreempt.status()", "/nowhere/libgpreempt.so.0")
    assert "LibraryError: libgpreempt.so.0 was not found; tried" in text
    assert "/nowhere/libgpreempt.so.0: not there" in text
    assert "hint: install gpreempt" in text


def test_all_places_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpreempt import _library

    monkeypatch.delenv("GPREEMPT_LIBRARY")
    monkeypatch.setattr(_library, "NAME", "libgpreempt_of_nobody.so.0")
    with pytest.raises(gpreempt.LibraryError) as raised:
        _library._load()
    for place in _library.places():
        assert f"{place}: " in raised.value.text
    assert str(PYTHON / "gpreempt/lib/libgpreempt_of_nobody.so.0") in raised.value.text


def test_a_library_of_something_else_is_refused() -> None:
    text = said("gpreempt.queues()", "libc.so.6")
    assert "LibraryError: libc.so.6 has no function gpreempt_version" in text


def made(folder: Path, code: str) -> str:
    (folder / "fake.c").write_text(code)
    library = folder / "libgpreempt.so.0"
    subprocess.check_call(["cc", "-shared", "-fPIC", str(folder / "fake.c"), "-o", str(library)])
    return str(library)


def test_another_version_is_refused(tmp_path: Path) -> None:
    library = made(tmp_path, "unsigned gpreempt_version(void) { return 7u << 16 | 3u << 8; }")
    text = said("gpreempt.queues()", library)
    assert f"LibraryError: {library} is version 7.3, this Python package needs 0.1" in text
    assert "hint: install both of one release" in text


def test_an_older_one_of_this_version_is_refused(tmp_path: Path) -> None:
    library = made(tmp_path, "unsigned gpreempt_version(void) { return 1u << 8; }")
    assert "has no function gpreempt_version_text: it is older" in said("gpreempt.nodes()", library)


def test_package_and_library_are_of_one_version() -> None:
    assert gpreempt.library_version() == gpreempt.__version__
    project = (SOURCE / "CMakeLists.txt").read_text()
    assert f"project(gpreempt VERSION {gpreempt.__version__} " in project


def test_what_has_no_daemon_says_what_to_do() -> None:
    with pytest.raises(gpreempt.DaemonNotRunning, match="gpreemptd") as raised:
        gpreempt.status()
    assert "is gpreemptd running?" in raised.value.hint
