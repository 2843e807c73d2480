#!/usr/bin/env python3
"""Names of the public headers, against the lists of those that CUDA 13's declare.

    names.py check INCLUDE DOCS    each name of names/*.txt is in our header of that name, or is listed as a gap,
                                   and DOCS/headers.md has the gaps
    names.py mark INCLUDE          marks what is missing as a gap, and what is there as none
    names.py gaps                  docs/headers.md

A list has a name on each line: of a function, type, member (TYPE.NAME), enumerator or macro, as the host sees them.
A gap begins with "- ". The names are the interface, which is a fact; nothing else of those headers is kept.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "names")
CLANG = "clang++-19"
INTRODUCTION = """# Headers: what is not there

`tests/headers/names` lists the names that the public headers of CUDA 13.0 declare for host code. The test
`headers.names` holds this page to them.
"""
NOTHING = "All of them are in Weir's headers.\n"
TABLE = """These are not in Weir's; a program that uses one is told so by the compiler.

| header | names |
| --- | --- |
"""


def identifiers(header, include):
    """What stands in our headers when that one is included, macros too."""
    if not os.path.exists(os.path.join(include, header)):
        return set()
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as f:
        f.write(f"#include <{header}>\n")
        f.flush()
        text = subprocess.run([CLANG, "-std=c++17", "-w", "-I" + include, "-E", "-dD", f.name], capture_output=True,
                              text=True, check=True).stdout
    names, ours = set(), False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = marker.group(1).startswith(include)
        elif ours:
            names.update(re.findall(r"[A-Za-z_]\w*", line))
    return names


def lists():
    for path in sorted(glob.glob(HERE + "/*.txt")):
        yield path, os.path.basename(path)[:-4], open(path).read().splitlines()


def gaps():
    rows = []
    for _, header, lines in lists():
        missing = [l[2:] for l in lines if l.startswith("- ")]
        if len(missing) == len(lines):
            rows.append(f"| {header[:-2]} | all: there is no such header |")
        elif missing:
            rows.append(f"| `{header}` | {', '.join('`' + m + '`' for m in missing)} |")
    return INTRODUCTION + "\n" + (TABLE + "\n".join(rows) + "\n" if rows else NOTHING)


def main():
    if sys.argv[1] == "gaps":
        sys.stdout.write(gaps())
        return 0
    failed = 0
    for path, header, lines in lists():
        have = identifiers(header, os.path.abspath(sys.argv[2]))
        marked = []
        for line in lines:
            name = line[2:] if line.startswith("- ") else line
            marked.append(name if all(part in have for part in name.split(".")) else "- " + name)
        if sys.argv[1] == "mark":
            open(path, "w").write("\n".join(marked) + "\n")
        for was, now in zip(lines, marked):
            if was != now and sys.argv[1] == "check":
                print(f"{header}: {now[2:]} is missing" if now.startswith("- ") else f"{header}: {now} is no gap any more")
                failed += 1
        print(f"{header}: {len(lines)} names, {sum(l.startswith('- ') for l in marked)} gaps")
    if sys.argv[1] == "check" and open(os.path.join(sys.argv[3], "headers.md")).read() != gaps():
        print("docs/headers.md differs from what names.py gaps says")
        failed += 1
    return failed != 0


sys.exit(main())
