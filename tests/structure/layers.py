#!/usr/bin/env python3
"""That the layers of src/ hold, and that docs/upcalls.md lists what goes up through them.

    layers.py SOURCE-DIRECTORY

1. No file includes a header of a layer that its own must not know (ALLOWED), and the table in
   docs/upcalls.md says the same.
2. Each thread-local variable, and each function type or struct with function pointers that a header
   offers, is named in docs/upcalls.md; and what is named there exists.
3. No source file of src/, tools/ or tests/ is longer, and no directory of theirs holds more files, than a reader
   can survey.
4. Each function of the driver API that uses objects begins with HOLD (src/device/hold.h), or does nothing but call
   one that does.
5. The directories of tools/weircc know only those before them (WEIRCC), as the table in docs/weircc.md lists them.
"""
import os
import re
import sys

# What the files of a layer may include besides their own, from the lowest layer to the highest.
ALLOWED = {
    "base": set(),
    "observe": {"base"},
    "timeline": {"base", "observe"},
    "ptx": {"base"},
    "container": {"base", "ptx"},
    "jitlink": {"base", "ptx", "container"},
    "nvfatbin": {"base", "ptx", "container"},
    "ptxcompiler": {"base", "ptx", "container"},
    "nvrtc": {"base", "container"},
    "abi": {"base", "ptx"},
    "compiler": {"base", "ptx", "abi"},
    "loader": {"base", "ptx", "abi"},
    "memory": {"base", "observe"},
    "pool": {"base", "observe", "memory"},
    "texture": {"base", "abi"},
    "hazards": {"base", "abi"},
    "exec": {"base", "abi", "memory", "texture", "hazards"},
    "device": {"base", "observe", "abi", "memory", "exec", "hazards"},
    "findings": {"base"},
    "checks": {"base", "observe", "memory", "findings"},
    "races": {"base", "observe", "memory", "findings"},
    "driver": {"base", "observe", "timeline", "ptx", "container", "abi", "loader", "memory", "pool", "texture", "exec",
               "device", "findings", "checks", "races"},
    "gpu": {"base", "memory", "pool"},
    "runtime": {"base", "gpu"},
    "nvml": set(),
    "syncedmem": set(),
    "devlib": set(),
}
# The directories of tools/weircc, each of which may include headers of those before it.
WEIRCC = ["options", "files", "toolkit", "source", "objects", "device", "ccbin", "messages", "driver"]
# Single headers beyond that.
ALSO = set()
MAX_LINES, MAX_FILES = 820, 46
# Arguments of a call that returns after the last use: nothing is registered.
ARGUMENTS = {"mem_visit", "space_visit", "pool_visit", "env_unknown", "plugin_call", "memory_guarded", "stack_call", "stack_call_of",
             "grid_protected", "mem_unmap", "mem_set_rights", "grid_touched", "grid_found_told", "grid_threads_told", "hazard_grid_end",
             "hazard_grid_accesses", "grid_threads_accesses", "cells_each", "thread_start"}

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
POINTER = r"\(\s*\*\s*(?:_Atomic\s*)?\w+\)\s*\("


