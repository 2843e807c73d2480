#!/usr/bin/env python3
"""Makes a program of one kernel that differs (run.py --keep) small, while it still differs.

    reduce.py BUILD FILE.cu {--form own|G|O0} {--tier optimizing|baseline|both} {--width 512|256}
              {--seconds N} >small.cu

Lines and blocks are left out, blocks lose their heads, expressions become constants. What fails to compile, and
what the host finds a race or a deadlock in, does not count as differing. Barriers of a phase are left out in
pairs only.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from run import TIERS, build, execute


class Reducer:
    def __init__(self, options, lines):
        self.options, self.lines = options, lines
        self.end = time.monotonic() + options.seconds
        self.tries = 0

    def differs(self, lines):
        """Whether the program of these lines still fails as the first one did."""
        self.tries += 1
        directory = tempfile.mkdtemp(prefix="programs-")
        try:
            source = os.path.join(directory, "program.cu")
            with open(source, "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")
            try:
                launches = any(" LAUNCH(" in line for line in lines)
                command = build(self.options.build, source, directory, [self.options.form], launches)[self.options.form]
            except subprocess.CalledProcessError:
                return False
            run = lambda limit, *flags: execute(self.options.build, command + ["--guards"] + list(flags), directory, self.options.tier, limit,
                                                self.options.width)
            output, status = run(60)
            if status is None:
                return self.options.hangs and run(10, "--oracle")[1] == 0
            return status == 1 and ("differs" in output or self.options.fails and "fails" in output)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def over(self):
        return time.monotonic() > self.end or self.tries >= self.options.tries

    def body(self):
        """Where the kernel ends and what every program needs begins: that is not tried to be left out."""
        return next((k for k, line in enumerate(self.lines) if line.startswith('extern "C" __global__')), len(self.lines))

    def attempt(self, lines):
        if self.over() or not self.differs(lines):
            return False
        self.lines = lines
        print("%d lines after %d tries" % (len(lines), self.tries), file=sys.stderr, flush=True)
        return True

    def without_chunks(self):
        """Leaves out ranges of whole lines and blocks, long ones first."""
        size, changed = max(1, self.body() // 2), False
        while size:
            start = 1
            while start < self.body():
                end = balanced(self.lines[:self.body()], start, size)
                if end and self.attempt(self.lines[:start] + self.lines[end:]):
                    changed = True
                else:
                    start += max(1, size // 2)
            size //= 2
        return changed

    def without_heads(self):
        """Replaces a block by what it holds."""
        changed, k = False, 0
        while k < len(self.lines):
            if self.lines[k].endswith("{") and not self.lines[k].startswith(("static", "struct", "{")):
                end = closing(self.lines, k)
                if end and self.lines[end].strip() == "}" and self.attempt(
                        self.lines[:k] + self.lines[k + 1:end] + self.lines[end + 1:]):
                    changed = True
                    continue
            k += 1
        return changed

    def smaller_expressions(self):
        """Replaces what stands in parentheses by a constant."""
        changed, k = False, 0
        while k < len(self.lines):
            line = self.lines[k]
            for start, end in sorted(parentheses(line), key=lambda p: p[0] - p[1]):
                if end - start > 4 and any(self.attempt(self.lines[:k] + [line[:start] + value + line[end:]]
                                                        + self.lines[k + 1:]) for value in ("(0u)", "(1u)", "(tid)")):
                    changed = True
                    break
            else:
                k += 1
        return changed


def balanced(lines, start, size):
    """The end of about `size` lines from `start` on that hold whole blocks, or None."""
    depth, phases, end = 0, 0, None
    for k in range(start, len(lines)):
        text = lines[k].strip()
        depth -= text.startswith("}")
        if depth < 0:
            break
        depth += text.endswith("{")
        phases += "// phase" in text
        if depth == 0 and phases % 2 == 0:
            end = k + 1
            if end - start >= size:
                break
    return end if end and end - start >= size else None


def closing(lines, start):
    """The line that closes the block which begins in a line, if no else is between."""
    depth = 0
    for k in range(start, len(lines)):
        text = lines[k].strip()
        depth -= text.startswith("}")
        if depth == 0 and k > start:
            return k
        depth += text.endswith("{")
    return None


def parentheses(line):
    """Pairs of parentheses of a line."""
    stack, pairs = [], []
    for k, c in enumerate(line):
        if c == "(":
            stack.append(k)
        elif c == ")" and stack:
            pairs.append((stack.pop(), k + 1))
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("file")
    parser.add_argument("--form", default="own")
    parser.add_argument("--tier", default="baseline", choices=TIERS)
    parser.add_argument("--width", help="a value of WEIR_VECTORS")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--tries", type=int, default=100000, help="end after so many programs")
    parser.add_argument("--hangs", action="store_true", help="a program that does not end counts as differing")
    parser.add_argument("--fails", action="store_true", help="a launch that fails counts as differing")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    with open(options.file, encoding="utf-8") as f:
        text = re.sub(r"^/\* .*?\*/\n", "", f.read(), count=1, flags=re.S)
    reducer = Reducer(options, [line for line in text.splitlines() if line.strip()])
    if not reducer.differs(reducer.lines):
        sys.exit("reduce.py: the program does not differ")
    changed = True
    while changed and not reducer.over():
        changed = reducer.without_chunks() | reducer.without_heads() | reducer.smaller_expressions()
    print("\n".join(reducer.lines))


if __name__ == "__main__":
    main()
