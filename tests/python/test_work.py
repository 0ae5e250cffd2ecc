"""online() and offline(), told to a gpreemptd of the test's own."""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import Any, Callable

import pytest
from conftest import BUILD, Daemon, Program, Victim, eventually

import gpreempt


def test_offline_work_stops_within_the_block(daemon: Daemon, victim: Victim,
                                             program: Program) -> None:
    program.do("now = gpreempt.online(required=True); now.__enter__()")
    assert daemon.comes_to(victim.pid, "stopped")
    assert victim.stands_still()
    job = daemon.job_of(program.pid)
    assert job is not None and job.cls == "online" and job.busy is True
    program.do("now.__exit__(None, None, None)")
    assert daemon.comes_to(victim.pid, "running")
    assert victim.runs()


def test_blocks_nest_and_the_last_one_ends_it(daemon: Daemon, victim: Victim,
                                              program: Program) -> None:
    program.do("outer, inner = gpreempt.online(), gpreempt.online(latency_target=0.02)")
    for each in ("outer", "inner", "outer"):
        program.do(f"{each}.__enter__()")
    program.do("outer.__exit__(None, None, None); outer.__exit__(None, None, None)")
    assert daemon.comes_to(victim.pid, "stopped")
    program.do("inner.__exit__(None, None, None)")
    assert daemon.comes_to(victim.pid, "running")


def test_a_decorated_function_is_online_while_it_runs(daemon: Daemon, victim: Victim,
                                                      program: Program) -> None:
    program.do("""
@gpreempt.online(required=True)
def answer(x, twice=1):
    'Of a request.'
    return (gpreempt.status().job_of(os.getpid()).busy, x * twice)
""".strip())
    assert program.do("answer(4, twice=2)") == [True, 8]
    assert program.do("answer.__doc__, answer.__name__") == ["Of a request.", "answer"]
    assert daemon.comes_to(victim.pid, "running")


def test_coroutines_and_async_blocks(daemon: Daemon, victim: Victim, program: Program) -> None:
    program.do("""
@gpreempt.online(required=True)
async def answer(x):
    await asyncio.sleep(0.01)
    return gpreempt.status().job_of(os.getpid()).busy
async def both():
    async with gpreempt.online(required=True):
        return await asyncio.gather(*(answer(x) for x in range(50)))
""".strip())
    assert program.do("asyncio.run(both())") == [True] * 50
    assert program.do("asyncio.run(answer(1))") is True
    assert daemon.comes_to(victim.pid, "running")


def test_a_cancelled_task_leaves_no_mark(daemon: Daemon, victim: Victim, program: Program) -> None:
    program.do("""
async def forever():
    async with gpreempt.online():
        await asyncio.sleep(600)
async def cancelled():
    task = asyncio.ensure_future(forever())
    await asyncio.sleep(0.05)
    task.cancel()
    return str(await asyncio.gather(task, return_exceptions=True))
""".strip())
    assert "CancelledError" in program.do("asyncio.run(cancelled())")
    assert daemon.comes_to(victim.pid, "running")
    assert victim.runs()


def test_many_threads_at_once(daemon: Daemon, victim: Victim, program: Program) -> None:
    program.do("""
def work(number):
    for _ in range(20):
        with gpreempt.online(latency_target=0.05 if number % 2 else None):
            pass
threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
for each in threads: each.start()
for each in threads: each.join()
""".strip())
    assert daemon.comes_to(victim.pid, "running")
    assert program.do("gpreempt.status().job_of(os.getpid()).busy") is not True


def test_offline_makes_a_process_one_that_can_be_stopped(daemon: Daemon, program: Program,
                                                         children: Callable[[Any], Any]) -> None:
    trainer = children(Program())
    trainer.do("job = gpreempt.offline(tag='training', job='resnet', required=True)")
    trainer.do("create_queue()")  # brings the agent along
    assert eventually(lambda: daemon.has_agent(trainer.pid))
    job = daemon.job_of(trainer.pid)
    assert job is not None and (job.cls, job.job) == ("offline", "resnet")
    program.do("now = gpreempt.online(required=True); now.__enter__()")
    assert daemon.comes_to(trainer.pid, "stopped")
    job = daemon.job_of(trainer.pid)
    assert job is not None and job.mechanism == "self-debug"  # by the agent
    program.do("now.__exit__(None, None, None)")
    assert daemon.comes_to(trainer.pid, "running")
    trainer.do("job.__exit__(None, None, None)")
    job = daemon.job_of(trainer.pid)
    assert job is not None and job.cls == "normal"


def test_the_agent_is_appended_to_other_tools(children: Callable[[Any], Any]) -> None:
    child = children(Program(environment={"HSA_TOOLS_LIB": "libother.so"}))
    child.do("gpreempt.offline(tag='t')")
    assert child.do("os.environ['HSA_TOOLS_LIB']") == \
        f"libother.so {BUILD / 'lib/libgpreempt_agent.so'}"
    assert child.do("os.environ['GPREEMPT_CLASS'], os.environ['GPREEMPT_TAG']") == ["offline", "t"]


def test_without_a_daemon_the_program_goes_on_and_hears_of_it_once(
        recwarn: pytest.WarningsRecorder) -> None:
    async def answer() -> int:
        async with gpreempt.online():
            return 42

    from gpreempt import _marks

    _marks._process.has_warned = False
    with gpreempt.online():
        pass
    assert asyncio.run(answer()) == 42
    with gpreempt.offline():
        pass
    said = [warning for warning in recwarn if warning.category is gpreempt.GpreemptWarning]
    assert len(said) == 1
    assert "gpreemptd is not running" in str(said[0].message)
    assert said[0].filename == __file__


def test_without_a_daemon_who_needs_one_is_told() -> None:
    with pytest.raises(gpreempt.DaemonNotRunning, match="is gpreemptd running"):
        with gpreempt.online(required=True):
            raise AssertionError("entered")
    with pytest.raises(gpreempt.DaemonNotRunning):
        gpreempt.offline(required=True)


@pytest.mark.parametrize("target", [0, -1, float("nan")])
def test_a_latency_target_is_a_time(target: float) -> None:
    with pytest.raises(ValueError, match="latency_target"):
        gpreempt.online(latency_target=target)


def test_the_daemon_refuses_in_words(daemon: Daemon) -> None:
    with pytest.raises(gpreempt.GpreemptError, match="has no GPU queues"):
        gpreempt.set_job(pid=1, cls="offline")
    with pytest.raises(gpreempt.GpreemptError, match="at most 63 bytes"):
        gpreempt.set_job(job="x" * 64)


def test_status_has_all_that_the_command_prints(daemon: Daemon, victim: Victim) -> None:

    assert daemon.comes_to(victim.pid, "running")
    status = gpreempt.status()
    printed = json.loads(subprocess.check_output([str(BUILD / "bin/gpreempt"), "status", "--json"]))
    assert set(status.raw) == set(printed)
    assert status.daemon_pid == printed["daemon_pid"]
    assert status.job_of(victim.pid) is not None and status.job_of(1) is None
    assert f"gpreemptd (pid {status.daemon_pid})" in str(status)
    assert "<table>" in status._repr_html_() and "offline" in status._repr_html_()
