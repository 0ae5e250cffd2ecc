#!/usr/bin/env python3
"""Runs one program and judges it: its exit status, and what it must have said.

    run_program.py [--status N] [--output REGEX] -- COMMAND...

A status above 128 is also what a shell would show for a signal, so 134 means abort(). Status 77
(the program cannot run here) is passed on; ctest shows it as skipped.
"""
import argparse
import re
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--status", type=int, default=0)
    parser.add_argument("--output", default="")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    command = args.command[1:] if args.command[0] == "--" else args.command

    # Programs may leave files (comgr's, core dumps): not in the source tree.
    with tempfile.TemporaryDirectory(prefix="gpreempt-test-") as directory:
        result = subprocess.run(command, cwd=directory, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="replace")
    sys.stdout.write(result.stdout)
    status = result.returncode if result.returncode >= 0 else 128 - result.returncode
    if status == 77 and args.status != 77:
        return 77
    if status != args.status:
        print(f"run_program: exit status {status}, expected {args.status}")
        return 1
    if args.output and not re.search(args.output, result.stdout):
        print(f"run_program: the output does not match /{args.output}/")
        return 1
    return 0


sys.exit(main())
