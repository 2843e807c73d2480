"""Weir in a Python wheel: starts its programs, which lie beside this file as they do in an installation.

A wheel holds no symbolic links, so those of the installation (libcuda.so beside libcuda.so.1, the toolkit's
directory) are made when a program is started first. `weir run` needs none of them, compiling and linking
do."""
import os
import sys

_root = os.path.dirname(os.path.abspath(__file__))


def _make_links():
    """Makes the links that are missing; returns why one could not be made, or None."""
    with open(os.path.join(_root, "links.txt"), encoding="utf-8") as table:
        for line in table:
            path, target = line.rstrip("\n").split("\t")
            link = os.path.join(_root, path)
            if os.path.lexists(link):
                continue
            try:
                os.makedirs(os.path.dirname(link), exist_ok=True)
                os.symlink(target, link)
            except FileExistsError:
                pass  # another process was first
            except OSError as error:
                return f"{link}: {error.strerror}"
    return None


def _start(name):
    problem = _make_links()
    if problem is not None and name == "weircc":
        sys.stderr.write(f"weircc: {problem}: run it once as the owner of the installation\n")
        sys.exit(1)
    program = os.path.join(_root, "bin", name)
    os.execv(program, [program] + sys.argv[1:])


def weir():
    """The program weir."""
    _start("weir")


def weircc():
    """The program weircc."""
    _start("weircc")
