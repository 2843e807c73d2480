#!/usr/bin/env python3
"""Runs the whole corpus and prints what was found, missed and falsely reported, by kind.

    table.py WEIR BUILD

BUILD is the build directory. Of the corpus of races each case is a pair, racy and repaired. Of the
other checks (tests/checks) a case is a program with what must be found in it, or a clean one.
Ends with 0 when nothing is missed and nothing false.
"""
import glob
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKS = os.path.join(HERE, "..", "checks")
sys.path += [HERE, CHECKS]
import corpus
import findings

KINDS = {
    "streams": "kernels, copies and sets in two streams", "events": "events",
    "processes": "events that processes share",
    "default_streams": "default streams, synchronous calls", "devices": "several devices",
    "host": "the host's accesses", "callbacks": "host functions", "host_order": "host functions and locks of the host",
    "released": "memory of the host that is given back",
    "pools": "stream-ordered memory", "graphs": "graphs and captured streams",
    "words": "stream memory operations", "cdp": "launches by kernels, against others",
    "cdp_order": "launches by kernels, among each other",
    "cdp_copies": "copies and sets by kernels",
    "cdp_graphs": "graphs that kernels launch",
    "flags": "flags: volatile, release and acquire",
    "cdp_wait": "kernels that wait for what they launch",
    "threads": "threads of kernels, against other streams",
    "shapes": "kernels that go through memory in other ways",
    "shared": "shared memory of a block", "blocks": "global memory of threads and blocks",
    "heap": "memory that kernels allocate", "cooperative": "grids, clusters, barrier objects, copies",
}


def of_races(weir, program, source):
    """Pairs, races found and missed, cases with a false report."""
    check = corpus.directive(source, "CHECK", "races=streams")
    os.environ["WEIR_DEVICES"] = corpus.directive(source, "DEVICES", "1")
    pairs, found, false = 0, 0, 0
    for case in corpus.read_cases(source):
        racy, _, _ = corpus.run(weir, program, case.name, "racy", check)
        repaired, _, _ = corpus.run(weir, program, case.name, "repaired", check)
        pairs += 1
        found += any(corpus.matches(r, case.sides) for r in racy)
        false += bool(repaired) or any(not corpus.matches(r, case.sides) for r in racy)
    os.environ.pop("WEIR_DEVICES")
    return pairs, found, pairs - found, false


def of_checks(weir, program, source):
    """Cases, findings that came and that did not, findings that are not expected."""
    check, cases = findings.read_cases(source)
    found, missed, false = 0, 0, 0
    for name, expected in cases.items():
        _, told = findings.run(weir, check, program, name)
        left = list(told)
        for text in expected:
            hit = next((f for f in left if re.search(text, f["text"])), None)
            found, missed = found + (hit is not None), missed + (hit is None)
            if hit is not None:
                left.remove(hit)
        false += len(left)
    return len(cases), found, missed, false, check


def row(name, values, total):
    print(f"| {name} | " + " | ".join(str(v) for v in values) + " |", flush=True)
    return [a + b for a, b in zip(total, values)]


def main():
    weir, build = sys.argv[1:]
    wrong = 0
    print("| races: order between | pairs | found | missed | false |\n| --- | ---: | ---: | ---: | ---: |")
    total = [0, 0, 0, 0]
    names = {os.path.basename(path)[:-3] for path in glob.glob(os.path.join(HERE, "*.cu"))}
    for name in [k for k in KINDS if k in names] + sorted(names - set(KINDS)):
        source = os.path.join(HERE, name + ".cu")
        total = row(KINDS.get(name, name),
                    of_races(weir, os.path.join(build, "tests/races", name), source), total)
    row("all", total, total)
    wrong += total[2] + total[3]
    print("\n| other checks | cases | found | missed | false |\n| --- | ---: | ---: | ---: | ---: |")
    total = [0, 0, 0, 0]
    for source in sorted(glob.glob(os.path.join(CHECKS, "*.cu"))):
        name = os.path.basename(source)[:-3]
        *values, check = of_checks(weir, os.path.join(build, "tests/checks", name), source)
        total = row(f"`--check={check}`: {name}", values, total)
    row("all", total, total)
    return wrong + total[2] + total[3] != 0


if __name__ == "__main__":
    sys.exit(main())
