#!/usr/bin/env python3
"""Runs the cases of one program of the corpus and compares what is reported with what is marked.

    corpus.py WEIR PROGRAM SOURCE

A case is CASE(name) in SOURCE. A line that ends in

    // @1 kernel write
    // @2 host read

is a side of the race that the racy variant makes: what accesses (kernel, copy, set, function, value,
host, allocation, free) and how (read, write, atomic, allocate, free). The number pairs the sides, 1
with 2, 3 with 4 and so on; a side may stand in a kernel or a function above the case. The repaired
variant must be reported as nothing at all, the racy one as that race and no other. A line of the case
that ends in `// SAYS regex` is about the words of its report.

`MISSED:` in a comment right above a case says that it is not found yet, and why, `ALL MISSED:` in
the first lines of the file that none of its are; a case so marked must be missed, or the mark goes.
Ends with 0 when all is as marked.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

MARK = re.compile(r"// @(\d+)(\??) (\w+) (\w+)")


class Case:
    def __init__(self, name):
        self.name, self.sides, self.missed, self.says = name, [], False, []


def read_cases(source):
    """Cases of the source, each with the marks of its function and of what stands above it."""
    cases, waiting, current, missed = [], [], None, False
    depth, all_missed = 0, False
    for number, line in enumerate(open(source, encoding="utf-8"), 1):
        all_missed |= "ALL MISSED:" in line
        if "MISSED:" in line:
            missed = True
        start = re.match(r"CASE\((\w+)\)", line)
        if start:
            current = Case(start.group(1))
            current.sides, waiting = waiting, []
            current.missed, missed = missed or all_missed, False
            cases.append(current)
        for mark in MARK.finditer(line):
            side = (number, mark.group(2) == "?", mark.group(3), mark.group(4))
            (current.sides if current else waiting).append(side)
        if current and "// SAYS " in line:
            current.says.append(line.split("// SAYS ", 1)[1].strip())
        if current:
            depth += line.count("{") - line.count("}")
            if depth == 0 and "}" in line:
                current = None
    return cases


def directive(source, name, default):
    """A line `// NAME: VALUE` of the source: which CHECK its cases are for, how many DEVICES."""
    for line in open(source, encoding="utf-8"):
        if line.startswith(f"// {name}: "):
            return line.split(": ", 1)[1].strip()
    return default


def side_is(side, mark):
    line, anywhere, kind, access = mark
    lines = {side.get(place, {}).get("line") for place in ("source", "enqueued")}
    return side["kind"] == kind and side["access"] == access and (anywhere or line in lines)


def matches(race, marks):
    a, b = race["sides"]
    if len(marks) == 1: # a place that races with itself
        return side_is(a, marks[0]) or side_is(b, marks[0])
    return any(side_is(a, x) and side_is(b, y) for i, x in enumerate(marks)
               for k, y in enumerate(marks) if i != k)


def run(weir, program, name, variant, check):
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        done = subprocess.run([weir, "run", "--check=" + check, "--report=" + report,
                               "--error-exitcode", "77", program, name, variant],
                              capture_output=True, text=True, timeout=120, check=False)
        races = json.load(open(report, encoding="utf-8")) if os.path.exists(report) else []
        status = 77 if races else 0
        wrong = None
        if done.returncode != status:
            wrong = f"status {done.returncode}, {len(races)} races: {done.stderr.strip()}"
        return races, wrong, done.stderr


def main():
    weir, program, source = sys.argv[1:4]
    check = directive(source, "CHECK", "races=streams")
    os.environ["WEIR_DEVICES"] = directive(source, "DEVICES", "1")
    failed, found, missed, false = 0, 0, 0, 0
    for case in read_cases(source):
        racy, wrong, said = run(weir, program, case.name, "racy", check)
        repaired, wrong_too, _ = run(weir, program, case.name, "repaired", check)
        hit = any(matches(r, case.sides) for r in racy)
        others = [r for r in racy if not matches(r, case.sides)]
        found, missed = found + hit, missed + (not hit)
        false += bool(others) + bool(repaired)
        faults = [w for w in (wrong, wrong_too) if w]
        if not hit and not case.missed:
            faults.append("the race is not reported")
        if not hit and not case.missed and not racy:
            faults.append("nothing is reported: " + said)
        if hit and case.missed:
            faults.append("the race is found: drop the mark MISSED")
        faults += ["not said: " + words for words in case.says
                   if not any(re.search(words, r["text"]) for r in racy)]
        faults += ["reported and not there: " + r["text"] for r in others]
        faults += ["reported though repaired: " + r["text"] for r in repaired]
        for f in faults:
            print(f"{case.name}: {f}")
        failed += bool(faults)
    print(f"{os.path.basename(source)}: {found} found, {missed} missed, {false} false")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