def sources(root, top="src"):
    """Paths of the layers' files, relative to the root."""
    for directory, _, names in os.walk(os.path.join(root, top)):
        for name in sorted(names):
            if name.endswith((".c", ".h", ".cpp", ".cu", ".def", ".inc")):
                yield os.path.relpath(os.path.join(directory, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def check_includes(path, text, errors):
    layer = path.split(os.sep)[1]
    if layer not in ALLOWED:
        errors.append(f"{path}: layer {layer} is not known; add it to ALLOWED")
        return
    for header in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
        other = header.split("/")[0]
        if "/" in header and other in ALLOWED and other != layer \
                and other not in ALLOWED[layer] and (layer, header) not in ALSO:
            errors.append(f"{path}: {layer} must not know {header}")


def check_weircc(root, texts, errors):
    for path, text in texts.items():
        directory = path.split(os.sep)[2]
        if not path.startswith("tools/weircc/") or directory not in WEIRCC:
            continue
        known = WEIRCC[:WEIRCC.index(directory) + 1]
        for other in re.findall(r'^\s*#\s*include\s+"weircc/(\w+)/', text, re.M):
            if other not in known:
                errors.append(f"{path}: {directory} must not know weircc/{other}")
    table = read(root, "docs/weircc.md").split("## The source of weircc", 1)[1].split("\n## ", 1)[0]
    listed = list(dict.fromkeys(re.findall(r"^\| `(\w+)[/`]", table, re.M)))
    if listed != WEIRCC:
        errors.append(f"docs/weircc.md: lists {listed}, not {WEIRCC}")


def thread_words(code):
    """Names of the thread-local variables that the code defines."""
    for m in re.finditer(r"(?<!\w)(?:_Thread_local|(?:WEIR_)?THREAD_FAST)\b", code):
        line = code.rfind("\n", 0, m.start()) + 1
        if "extern" in code[line:m.start()] or code[line:].startswith("#"):
            continue
        end = code.index(";", m.end())
        brace = code.find("{", m.end())
        if 0 <= brace < end and "=" not in code[m.end():brace]:  # a struct is defined with it
            end = code.index(";", code.index("}", brace))
            rest = code[code.index("}", brace) + 1:end]
        else:
            rest = code[m.end():end]
        rest = re.sub(r"__attribute__\s*\(\(.*?\)\)+", "", rest).split("=")[0]
        yield re.findall(r"\w+", re.sub(r"\[.*?\]", "", rest))[-1]


def upcalls(code):
    """Names of function types and structs with function pointers, and functions that take some."""
    for m in re.finditer(r"^typedef\s[^;{]*?\(\s*\*\s*(\w+)\)\s*\(", code, re.M):
        yield m.group(1)
    for m in re.finditer(r"^typedef\s+void\s+(\w+)\(", code, re.M):
        yield m.group(1)
    for m in re.finditer(r"^(?:extern\s+\w+\s+)?struct\s+(\w+)\s*\{(.*?)^\}", code, re.M | re.S):
        if re.search(POINTER, m.group(2)):
            yield m.group(1)
    for m in re.finditer(r"^(?!typedef|\s|struct\s+\w+\s*\{)[^;{}#]*?\b(\w+)\(([^;{}]*)\);", code,
                         re.M):
        if re.search(POINTER, m.group(2)) and m.group(1) not in ARGUMENTS:
            yield m.group(1)


def check_listed(root, texts, errors):
    page = read(root, os.path.join("docs", "upcalls.md"))
    rows = [row.split("|")[1:4] for row in page.splitlines() if row.startswith("| `")]
    calls = {(n, path) for names, where, *_ in rows for n in re.findall(r"`(\w+)`", names)
             for path in re.findall(r"`(src/[^`]+)`", where)}
    found = set()
    for path, text in texts.items():
        code = STRING.sub('""', COMMENT.sub(lambda m: "\n" * m.group().count("\n"), text))
        for name in thread_words(code):
            found.add((name, path))
        # Headers that only their own layer includes offer nothing to a higher one.
        if path.endswith(".h") and not path.endswith("/internal.h") \
                and path.split("/")[1] not in ("compiler", "driver", "runtime"):
            found.update((name, path) for name in upcalls(code))
    for name, path in sorted(found - calls):
        errors.append(f"{path}: {name} is not listed in docs/upcalls.md")
    for name, path in sorted(calls - found):
        errors.append(f"docs/upcalls.md: {name} is not defined in {path}")


def check_layer_table(root, errors):
    """That the table of layers in docs/upcalls.md says what ALLOWED says, in its order."""
    page = read(root, os.path.join("docs", "upcalls.md"))
    section = page.split("## Layers", 1)[1].split("\n## ", 1)[0]
    listed = [(name, set(re.findall(r"`([^`]+)`", known)))
              for name, known in re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.M)]
    allowed = [(layer, known | {header for who, header in ALSO if who == layer})
               for layer, known in ALLOWED.items()]
    for (name, known), (layer, right) in zip(listed, allowed):
        if (name, known) != (layer, right):
            errors.append(f"docs/upcalls.md: {name} may know {sorted(known)}, "
                          f"but {layer} may know {sorted(right)}")
    if len(listed) != len(allowed):
        errors.append(f"docs/upcalls.md: {len(listed)} layers, not {len(allowed)}")


def check_sizes(root, texts, errors):
    for path, text in texts.items():
        lines = text.count("\n")
        if lines > MAX_LINES:
            errors.append(f"{path}: {lines} lines, more than {MAX_LINES}")
    for top in ("src", "tools", "tests"):
        for directory, _, names in os.walk(os.path.join(root, top)):
            if len(names) > MAX_FILES:
                errors.append(f"{os.path.relpath(directory, root)}: {len(names)} files, more than {MAX_FILES}")


def check_opening(texts, errors):
    """A file whose first line names a file names itself: `/* name: ...` or `/* directory/name: ...`."""
    for path, text in texts.items():
        match = re.match(r"/\* ([a-z][a-z0-9_/]*)(\.[ch])?: ", text)
        if match is None or not path.endswith((".c", ".h")):
            continue
        stem, named = os.path.splitext(path)[0], match.group(1)
        if not ("/" + stem).endswith("/" + named) and os.path.basename(os.path.dirname(path)) != named:
            errors.append(f"{path}: opens with the name {named}")


# Functions of contexts' beginnings and ends, which wait for those that hold something.
LIFE = {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxReset_v2",
        "cuDevicePrimaryCtxSetFlags_v2", "cuDevicePrimaryCtxGetState", "cuCtxDestroy_v2", "cuCtxCreate_v2",
        "cuCtxCreate_v3", "cuCtxCreate_v4"}
OBJECTS = re.compile(r"src/driver/(context|graph|launch|memory|module|pool|stream|texture)/\w+\.c$")
DEFINITION = re.compile(r"^ *(?:WEIR_API|static|ENTRY)[^;{}=]*?(\w+(?:##\w+)?)(?:\([^;{}]*?\)| params)\s*\n? *\{(.*?)\n? *\}$",
                        re.M | re.S)


def check_holds(path, text, errors):
    text = text.replace("\\\n", "\n")
    text = "\n".join(line.rstrip() for line in text.splitlines())
    for m in DEFINITION.finditer(text):
        name, body = m.group(1), m.group(2).strip()
        public = m.group(0).lstrip().startswith("WEIR_API")
        both = name.endswith("_impl") and f"BOTH({name[:-5]}," in text
        if not (public or both) or "CUresult" not in m.group(0).split("(")[0] or name in LIFE:
            continue
        if not body.startswith("HOLD;") and "HOLD;" not in body and not re.fullmatch(r"return [^;]*;", body):
            errors.append(f"{path}: {name} uses objects without HOLD (src/device/hold.h)")


def main():
    root = sys.argv[1]
    texts = {path: read(root, path) for path in sources(root)}
    errors = []
    for path, text in texts.items():
        check_includes(path, COMMENT.sub("", text), errors)
        if OBJECTS.match(path):
            check_holds(path, COMMENT.sub("", text), errors)
    check_listed(root, texts, errors)
    check_layer_table(root, errors)
    tools = {path: read(root, path) for path in sources(root, "tools")}
    check_weircc(root, tools, errors)
    check_sizes(root, texts | tools | {path: read(root, path) for path in sources(root, "tests")}, errors)
    check_opening(texts, errors)
    for e in errors:
        print(e)
    print(f"{len(texts)} files, {len(errors)} complaints")
    return 1 if errors or len(texts) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
