"""numba-cuda: a kernel with a fault and one with a race, whose reports name lines of this file (check.sh)."""
import sys
import warnings

import numpy as np
from numba import cuda

warnings.simplefilter("ignore")


@cuda.jit(lineinfo=True)
def shift(values, out):
    i = cuda.grid(1)
    out[i] = values[i + 1]  # the last thread reads past the end


@cuda.jit(lineinfo=True)
def turn(out):
    i = cuda.threadIdx.x
    shared = cuda.shared.array(64, np.int32)
    shared[i] = i
    out[i] = shared[(i + 33) % 64]  # no barrier before it


def main():
    values = cuda.to_device(np.arange(64, dtype=np.int32))
    out = cuda.device_array(64, np.int32)
    if sys.argv[1] == "memory":
        shift[1, 64](values, out)
    else:
        turn[1, 64](out)
    try:
        cuda.synchronize()
    except cuda.cudadrv.driver.CudaAPIError as error:
        print(error)


if __name__ == "__main__":
    main()
