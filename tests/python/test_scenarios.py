"""The scenarios of the first plan by their names, and the examples, on the virtual GPU."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from conftest import BUILD, SOURCE, Daemon, Victim, eventually

from gpreempt import report

SCENARIOS = SOURCE / "python/scenarios"
EXAMPLES = SOURCE / "examples/python"
needs_numpy = pytest.mark.skipif(importlib.util.find_spec("numpy") is None,
                                 reason="no NumPy (apt: python3-numpy)")


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], check=False, text=True, capture_output=True,
                          env={**os.environ, "GPREEMPT_BIN": str(BUILD / "bin"), **environment})


@pytest.mark.parametrize("name, words", [
    ("test_basic_preemption", ["basic"]), ("test_frequent", ["frequent"]), ("test_edge", ["edge"]),
    ("test_latency", ["latency"]), ("test_throughput", ["throughput", "--duration", "5min"]),
    ("test_stability", ["stability"]), ("test_stress", ["stress", "--duration", "10min"]),
    ("test_batch_unmap", ["schemes"])])
def test_a_scenario_is_one_of_gpreempt_bench(tmp_path: Path, name: str, words: List[str]) -> None:
    known = subprocess.check_output([str(BUILD / "bin/gpreempt"), "bench", "--list"], text=True)
    assert words[0] in [line.split()[0] for line in known.splitlines()]
    called = tmp_path / "gpreempt"
    called.write_text('#!/bin/sh\necho "$@"\nexit 7\n')
    called.chmod(0o755)
    script = str(SCENARIOS / f"{name}.py")
    full = run(script, "--output", "there", GPREEMPT_BIN=str(tmp_path))
    quick = run(script, "--quick", "--virtual-gpu", GPREEMPT_BIN=str(tmp_path))
    assert (full.returncode, quick.returncode) == (7, 7)
    assert full.stdout.split() == ["bench", words[0], "--output", "there", "--full", *words[1:]]
    assert quick.stdout.split() == ["bench", words[0], "--output", f"gpreempt-{name}",
                                    "--virtual-gpu"]


@needs_numpy
def test_models_beside_each_other_are_exact(tmp_path: Path) -> None:
    ended = run(str(SCENARIOS / "test_real_ai_models.py"), "--quick", "--output", str(tmp_path))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    phases = {each["name"]: each for each in report.load(str(tmp_path)).phases}
    assert list(phases) == ["online-alone", "offline-alone", "both-without", "both-with"]
    assert all(each["checksum_ok"] is True for each in phases.values())
    assert phases["both-with"]["preemptions"] > 0
    assert (tmp_path / "report.html").exists()

    final = run(str(SCENARIOS / "generate_final_report.py"), str(tmp_path), str(tmp_path),
                "--output", str(tmp_path / "final.html"))
    assert final.returncode == 0, final.stderr
    assert "both-with: latency p50" in (tmp_path / "final.html").read_text()


@needs_numpy
def test_the_server_answers_others_and_stops_offline_work(daemon: Daemon, victim: Victim,
                                                          tmp_path: Path) -> None:
    place = str(tmp_path / "server.sock")
    server = subprocess.Popen([sys.executable, str(EXAMPLES / "server.py"), "--model", "resnet",
                               "--batch", "2", "--listen", place, "--check"])
    try:
        assert eventually(lambda: os.path.exists(place))
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(place)
            client.sendall(b"1\n2\n1\n")
            answers = [json.loads(line) for _, line in zip(range(3), client.makefile())]
        assert answers[0] == answers[2] != answers[1]
        job = daemon.job_of(victim.pid)
        assert job is not None and job.preemptions > 0
        assert daemon.comes_to(victim.pid, "running")
    finally:
        server.kill()
        server.wait()


def test_the_wrappers_count(daemon: Daemon) -> None:
    statement = """
import sys
sys.path.insert(0, %r)
from ai_model_wrapper import OfflineAIModel, OnlineAIModel
online = OnlineAIModel(lambda x: x + 1)
assert [online.infer(x) for x in range(3)] == [1, 2, 3] and online.latency.count == 3
seen = []
offline = OfflineAIModel(seen.append)
offline.train(2); offline.train(1)
assert seen == [0, 1, 2] and offline.steps_per_s > 0
"""
    ended = run("-c", statement % str(SCENARIOS))
    assert ended.returncode == 0, ended.stderr
