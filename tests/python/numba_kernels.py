"""numba-cuda: kernels with shared memory, atomics and barriers, against numpy."""
import sys
import warnings

import numpy as np
from numba import cuda, float32

warnings.simplefilter("ignore")


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def block_sums(values, out):
    shared = cuda.shared.array(128, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    shared[t] = values[i] if i < values.size else 0
    step = 64
    while step > 0:
        cuda.syncthreads()
        if t < step:
            shared[t] += shared[t + step]
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, shared[0])


@cuda.jit(device=True)
def escape(x, y):
    real, imaginary = 0.0, 0.0
    for n in range(50):
        if real * real + imaginary * imaginary > 4:
            return n
        real, imaginary = real * real - imaginary * imaginary + x, 2 * real * imaginary + y
    return 50


@cuda.jit
def mandelbrot(out):
    x, y = cuda.grid(2)
    if x < out.shape[0] and y < out.shape[1]:
        out[x, y] = escape(x / 20 - 2, y / 20 - 1)


def main():
    a, b = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    out = cuda.device_array_like(a)
    add[8, 128](cuda.to_device(a), cuda.to_device(b), out)
    np.testing.assert_array_equal(out.copy_to_host(), a + b)

    total = cuda.to_device(np.zeros(1, np.float32))
    block_sums[8, 128](cuda.to_device(a), total)
    assert total.copy_to_host()[0] == a.sum()

    picture = cuda.to_device(np.zeros((60, 40), np.int32))
    mandelbrot[(8, 5), (8, 8)](picture)
    wanted = [[escape.py_func(x / 20 - 2, y / 20 - 1) for y in range(40)] for x in range(60)]
    np.testing.assert_array_equal(picture.copy_to_host(), wanted)
    print("numba-cuda: passed")


if __name__ == "__main__":
    sys.exit(main())
