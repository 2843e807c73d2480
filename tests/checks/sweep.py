#!/usr/bin/env python3
"""Runs ordinary programs under every check and compares what is reported with what is known.

    sweep.py WEIR KNOWN DIRECTORY [--check=NAME ...] [--only=TEXT] [--limit=SECONDS] [--jobs=N]

Every executable file below DIRECTORY runs once for each check (calls, leaks, sync, memory, init,
races). A program that is right must be reported as nothing; what one does on purpose stands in the
file KNOWN, a line for each program and check, with the reason:

    errors/copies calls  # calls that fail on purpose

A report that KNOWN does not name is a failure, and so is a line of KNOWN of which nothing came. A
program that takes longer than the limit is named and not compared: checks may take 50 times a
program's time. How a program itself ends is not looked at, as some of them look at the clock.

Ends with 0 when all is as known.
"""
import argparse
import json
import multiprocessing.pool
import os
import subprocess
import sys
import tempfile

CHECKS = ["calls", "leaks", "sync", "memory", "init", "races"]


def known_of(path):
    """{(program, check)} that the file names."""
    known = set()
    for line in open(path, encoding="utf-8"):
        words = line.split("#")[0].split()
        if words:
            for check in words[1].split(","):
                known.add((words[0], check))
    return known


def programs_of(directory):
    for where, _, files in sorted(os.walk(directory)):
        for name in sorted(files):
            path = os.path.join(where, name)
            if os.access(path, os.X_OK) and "." not in name:
                yield os.path.relpath(path, directory), path


def run(job):
    """(name, check, findings of that check); None for those of a program that took too long."""
    weir, name, path, check, limit = job
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        command = [weir, "run", "--check=" + check, "--report=" + report,
                   "--log=" + os.path.join(work, "log"), path]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, cwd=work, start_new_session=True)
        try:
            child.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            child.wait()
            return name, check, None
        try:
            found = json.load(open(report, encoding="utf-8"))
        except (OSError, ValueError):
            found = []
    return name, check, [f for f in found if f["check"] == check]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("weir")
    args.add_argument("known")
    args.add_argument("directory")
    args.add_argument("--check", action="append")
    args.add_argument("--only", default="")
    args.add_argument("--limit", type=int, default=300)
    args.add_argument("--jobs", type=int, default=os.cpu_count())
    args = args.parse_args()
    known, failed, slow, ran, reported = known_of(args.known), 0, 0, 0, 0
    jobs = [(os.path.abspath(args.weir), name, os.path.abspath(path), check, args.limit)
            for check in args.check or CHECKS
            for name, path in programs_of(args.directory) if args.only in name]
    with multiprocessing.pool.ThreadPool(args.jobs) as pool:
        for name, check, found in pool.imap(run, jobs):
            ran += 1
            if found is None:
                slow += 1
                print(f"{name} {check}: longer than {args.limit} s, not compared")
                continue
            reported += bool(found)
            if bool(found) == ((name, check) in known):
                continue
            failed += 1
            print(f"{name} {check}: {len(found)} reported" if found else
                  f"{name} {check}: known, and not reported")
            for f in found[:5]:
                print("    " + f["text"].strip().replace("\n", "\n    "))
            sys.stdout.flush()
    print(f"{ran} runs, {reported} with reports, {slow} too long, {failed} not as known")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
