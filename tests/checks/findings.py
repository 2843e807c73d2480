#!/usr/bin/env python3
"""Runs the cases of a program and compares what a check finds with what is expected.

    findings.py WEIR PROGRAM SOURCE

The first line of SOURCE that begins with `// CHECK:` names the check. A case is CASE(name) { ... };
each comment `// EXPECT text` in it is one finding: a regular expression that its text must have, in
which LINE stands for the file and the number of that line, LINE+n and LINE-n for one near it. A
case that expects nothing must be clean, and nothing else may be found. Ends with 0 when all is so.
"""
import json
import os
import re
import subprocess
import sys
import tempfile


def read_cases(source):
    cases, name, check = {}, None, None
    base = os.path.basename(source)
    for number, line in enumerate(open(source, encoding="utf-8"), 1):
        if line.startswith("// CHECK:") and check is None:
            check = line.split(":", 1)[1].strip()
        start = re.match(r"CASE\((\w+)\)", line)
        if start:
            name = start.group(1)
            cases[name] = []
        if "// EXPECT " in line and name is not None:
            text = line.split("// EXPECT ", 1)[1].strip()
            cases[name].append(re.sub(r"LINE([+-]\d+)?", lambda m, n=number:
                                      re.escape(f"{base}:{n + int(m.group(1) or 0)}") + r"\b", text))
    return check, cases


def run(weir, check, program, name):
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        done = subprocess.run([weir, "run", "--check=" + check, "--report=" + report,
                               "--error-exitcode", "77", program, name],
                              capture_output=True, text=True, timeout=120, check=False)
        return done, json.load(open(report, encoding="utf-8"))


def compare(done, findings, expected):
    """What is wrong, in words."""
    left = list(findings)
    for text in expected:
        hit = next((f for f in left if re.search(text, f["text"])), None)
        if hit is None:
            yield f"not found: {text}"
        else:
            left.remove(hit)
    for f in left:
        yield f"found and not expected: {f['text'].strip()}"
    status = 77 if findings else 0
    if done.returncode != status:
        yield f"status {done.returncode} and not {status}: {done.stderr.strip()}"
    for f in findings:
        if f["text"] not in done.stderr:
            yield f"not on stderr: {f['text'].strip()}"


def main():
    weir, program, source = sys.argv[1:]
    check, cases = read_cases(source)
    failed = 0
    for name, expected in cases.items():
        done, findings = run(weir, check, program, name)
        for wrong in compare(done, findings, expected):
            failed += 1
            print(f"{name}: {wrong}")
    print(f"{os.path.basename(source)}: {len(cases)} cases, {failed} failures")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
