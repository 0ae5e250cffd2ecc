#!/usr/bin/env python3
"""A BERT-like server beside a trainer: alone, together without gpreempt, and together with it.

The programs are those of examples/python: through HIP, with every answer and every weight compared
with NumPy's; with --torch those in PyTorch, on real hardware. Without a GPU it starts a virtual
one. Writes results.json and report.html as `gpreempt demo` does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Optional, Tuple

from running import SOURCE, arguments, program

import gpreempt
from gpreempt import report

EXAMPLES = os.path.join(SOURCE, "examples/python")


def is_virtual() -> bool:
    """This runs under `vgpu run`."""
    return "libvgpu" in os.environ.get("LD_PRELOAD", "")


def words(options: argparse.Namespace, name: str) -> List[str]:
    """How server or trainer is called."""
    prefix = "torch_" if options.torch else ""
    call = [sys.executable, "-W", "ignore::UserWarning",
            os.path.join(EXAMPLES, f"{prefix}{name}.py")]
    if name == "server":
        requests = int(options.seconds / options.interval)
        call += ["--model", "bert", "--requests", str(requests),
                 "--interval", str(options.interval)]
        return call if options.torch else call + ["--check"]
    return call + (["--epochs", str(options.epochs)] if options.torch else
                   ["--seconds", str(options.seconds), "--batch", "32"])


def run(options: argparse.Namespace, names: Tuple[str, ...], socket: str) -> Dict[str, Any]:
    """What the programs say at their end."""
    environment = {**os.environ, "GPREEMPT_SOCKET": socket}
    said: Dict[str, Any] = {}
    begun: Dict[str, subprocess.Popen[str]] = {}
    try:
        for name in names:
            begun[name] = subprocess.Popen(words(options, name), stdout=subprocess.PIPE, text=True,
                                           env=environment)
        for name in reversed(names):  # the server ends first, and the trainer is still there
            output = begun[name].communicate()[0]
            if begun[name].returncode != 0:
                sys.exit(f"the {name} failed")
            said[name] = json.loads(output.splitlines()[-1])
            said.setdefault("preemptions", preemptions())
    finally:
        for process in begun.values():
            process.kill()
            process.wait()
    return said


def phase(name: str, said: Dict[str, Any], duration: float, preemptions: int) -> Dict[str, Any]:
    """As results.json has it."""
    server, trainer = said.get("server", {}), said.get("trainer", {})
    latencies = server.get("latency_ms", [])
    exact = [each["exact"] for each in (server, trainer) if each.get("exact") is not None]
    return report.phase(name, duration, latencies, server.get("arrival_ms", [0.0] * len(latencies)),
                        steps_per_s=trainer.get("steps_per_s"), preemptions=preemptions,
                        checksum_ok=all(exact) if exact else None)


def answers() -> bool:
    """gpreemptd is there."""
    try:
        gpreempt.status()
    except gpreempt.DaemonNotRunning:
        return False
    return True


def preemptions() -> int:
    """Of all jobs that gpreemptd knows; 0 without one."""
    return sum(job.preemptions for job in gpreempt.status().jobs) if answers() else 0


def measure(options: argparse.Namespace, folder: str) -> List[Dict[str, Any]]:
    """The four phases."""
    nobody, socket = os.path.join(folder, "nobody.sock"), os.path.join(folder, "gp.sock")
    phases = []
    os.environ["GPREEMPT_SOCKET"] = nobody
    for name, programs in (("online-alone", ("server",)), ("offline-alone", ("trainer",)),
                           ("both-without", ("trainer", "server"))):
        begun = time.monotonic()
        said = run(options, programs, nobody)
        phases.append(phase(name, said, time.monotonic() - begun, 0))
    os.environ["GPREEMPT_SOCKET"] = socket
    with subprocess.Popen([program("gpreemptd"), "--socket", socket, "--log", "error"]) as daemon:
        try:
            while daemon.poll() is None and not answers():
                time.sleep(0.01)
            begun = time.monotonic()
            said = run(options, ("trainer", "server"), socket)
            phases.append(phase("both-with", said, time.monotonic() - begun, said["preemptions"]))
        finally:
            daemon.terminate()
    return phases


def judged(phases: List[Dict[str, Any]], virtual: bool) -> List[Dict[str, Any]]:
    """What must hold: results always; times are shown."""
    exact = [each["checksum_ok"] for each in phases if each["checksum_ok"] is not None]
    criteria = [report.criterion("real-ai-models", "answers and weights are exact",
                                 float(all(exact)), 1, at_least=True)] if exact else []

    def p50(name: str) -> Optional[float]:
        latencies = next(each for each in phases if each["name"] == name)["online_latency_ms"]
        return sorted(latencies)[len(latencies) // 2] if latencies else None

    with_it, alone = p50("both-with"), p50("online-alone")
    factor = with_it / alone if with_it and alone else None
    criteria.append(report.criterion("real-ai-models", "p50 beside the trainer over that alone",
                                     factor, 3, "x", unjudged="emulated" if virtual else None))
    return criteria


def main() -> int:
    parser = arguments(__doc__ or "", "test_real_ai_models")
    parser.add_argument("--torch", action="store_true", help="the programs in PyTorch")
    parser.add_argument("--interval", type=float, default=0.1, help="seconds between requests")
    options = parser.parse_args()
    if not is_virtual() and (options.virtual_gpu or not os.path.exists("/dev/kfd")):
        vgpu = program("vgpu")
        os.execv(vgpu, [vgpu, "run", "--", sys.executable, *sys.argv])
    options.seconds, options.epochs = (1.0, 1) if options.quick else (60.0, 30)
    with tempfile.TemporaryDirectory() as folder:
        phases = measure(options, folder)
    device = ", ".join(node.name or node.gfx for node in gpreempt.nodes())
    machine = report.environment(" ".join(sys.argv), is_virtual(),
                                 f"virtual GPU ({device})" if is_virtual() else device)
    results = report.make(machine, phases, judged(phases, is_virtual()))
    results.save(options.output)
    print(results)
    subprocess.call([program("gpreempt"), "report", options.output])
    return 1 if any(report.verdict(each) == "missed" for each in results.criteria) else 0


if __name__ == "__main__":
    sys.exit(main())
