"""Whatever becomes of the program, its children or the daemon: nothing stays stopped."""

from __future__ import annotations

import os
import signal
from typing import Any, Callable

import pytest
from conftest import Daemon, Program, Victim, eventually


def test_an_exception_ends_it(daemon: Daemon, victim: Victim, program: Program) -> None:
    program.do("""
def fails():
    with gpreempt.online(required=True):
        raise ZeroDivisionError
try:
    fails()
except ZeroDivisionError as error:
    kept = error  # and its traceback with it
""".strip())
    assert daemon.comes_to(victim.pid, "running")
    assert program.do("gpreempt.status().job_of(os.getpid()).busy") is not True


def test_ctrl_c_ends_it(daemon: Daemon, victim: Victim, program: Program) -> None:
    program.say('"with gpreempt.online(): print(\\"in\\", flush=True); time.sleep(600)"')
    assert program.line() == "in"
    assert daemon.comes_to(victim.pid, "stopped")
    program.process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in program.line()
    assert daemon.comes_to(victim.pid, "running")
    assert victim.runs()


def test_interrupts_at_any_moment_leave_no_mark(daemon: Daemon, victim: Victim,
                                                program: Program) -> None:
    """Ctrl-C five hundred times, wherever it comes: in C, between two lines, in a destructor."""
    program.do("""
def interrupted(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupted)
def rounds(target):
    ends = 0
    for number in range(250):
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0001 + 0.00001 * number)
                while True:
                    with gpreempt.online(target):
                        pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            ends += 1
    return ends
""".strip())
    assert program.do("rounds(None)") == 250
    assert program.do("rounds(0.01)") == 250
    program.do("import gc; gc.collect()")
    assert eventually(lambda: program.do("gpreempt.status().job_of(os.getpid()).busy") is not True)
    assert daemon.comes_to(victim.pid, "running")
    # And it still works.
    program.do("now = gpreempt.online(required=True); now.__enter__()")
    assert daemon.comes_to(victim.pid, "stopped")
    program.do("now.__exit__(None, None, None)")
    assert daemon.comes_to(victim.pid, "running")


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 9)", "sys.exit(0)"])
def test_the_end_of_the_interpreter_ends_it(daemon: Daemon, victim: Victim,
                                            children: Callable[[Any], Any], end: str) -> None:
    program = children(Program("--gpu"))
    program.do("import sys; now = gpreempt.online(required=True); now.__enter__()")
    assert daemon.comes_to(victim.pid, "stopped")
    if "sys.exit" in end:
        program.process.stdin.close()
    else:
        program.say(f'"{end}"')
    program.process.wait()
    assert daemon.comes_to(victim.pid, "running")
    assert victim.runs()


def test_a_forked_child_leaves_the_mark_to_its_parent(daemon: Daemon, victim: Victim,
                                                      program: Program) -> None:
    child = program.do("""
with gpreempt.online(required=True):
    pid = os.fork()
    if pid != 0:
        now = gpreempt.online(required=True)
        now.__enter__()
if pid == 0:
    time.sleep(600)
pid
""".strip())
    try:
        assert daemon.comes_to(victim.pid, "stopped")
        program.do("now.__exit__(None, None, None)")
        assert daemon.comes_to(victim.pid, "running")
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_child_that_outlives_its_parent_keeps_nothing_stopped(
        daemon: Daemon, victim: Victim, children: Callable[[Any], Any]) -> None:
    program = children(Program("--gpu"))
    child = program.do("""
now = gpreempt.online(required=True)
now.__enter__()
pid = os.fork()
if pid == 0:
    time.sleep(600)
pid
""".strip())
    try:
        assert daemon.comes_to(victim.pid, "stopped")
        program.process.kill()
        program.process.wait()
        assert daemon.comes_to(victim.pid, "running")
    finally:
        os.kill(child, signal.SIGKILL)


WORKER = """
import os, gpreempt
def work(number):
    with gpreempt.online():
        return gpreempt.status().daemon_pid
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing(daemon: Daemon, victim: Victim, program: Program, method: str,
                                    tmp_path: Any) -> None:
    """In a block of the parent, each with blocks of its own."""
    (tmp_path / "worker_of_test.py").write_text(WORKER)
    program.do(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import worker_of_test")
    pids = program.do(f"""
with gpreempt.online(required=True):
    with multiprocessing.get_context({method!r}).Pool(3) as pool:
        pids = pool.map(worker_of_test.work, range(12))
    busy = gpreempt.status().job_of(os.getpid()).busy
busy, pids
""".strip())
    assert pids[0] is True and len(set(pids[1])) == 1
    assert daemon.comes_to(victim.pid, "running")
    assert program.do("gpreempt.status().job_of(os.getpid()).busy") is not True


def test_a_fork_beside_busy_threads(daemon: Daemon, victim: Victim, program: Program) -> None:
    """A lock that another thread holds at the fork does not hang the child."""
    assert program.do("""
ended = threading.Event()
def work():
    while not ended.is_set():
        with gpreempt.online():
            pass
threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads: each.start()
def forked():
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        with gpreempt.online():
            pass
        os._exit(0)
    return os.waitpid(pid, 0)[1]
statuses = [forked() for _ in range(20)]
ended.set()
for each in threads: each.join()
statuses
""".strip()) == [0] * 20
    assert daemon.comes_to(victim.pid, "running")


def test_the_daemon_dies_and_comes_back(daemon: Daemon, victim: Victim, program: Program) -> None:
    program.do("now = gpreempt.online(); now.__enter__()")
    assert daemon.comes_to(victim.pid, "stopped")
    daemon.stop()
    assert victim.runs()
    program.do("now.__exit__(None, None, None)")  # no error: there is nothing to end
    program.do("with gpreempt.online(): pass")  # goes on without
    daemon.start()
    program.do("now = gpreempt.online(required=True); now.__enter__()")
    assert daemon.comes_to(victim.pid, "stopped")
    program.do("now.__exit__(None, None, None)")
    assert daemon.comes_to(victim.pid, "running")


def test_a_long_block_is_told_to_the_next_daemon(daemon: Daemon, victim: Victim,
                                                 program: Program) -> None:
    program.do("now = gpreempt.online(); now.__enter__()")
    assert daemon.comes_to(victim.pid, "stopped")
    daemon.stop()
    daemon.start()
    # With the next request that overlaps it, a second later at the earliest.
    assert eventually(lambda: program.do("with gpreempt.online(): pass")
                      or daemon.state_of(victim.pid) == "stopped")
    program.do("now.__exit__(None, None, None)")
    assert daemon.comes_to(victim.pid, "running")


def test_a_daemon_that_is_killed_leaves_nothing_stopped(daemon: Daemon, victim: Victim,
                                                        program: Program) -> None:
    program.do("now = gpreempt.online(); now.__enter__()")
    assert daemon.comes_to(victim.pid, "stopped")
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGKILL)  # its guardian: the daemon ends in good order
    daemon.process.wait()
    daemon.process = None
    assert victim.runs()
    assert "Error" not in str(program.do("now.__exit__(None, None, None)"))
