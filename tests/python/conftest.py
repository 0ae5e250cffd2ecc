"""What the tests share. They run under `vgpu run` with Debian's Python
(tests/python/CMakeLists.txt); the programs that are stopped are HIP programs of tests/hip, and Python
programs of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

import gpreempt

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["GPREEMPT_BUILD"])
PATIENCE_S = 60.0  # until what must happen has not: a busy machine is slow, not wrong


def eventually(condition: Callable[[], Any]) -> bool:
    """Whether it comes true."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())


class Child:
    """A program that answers each line it is told by one line."""

    def __init__(self, words: List[str], environment: Optional[Dict[str, str]] = None) -> None:
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            env={**os.environ, **(environment or {})})
        assert self.line() == "ready"

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def ask(self, text: str) -> str:
        self.say(text)
        return self.line()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


class Victim(Child):
    """A HIP program with a kernel that counts, which can be stopped from outside."""

    def __init__(self, *options: str, cls: str = "offline", priority: Optional[int] = None) -> None:
        environment = {"GPREEMPT_CLASS": cls}
        if priority is not None:
            environment["AMD_QUEUE_PRIORITY"] = str(priority)
        super().__init__([str(BUILD / "hip/mechanism_victim"), *options], environment)

    def runs(self) -> bool:
        """Waits for progress."""
        return self.ask("progress") == "progress"

    def stands_still(self) -> bool:
        """Nothing can be waited for when the claim is that nothing happens: looks for a while."""
        before = self.ask("value")
        time.sleep(0.1)
        return self.ask("value") == before


class Program(Child):
    """A Python program that does what it is told (tests/python/program.py)."""

    def __init__(self, *options: str, environment: Optional[Dict[str, str]] = None) -> None:
        super().__init__([sys.executable, str(Path(__file__).with_name("program.py")), *options],
                         environment)

    def do(self, statement: str) -> Any:
        """What the statement, or expression, came to: its value, or the name of its exception."""
        answer = json.loads(self.ask(json.dumps(statement)))
        if isinstance(answer, dict) and "raised" in answer:
            raise AssertionError(f"{statement}: {answer['raised']}")
        return answer


class Daemon:
    """gpreemptd on a socket of its own, which everybody here finds."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "gpreemptd.sock"
        self.config = folder / "gpreemptd.toml"
        self.log = folder / "gpreemptd.log"
        self.config.write_text("")
        self.process: Optional[subprocess.Popen[bytes]] = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(BUILD / "bin/gpreemptd"), "--config", str(self.config), "--socket",
                 str(self.socket)], stderr=log, stdout=log)
        assert eventually(self.answers), self.log.read_text()

    def answers(self) -> bool:
        try:
            gpreempt.status()
        except gpreempt.GpreemptError:
            return False
        return True

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            assert self.process.wait(PATIENCE_S) == 0
            self.process = None

    def state_of(self, pid: int) -> Optional[str]:
        job = self.job_of(pid)
        return job.state if job else None

    def job_of(self, pid: int) -> Optional[gpreempt.Job]:
        try:
            return gpreempt.status().job_of(pid)
        except gpreempt.GpreemptError:
            return None  # one that is being replaced does not answer

    def has_agent(self, pid: int) -> bool:
        jobs = gpreempt.status().raw["jobs"]
        return any(process["pid"] == pid and process["agent"]
                   for job in jobs for process in job["processes"])

    def comes_to(self, pid: int, state: str) -> bool:
        return eventually(lambda: self.state_of(pid) == state)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """77 tells ctest that nothing could be tested here."""
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    if exitstatus == 0 and not reporter.stats.get("passed"):
        session.exitstatus = 77


@pytest.fixture(autouse=True)
def _socket_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody meets the daemon of the machine."""
    monkeypatch.setenv("GPREEMPT_SOCKET", str(tmp_path / "gpreemptd.sock"))


@pytest.fixture
def daemon(tmp_path: Path, _socket_of_nobody: None) -> Iterator[Daemon]:
    started = Daemon(tmp_path)
    started.start()
    yield started
    started.stop()


@pytest.fixture
def children() -> Iterator[Callable[[Any], Any]]:
    """children(child) is ended with the test."""
    all_of_them: List[Child] = []

    def keep(child: Any) -> Any:
        all_of_them.append(child)
        return child

    yield keep
    for child in all_of_them:
        child.end()


@pytest.fixture
def victim(children: Callable[[Any], Any]) -> Victim:
    started: Victim = children(Victim())
    assert started.runs()
    return started


@pytest.fixture
def program(children: Callable[[Any], Any]) -> Program:
    """With a queue on the GPU: only such a program has GPUs that online work can be on."""
    started: Program = children(Program("--gpu"))
    return started


def interrupt(process: Program) -> None:
    """Ctrl-C."""
    os.kill(process.pid, signal.SIGINT)
