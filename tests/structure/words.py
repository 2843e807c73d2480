#!/usr/bin/env python3
"""That words which Weir has replaced by the field's own do not come back.

    words.py SOURCE-DIRECTORY

RETIRED is the one table: a word, what is said instead, and the files that may have it all the same.
A word is also found as a part of a name (`room_left`, `WEIR_ROOM`), in any case.
"""
import os
import re
import sys

TOPS = ("src", "tools", "include", "bench", "tests", "docs", "examples", "cmake")
SUFFIXES = (".c", ".h", ".cpp", ".hpp", ".cu", ".cl", ".def", ".inc", ".py", ".sh", ".md", ".txt", ".ptx")

# word, what is said instead, paths (or directories, with a / at the end) that may have it
RETIRED = [
    ("folder", "directory", []),
    ("grave", "freed allocation; tombstone in a hash table", []),
    ("pace", "yield point, interleaving", []),
    ("processor", "CPU", ["tests/programs/CMakeLists.txt"]),
    ("relay", "yield point, interleaving", []),
    ("relieve", "interleaving", []),
    ("room", "layer, module; space, memory", []),
    ("rouse", "wake", []),
    ("story", "fault report", []),
    ("unusual", "slow-path flags", []),
    ("apart", "scattered, at a distance; distinguish", ["tests/programs/"]),
    ("behind", "after", []),
]
# Texts that are made from others, or that show what is refused.
SKIPPED = ("tests/structure/words.py", "docs/coverage.md")


def paths(root):
    """All files of the project with a suffix that is looked at, relative to the root."""
    yield from (name for name in sorted(os.listdir(root)) if name.endswith(".md"))
    for top in TOPS:
        for directory, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(directory, name), root)


def allowed(path, exceptions):
    return any(path == e or (e.endswith("/") and path.startswith(e)) for e in exceptions)


def main():
    root = sys.argv[1]
    pattern = re.compile("(?<![A-Za-z])(" + "|".join(word for word, _, _ in RETIRED) + ")s?(?![a-z])", re.I)
    table = {word: (instead, exceptions) for word, instead, exceptions in RETIRED}
    complaints = files = 0
    for path in paths(root):
        if path in SKIPPED:
            continue
        files += 1
        with open(os.path.join(root, path), encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                for match in pattern.finditer(line):
                    instead, exceptions = table[match.group(1).lower()]
                    if not allowed(path, exceptions):
                        print(f"{path}:{number}: {match.group()}: {instead}")
                        complaints += 1
    print(f"{files} files, {complaints} complaints")
    return 1 if complaints or files < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
