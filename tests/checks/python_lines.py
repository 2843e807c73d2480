#!/usr/bin/env python3
"""What checks find in a program of Python is told with the line of Python.

    python_lines.py WEIR

runs itself under `weir run` with checks: it calls the runtime and the driver by ctypes. 77: this
Python does not say where it is.
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.abspath(__file__)


def line_of(mark):
    for number, line in enumerate(open(HERE, encoding="utf-8"), 1):
        if line.rstrip().endswith("# " + mark):
            return number
    raise ValueError(mark)


def wrapped(call, *arguments):
    return call(*arguments)


def leaky():
    runtime, driver = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libcuda.so.1")
    p, q = ctypes.c_void_p(), ctypes.c_void_p()
    runtime.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(4096)) # @runtime
    driver.cuMemAlloc_v2(ctypes.byref(q), ctypes.c_size_t(100)) # @driver
    for _ in range(3):
        runtime.cudaStreamCreate(ctypes.byref(q)) # @stream
    runtime.cudaMemcpy(ctypes.byref(q), p, ctypes.c_size_t(8), 1) # @copy


def reads_freed():
    """Frees memory twice, which is told with where it was made and freed."""
    runtime = ctypes.CDLL("libcudart.so.13")
    p = ctypes.c_void_p()
    runtime.cudaMallocAsync(ctypes.byref(p), ctypes.c_size_t(1000), None) # @made
    runtime.cudaFreeAsync(p, None) # @freed
    runtime.cudaFreeAsync(p, None) # @twice
    runtime.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(1000)) # @made-whole
    runtime.cudaFree(p)
    runtime.cudaFree(p)


def memory_lines(weir):
    done = subprocess.run([weir, "run", "--check=memory", sys.executable, HERE, "reads_freed"],
                          capture_output=True, text=True, timeout=120, check=False)
    missing = [f"{call} at {HERE}:{line_of(mark)}" for call, mark in (
        ("cudaMallocAsync", "@made"), ("cudaFreeAsync", "@freed"), ("cudaMalloc", "@made-whole"))
               if f"{call} at {HERE}:{line_of(mark)}" not in done.stderr]
    if missing:
        print(done.stdout, done.stderr, "not said:", missing)
    return not missing


def main():
    if sys.argv[1] == "leaky":
        return leaky()
    if sys.argv[1] == "reads_freed":
        return reads_freed()
    if not hasattr(ctypes.pythonapi, "_Py_DumpTraceback"):
        print("this Python has no _Py_DumpTraceback")
        return 77
    with tempfile.TemporaryDirectory() as work:
        report = os.path.join(work, "report.json")
        done = subprocess.run([sys.argv[1], "run", "--check=leaks,calls", "--report=" + report,
                               sys.executable, HERE, "leaky"], capture_output=True, text=True,
                              timeout=120, check=False)
        found = json.load(open(report, encoding="utf-8"))
    places = {(f["check"], f.get("made", f.get("at"))["line"]) for f in found}
    files = {f.get("made", f.get("at"))["file"] for f in found}
    expected = {("leaks", line_of("@runtime")), ("leaks", line_of("@driver")),
                ("leaks", line_of("@stream")), ("calls", line_of("@copy"))}
    if done.returncode == 0 and places == expected and files == {HERE}:
        return 0 if memory_lines(sys.argv[1]) else 1
    print(done.stdout, done.stderr, places, expected, files)
    return 1


if __name__ == "__main__":
    sys.exit(main())
