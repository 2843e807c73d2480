"""What the time goes to from the start of Python to the first result of a small kernel, by part.

usage: cold_start.py numba|triton: milliseconds of CPU time, of all threads and children, and of the wall clock."""
import os
import sys
import time


rows = []


def now():
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system, time.perf_counter()


def part(name, before):
    after = now()
    rows.append((name, *(1000 * (b - a) for a, b in zip(before, after))))
    return after


def by_numba(at):
    import warnings

    from numba import cuda
    warnings.simplefilter("ignore")
    at = part("import", at)
    values = cuda.to_device(np.arange(64, dtype=np.float32))
    at = part("driver, context, a copy", at)

    @cuda.jit("void(float32[::1])")
    def twice(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] *= 2

    at = part("Python to PTX, linking, loading", at)
    twice[1, 64](values)
    cuda.synchronize()
    at = part("compiling for the CPU, running", at)
    assert values.copy_to_host()[5] == 10
    twice[1, 64](values)
    cuda.synchronize()
    part("once more", at)


def by_triton(at):
    import triton
    import triton.language as tl

    import device_array
    at = part("import", at)
    device_array.begin()
    values = device_array.DeviceArray(np.arange(64, dtype=np.float32))
    at = part("driver, context, a copy", at)

    @triton.jit
    def twice(a, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(a + i, tl.load(a + i) * 2)

    triton.runtime.driver.active.get_current_target()
    at = part("Triton's own module for the driver", at)
    twice.warmup(values, N=64, grid=(1,))
    at = part("Python to PTX, ptxas", at)
    twice[(1,)](values, N=64)
    assert values.numpy()[5] == 10
    at = part("loading, compiling for the CPU, running", at)
    twice[(1,)](values, N=64)
    values.numpy()
    part("once more", at)


if __name__ == "__main__":
    begin = now()
    import numpy as np
    {"numba": by_numba, "triton": by_triton}[sys.argv[1]](part("import of numpy", begin))
    for name, used, passed in rows:
        print(f"{used:9.0f} {passed:9.0f}  {name}")
    print(f"{sum(row[1] for row in rows):9.0f} {sum(row[2] for row in rows):9.0f}  all")
