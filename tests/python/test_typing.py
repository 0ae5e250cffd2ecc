"""mypy --strict has nothing to say, for the oldest Python there is support for."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, SOURCE


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="no mypy (apt: mypy)")
def test_the_package_is_typed() -> None:
    words = [sys.executable, "-m", "mypy", "--config-file", str(SOURCE / "python/pyproject.toml"),
             "--cache-dir", str(BUILD / "python/mypy"), str(SOURCE / "python/gpreempt")]
    ended = subprocess.run(words, check=False, text=True, capture_output=True,
                           cwd=SOURCE / "python")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert Path(SOURCE / "python/gpreempt/py.typed").exists()
