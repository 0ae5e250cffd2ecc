"""The wheel: one for all Pythons that there are here, with a library of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import List

import pytest
from conftest import BUILD, SOURCE, Victim

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("setuptools") is None or importlib.util.find_spec("wheel") is None,
    reason="no setuptools and wheel (apt: python3-setuptools python3-wheel)")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    made = subprocess.check_output([str(SOURCE / "scripts/wheel"), "--build", str(BUILD),
                                    "--output", str(folder)], text=True)
    return Path(made.strip())


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """Unpacked, which is all that installing does."""
    folder = wheel.parent / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def pythons() -> List[str]:
    """Those of 3.9 and newer: Debian's, and what pyenv has."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [sys.executable, *map(str, sorted(versions.glob("3.*/bin/python3")))]
    return [each for each in found
            if not re.search(r"/3\.[0-8]\.", each) and os.access(each, os.X_OK)]


def run(python: str, installed: Path, statement: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("GPREEMPT_LIBRARY", "GPREEMPT_AGENT")}
    return subprocess.run([python, "-c", statement], check=False, text=True, capture_output=True,
                          env={**environment, "PYTHONPATH": str(installed)})


def test_it_is_for_every_python_and_has_all_it_needs(wheel: Path) -> None:
    assert re.fullmatch(r"gpreempt-[\d.]+-py3-none-(manylinux_2_28|linux)_x86_64\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    expected = {f"gpreempt/{path.name}" for path in (SOURCE / "python/gpreempt").glob("*.py")}
    assert expected | {"gpreempt/py.typed", "gpreempt/lib/libgpreempt.so.0"} <= names
    assert not [name for name in names if "pycache" in name]


def test_the_same_commit_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    subprocess.check_call([str(SOURCE / "scripts/wheel"), "--build", str(BUILD), "--output",
                           str(tmp_path)], stdout=subprocess.DEVNULL)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize("python", pythons())
def test_it_works_with(python: str, installed: Path) -> None:
    ended = run(python, installed, """
import asyncio, warnings, gpreempt, gpreempt.torch, gpreempt.report
warnings.simplefilter("ignore")
@gpreempt.online()
async def answer():
    return 42
assert asyncio.run(answer()) == 42
assert gpreempt.library_version() == gpreempt.__version__
assert len(gpreempt.nodes()) == 1 and len(gpreempt.mechanisms()) >= 7
print(gpreempt.library_path())
""")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == str(installed / "gpreempt/lib/libgpreempt.so.0")


def test_its_library_stops_and_resumes(installed: Path, victim: Victim) -> None:
    ended = run(sys.executable, installed, f"""
import gpreempt
with gpreempt.suspend({victim.pid}, for_=60) as stop:
    assert stop.state == "held"
""")
    assert ended.returncode == 0, ended.stderr
    assert victim.runs()
