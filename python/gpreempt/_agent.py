"""The agent: gpreempt's part inside GPU programs, which ROCr loads because HSA_TOOLS_LIB names it.

`gpreempt run` sets that for programs that are not changed. A Python program can do it for itself,
as long as ROCr has not started: it reads the variable at the first GPU call. Later that changes
nothing here, and the daemon stops the process from outside, where that is possible.
"""

from __future__ import annotations

import os
from typing import Optional

from ._library import library
from .errors import GpreemptError

NAME = "libgpreempt_agent.so"


def agent_path() -> Optional[str]:
    """Where it is: named by GPREEMPT_AGENT, beside the library, or installed; None: nowhere."""
    named = os.environ.get("GPREEMPT_AGENT")
    if named:
        return os.path.abspath(named)
    folder = os.path.dirname(_path_of_library())
    for place in (os.path.join(folder, NAME), os.path.join(folder, "gpreempt", NAME),
                  *(f"/usr/{where}/gpreempt/{NAME}" for where in ("local/lib", "lib", "lib64"))):
        if os.path.exists(place):
            return place
    return None


def _path_of_library() -> str:
    path = library().path
    if os.path.isabs(path):
        return os.path.realpath(path)
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            mapped = line.rstrip("\n").partition("/")[2]
            if os.path.basename(mapped).startswith("libgpreempt.so."):
                return "/" + mapped
    return path


_brought = False


def bring_agent() -> None:
    """Has ROCr load the agent when it starts, here and in the processes started from here."""
    global _brought
    if _brought:
        return
    _brought = True
    try:
        agent = agent_path()
    except (OSError, GpreemptError):
        return  # without /proc or a library: the call that follows says it
    tools = os.environ.get("HSA_TOOLS_LIB", "")
    if agent is None or NAME in tools:
        return
    quoted = "".join("\\" + c if c in ' "\\' else c for c in agent)
    os.environ["HSA_TOOLS_LIB"] = f"{tools} {quoted}".strip()


def describe(cls: str, tag: Optional[str], job: Optional[str]) -> None:
    """What the agent says of this process, and of those started from here, to every daemon."""
    for name, value in (("GPREEMPT_CLASS", cls), ("GPREEMPT_TAG", tag), ("GPREEMPT_JOB", job)):
        if value:
            os.environ[name] = value
