"""Runs a client's own tests on Weir, a process for each file, and compares them with what is expected.

usage: suite.py [--expected FILE] [--limit SECONDS] [--without WORD] [--keep DIRECTORY] WEIR PYTHON TESTS [ARGUMENT...]

TESTS is a file or a directory of pytest's tests, ARGUMENTs are pytest's own. FILE has a line for each test that
fails with a reason: `file::test reason`, the file by its path below TESTS, and `*` for any text. Prints a row
for each file and the sum; the status is 0 if all that failed was expected to and nothing crashed or hung.
Files whose path has a WORD of --without are left out. With --keep, results stay in that directory, and files that
have a result there are not run again: a long suite goes on where it was stopped."""
import argparse
import fnmatch
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree


def read_expected(path):
    """Pairs of pattern and reason."""
    rows = []
    for line in path.read_text().splitlines() if path else ():
        if line.strip() and not line.startswith("#"):
            pattern, reason = line.split(maxsplit=1)
            rows.append((pattern, reason))
    return rows


def run(arguments, path, result):
    """Runs the tests of a file. The status, and how long they took."""
    command = [arguments.weir, "run", arguments.python, "-m", "pytest", "-q", "-p", "no:cacheprovider",
               f"--junitxml={result}", *arguments.pytest, str(path)]
    began = time.monotonic()
    with open(result.with_suffix(".log"), "w") as log:
        try:
            status = subprocess.run(command, stdout=log, stderr=log, timeout=arguments.limit).returncode
        except subprocess.TimeoutExpired:
            status = f"no end within {arguments.limit} s"
    return status, time.monotonic() - began


def outcomes(result, name):
    """The names of a file's tests by their outcome."""
    found = {"passed": [], "failed": [], "skipped": []}
    for case in xml.etree.ElementTree.parse(result).iter("testcase"):
        kinds = {child.tag for child in case}
        outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        test = case.get("classname", "").split(".")[-1]
        within = f"{test}." if test[:4] == "Test" else ""
        found[outcome].append(f"{name}::{within}{case.get('name')}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expected", type=pathlib.Path)
    parser.add_argument("--limit", type=int, default=1800)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("weir")
    parser.add_argument("python")
    parser.add_argument("tests", type=pathlib.Path)
    parser.add_argument("pytest", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    expected = read_expected(arguments.expected)
    directory = arguments.keep or pathlib.Path(tempfile.mkdtemp())
    directory.mkdir(parents=True, exist_ok=True)

    single = arguments.tests.is_file()
    root = arguments.tests.parent if single else arguments.tests
    paths = [arguments.tests] if single else sorted(root.rglob("test_*.py"))
    sums = {"passed": 0, "failed": 0, "skipped": 0}
    wrong, reasons, seconds = [], {}, 0.0
    print(f"{'passed':>7} {'failed':>7} {'skipped':>7} {'seconds':>8}  file")
    for path in paths:
        name = str(path.relative_to(root))
        if any(word in name for word in arguments.without):
            continue
        result = directory / (name.replace("/", ".") + ".xml")
        status, took = (0, 0.0) if result.exists() else run(arguments, path, result)
        if not result.exists() or status not in (0, 1, 5):
            result.unlink(missing_ok=True)
            wrong.append(f"{name}: status {status}")
            print(f"{'':>7} {'':>7} {'':>7} {took:8.0f}  {name}: status {status}")
            continue
        found = outcomes(result, name)
        for outcome, tests in found.items():
            sums[outcome] += len(tests)
        seconds += took
        print(f"{len(found['passed']):7} {len(found['failed']):7} {len(found['skipped']):7} {took:8.0f}  {name}",
              flush=True)
        for test in found["failed"]:
            why = next((reason for pattern, reason in expected if fnmatch.fnmatch(test, pattern)), None)
            if why is None:
                wrong.append(test)
            else:
                reasons.setdefault(why, []).append(test)
    print(f"{sums['passed']:7} {sums['failed']:7} {sums['skipped']:7} {seconds:8.0f}  all")
    for why, tests in reasons.items():
        print(f"expected: {why}: {', '.join(tests)}")
    for test in wrong:
        print(f"failed: {test}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
