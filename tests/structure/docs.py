#!/usr/bin/env python3
"""That documents point to what exists: relative links with their anchors, and paths of this tree; and
that the specification names every conformance program.

    docs.py SOURCE-DIRECTORY

Looked at are all Markdown files and the text of the figures. A link
`[...](target)` must name a file, and a heading where it has an anchor. A path is what stands between
backticks and begins with a directory of the tree, or ends in a source file's suffix: the latter may
leave out leading directories (`analysis/cfg.c`). `*` stands for anything; what contains <, $ or
spaces is no path.
"""
import fnmatch
import os
import re
import sys

TOPS = ("src", "tests", "docs", "tools", "include", "bench", "examples", "cmake", ".ci")
# Files of programs and toolkits that documents speak of and that are not this tree's.
FOREIGN = {"cub/cub.cuh", "nvtx3/nvtx3.hpp", "user.c"}
SUFFIXES = (".c", ".h", ".def", ".py", ".sh", ".cu")


def tree_files(root):
    """Paths of all files below the directories of the tree, and of those directories."""
    files, directories = set(), set()
    for entry in os.listdir(root):
        if os.path.isfile(os.path.join(root, entry)):
            files.add(entry)
    for top in TOPS:
        for directory, _, names in os.walk(os.path.join(root, top)):
            relative = os.path.relpath(directory, root)
            directories.add(relative)
            files.update(os.path.join(relative, name) for name in names)
    return files, directories


def prose(text):
    """The text without blocks of code, with as many lines."""
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m.group().count("\n"), text, flags=re.M | re.S)
    return re.sub(r"(?:(?<=\n\n)|\A)(?: {4}.*\n)+", lambda m: "\n" * m.group().count("\n"), text)


def anchors(text):
    """The anchors of the headings, as forges make them."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?) *$", prose(text), flags=re.M):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"`", "", heading).lower())
        found.add(words.replace(" ", "-"))
    found.update(re.findall(r"<a id=\"([^\"]+)\"", text))
    return found


class Tree:
    def __init__(self, root):
        self.root = root
        self.files, self.directories = tree_files(root)

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as f:
            return f.read()

    def has(self, path):
        """Whether a path of the tree, whole or without leading directories, exists."""
        path = path.rstrip("/")
        if path in self.files or path in self.directories:
            return True
        if "*" in path:
            return any(fnmatch.fnmatch(f, p) for f in self.files for p in (path, "*/" + path))
        return path.endswith(SUFFIXES) and any(f.endswith("/" + path) for f in self.files)


def wrong_links(tree, document, text):
    for line, target in positions(r"\]\(([^)\s]+)\)", prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
        if path not in tree.files and path not in tree.directories:
            yield line, f"link to {target}: there is no {path}"
        elif anchor and path.endswith(".md") and anchor not in anchors(tree.read(path)):
            yield line, f"link to {target}: {path} has no such heading"


def is_path(word):
    if re.search(r"[<>$\s(){}\"'=:;,|]", word) or word in FOREIGN or word.startswith(("-", "/", "~")):
        return False
    if word.endswith(".cu"):  # programs of users have such names, too
        return "/" in word
    return word.startswith(tuple(top + "/" for top in TOPS)) or word.endswith(SUFFIXES)


def wrong_paths(tree, text, words):
    for line, word in positions(words, text):
        if is_path(word) and not tree.has(word) and "/".join(("include", word)) not in tree.files:
            yield line, f"there is no {word}"


def unnamed_programs(tree):
    """Conformance programs that no row of the specification names."""
    text = tree.read("docs/specification.md")
    named = [word for _, word in positions(r"`([^`\n]+)`", text)]
    for path in sorted(tree.files):
        below = path.removeprefix("tests/conformance/")
        if below != path and path.endswith((".c", ".cu")):
            if not any(fnmatch.fnmatch(below, word) for word in named):
                yield below


def positions(pattern, text):
    for match in re.finditer(pattern, text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1)


def main():
    tree = Tree(sys.argv[1])
    wrong = 0
    for document in sorted(tree.files):
        if document.endswith(".md"):
            text = tree.read(document)
            found = [*wrong_links(tree, document, text),
                     *wrong_paths(tree, prose(text), r"`([^`\n]+)`")]
        elif document.startswith("docs/") and document.endswith(".svg"):
            found = wrong_paths(tree, tree.read(document), r"(?<![\w/.])([\w/]+\.[ch])(?![\w.])")
        else:
            continue
        for line, what in found:
            print(f"{document}:{line}: {what}")
            wrong += 1
    for program in unnamed_programs(tree):
        print(f"docs/specification.md: no row names {program}")
        wrong += 1
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
