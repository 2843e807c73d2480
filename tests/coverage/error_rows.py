#!/usr/bin/env python3
"""Whether the tables of wrong arguments (tests/conformance/errors) are complete (spec E1).

Every function of the runtime API that is supported must have rows there, and each of its parameters
must have at least two different arguments among them, or none but nullptr: where all rows give the same
one, no row can be about that parameter. What is supported is what docs/coverage.md says works.

usage: error_rows.py SOURCE_DIRECTORY PREPROCESSOR...
Prints what is missing; the exit status says whether there is anything."""
import glob
import os
import re
import subprocess
import sys

# Functions that no argument can be wrong for.
WITHOUT_ROWS = {
    "cudaGetLastError": "takes nothing",
    "cudaPeekAtLastError": "takes nothing",
    "cudaDeviceSynchronize": "takes nothing",
    "cudaDeviceReset": "takes nothing",
    "cudaProfilerStart": "takes nothing",
    "cudaProfilerStop": "takes nothing",
    "cudaCtxResetPersistingL2Cache": "takes nothing",
    "cudaGetErrorName": "any number has a name",
    "cudaGetErrorString": "any number has a text",
    "cudaCreateChannelDesc": "returns what it was given",
}

# Parameters that any argument is right for.
ANYTHING_GOES = {
    "userData": "passed on",
    "value": "bytes to set; values of attributes have rows that fill the structure they point to",
    "defaultLaunchValue": "any number",
    "ptr of cudaUserObjectCreate": "passed on",
    "flags of cudaGraphDebugDotPrint": "unknown ones are nothing more to print",
}


def split(text):
    """The arguments of a call or the parameters of a declaration."""
    parts, depth, part = [], 0, ""
    for c in text:
        depth += c in "([{"
        depth -= c in ")]}"
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return parts + [part.strip()] if part.strip() else parts


def call_at(text, start):
    """The text between the parentheses that begin at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += text[i] == "("
        depth -= text[i] == ")"
        if depth == 0:
            return text[start + 1 : i]
    return ""


def declared(directory):
    """Functions of the API that are supported: name to the names of their parameters."""
    page = open(directory + "/docs/coverage.md").read()
    table = page[page.index("## Runtime API") : page.index("## Driver API")]
    lines = [l.split("|") for l in table.splitlines() if l.count("|") == 4]
    works = {name for cells in lines for name in re.findall(r"`(\w+)`", cells[2])}
    found = {}
    for header in ("cuda_runtime_api.h", "cuda_profiler_api.h"):
        text = open(f"{directory}/include/{header}").read()
        for m in re.finditer(r"^[\w ]+[ *](cuda\w+)(\()", text, re.M):
            if m[1] not in works or "typedef" in m[0] or "define" in m[0]:
                continue
            parameters = [p for p in split(call_at(text, m.start(2))) if p != "void"]
            parameters = [re.sub(r"\s*__dv\(.*\)", "", p) for p in parameters]
            found[m[1]] = [re.findall(r"\w+", p)[-1] for p in parameters]
    return found


def rows(directory, preprocessor):
    """Calls in rows: name to lists of arguments. Macros of the tables are expanded."""
    calls = {}
    for path in sorted(glob.glob(directory + "/tests/conformance/errors/*.cu")):
        if os.path.basename(path).startswith("fault_"):  # what is said of kernels, not of arguments
            continue
        text = "".join(l for l in open(path) if not l.startswith("#include"))
        text = subprocess.run(
            preprocessor + ["-E", "-P", "-x", "c++", "-DCUDART_VERSION=13000", "-"],
            input=text, capture_output=True, text=True, check=True,
        ).stdout
        for m in re.finditer(r"\b(?:ROW\w*|ERROR|OK|row_begin)(\()", text):
            row = call_at(text, m.start(1))
            for call in re.finditer(r"\b(cuda[A-Z]\w+)(\()", row):
                arguments = call_at(row, call.start(2))
                calls.setdefault(call[1], []).append(split(arguments))
    return calls


def missing(functions, calls):
    for name, parameters in sorted(functions.items()):
        if name in WITHOUT_ROWS:
            continue
        if name not in calls:
            yield f"{name}: no rows"
            continue
        for i, parameter in enumerate(parameters):
            if parameter in ANYTHING_GOES or f"{parameter} of {name}" in ANYTHING_GOES:
                continue
            given = {c[i] if i < len(c) else "" for c in calls[name]}
            if len(given) < 2 and given != {"nullptr"}:
                yield f"{name}: all rows have the same {parameter}"


def main():
    directory, preprocessor = sys.argv[1], sys.argv[2:]
    lines = list(missing(declared(directory), rows(directory, preprocessor)))
    print("\n".join(lines) or "every function has its rows")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
