#!/usr/bin/env python3
"""Which tests there are and what they cost, from the labels and the cost data of a CTest run.

usage: seconds.py BUILD [--slowest N]

Prints a table by label: how many tests, their seconds in all, the longest one. Seconds are those of
the run that BUILD has seen last; a test that has not run there counts as 0. A test with several
labels counts for each of them."""
import json
import os
import subprocess
import sys


def costs(build):
    """Seconds by name, from what CTest keeps to start long tests first."""
    path = os.path.join(build, "Testing", "Temporary", "CTestCostData.txt")
    found = {}
    if os.path.exists(path):
        for line in open(path):
            words = line.split()
            if len(words) == 3:
                found[words[0]] = float(words[2])
    return found


def labels(build):
    """Labels by name, as CTest knows them."""
    out = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                         check=True, capture_output=True, text=True).stdout
    found = {}
    for test in json.loads(out[out.index("{"):])["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        found[test["name"]] = properties.get("LABELS", []) or ["none"]
    return found


def main():
    build = sys.argv[1]
    seconds, known = costs(build), labels(build)
    if "--slowest" in sys.argv:
        count = int(sys.argv[sys.argv.index("--slowest") + 1])
        for name in sorted(known, key=lambda n: -seconds.get(n, 0))[:count]:
            print(f"{seconds.get(name, 0):7.1f}  {name}")
        return
    rows = {}
    for name, its in known.items():
        for label in its:
            rows.setdefault(label, []).append((seconds.get(name, 0), name))
    print("| label | tests | seconds | longest |\n|---|---|---|---|")
    for label, tests in sorted(rows.items()):
        longest = max(tests)
        print(f"| {label} | {len(tests)} | {sum(t[0] for t in tests):.0f} "
              f"| {longest[1]} ({longest[0]:.0f}) |")


main()
