"""Weir's headers under NVIDIA's NVRTC: sums, products and conversions of cuda_fp16.h and cuda_bf16.h against NumPy's,
cuda_fp8.h, cuComplex.h, cooperative groups.

usage: nvrtc_headers.py INCLUDE, the directory of the headers."""
import sys

import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

COUNT, RESULTS = 4096, 9

SOURCE = """
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class T, class P> __device__ void all(const T *v, T *out, float *wide, T (*narrow)(float), P (*pair)(T, T))
{
    unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
    T a = v[n], b = v[n + COUNT], c = v[n + 2 * COUNT];
    P sum = __hfma2(pair(a, b), pair(b, c), pair(c, a)), ratio = __h2div(pair(a, b), pair(b, c));
    out[n] = a + b;
    out[n + COUNT] = a - b;
    out[n + 2 * COUNT] = a * b;
    out[n + 3 * COUNT] = a / b;
    out[n + 4 * COUNT] = __hfma(a, b, c);
    out[n + 5 * COUNT] = sum.y;
    out[n + 6 * COUNT] = ratio.x;
    out[n + 7 * COUNT] = __hmax(a, b);
    out[n + 8 * COUNT] = narrow((float)a * 1.001f);
    wide[n] = (float)a;
}
__device__ __half to_half(float x) { return __float2half(x); }
__device__ __half2 half_pair(__half a, __half b) { return __halves2half2(a, b); }
__device__ __nv_bfloat16 to_bfloat(float x) { return __float2bfloat16(x); }
__device__ __nv_bfloat162 bfloat_pair(__nv_bfloat16 a, __nv_bfloat16 b) { return __halves2bfloat162(a, b); }
extern "C" __global__ void halves(const __half *v, __half *out, float *wide)
{
    all<__half, __half2>(v, out, wide, to_half, half_pair);
}
extern "C" __global__ void bfloats(const __nv_bfloat16 *v, __nv_bfloat16 *out, float *wide)
{
    all<__nv_bfloat16, __nv_bfloat162>(v, out, wide, to_bfloat, bfloat_pair);
}
"""

OTHERS = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuComplex.h>
#include <cuda_fp8.h>
namespace cg = cooperative_groups;
extern "C" __global__ void others(float *v)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    float sum = cg::reduce(tile, (float)block.thread_rank(), cg::plus<float>());
    unsigned odd = cg::coalesced_threads().ballot(block.thread_rank() & 1);
    v[block.thread_rank()] = sum + tile.shfl_down(1.0f, 1);
    block.sync();
    if (block.thread_rank() != 0)
        return;
    v[32] = (float)__nv_fp8_e4m3(3.3f);
    v[33] = cuCabsf(make_cuFloatComplex(3, 4));
    v[34] = odd == 0xaaaaaaaau;
}
"""


def half_value(bits):
    return bits.view(np.float16).astype(np.float64)


def half_bits(value):
    return value.astype(np.float16).view(np.uint16)


def bfloat_value(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def bfloat_bits(value):
    """To the nearest of both neighbours, ties to even; a double holds all that is asked here but for fma's rounding."""
    single = value.astype(np.float32)
    bits = single.view(np.uint32).astype(np.int64)
    toward = np.abs(value) - np.abs(single.astype(np.float64))  # what the first rounding left out
    tie = (bits & 0xffff) == 0x8000
    bits = bits + 0x7fff + (bits >> 16 & 1)
    bits = np.where(tie & (toward > 0), (bits - 0x7fff | 0xffff) + 1, np.where(tie & (toward < 0), bits & ~0xffff, bits))
    return (bits >> 16 & 0xffff).astype(np.uint16)


def run(device, stream, kernel, value, bits):
    random = np.random.default_rng(1)
    v = bits(random.uniform(-64, 64, 3 * COUNT))
    out, wide = np.empty(RESULTS * COUNT, np.uint16), np.empty(COUNT, np.float32)
    buffers = [device.allocate(a.nbytes, stream=stream) for a in (v, out, wide)]
    driver.cuMemcpyHtoD(int(buffers[0].handle), v.ctypes.data, v.nbytes)
    launch(stream, LaunchConfig(grid=COUNT // 128, block=128), kernel, *buffers)
    stream.sync()
    driver.cuMemcpyDtoH(out.ctypes.data, int(buffers[1].handle), out.nbytes)
    driver.cuMemcpyDtoH(wide.ctypes.data, int(buffers[2].handle), wide.nbytes)
    a, b, c = np.split(value(v), 3)
    want = (a + b, a - b, a * b, a / b, a * b + c, b * c + a, a / b, np.maximum(a, b),
            (a.astype(np.float32) * np.float32(1.001)).astype(np.float64))
    with np.errstate(over="ignore"):
        for n, (got, exact) in enumerate(zip(np.split(out, RESULTS), want)):
            np.testing.assert_array_equal(got, bits(exact), err_msg=f"result {n}")
    np.testing.assert_array_equal(wide, a.astype(np.float32))
    for buffer in buffers:
        buffer.close(stream)


def others(device, stream):
    v = np.zeros(35, np.float32)
    buffer = device.allocate(v.nbytes, stream=stream)
    options = ProgramOptions(arch=f"sm_{device.arch}", std="c++17", include_path=sys.argv[1])
    kernel = Program(OTHERS, "c++", options).compile("cubin").get_kernel("others")
    launch(stream, LaunchConfig(grid=1, block=32), kernel, buffer)
    stream.sync()
    driver.cuMemcpyDtoH(v.ctypes.data, int(buffer.handle), v.nbytes)
    np.testing.assert_array_equal(v, [121] * 16 + [377] * 16 + [3.25, 5, 1])
    buffer.close(stream)


def main():
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    for arch in (75, 80, 90):
        options = ProgramOptions(arch=f"sm_{arch}", std="c++17", include_path=sys.argv[1],
                                 define_macro=("COUNT", str(COUNT)))
        module = Program(SOURCE, "c++", options).compile("cubin")
        run(device, stream, module.get_kernel("halves"), half_value, half_bits)
        run(device, stream, module.get_kernel("bfloats"), bfloat_value, bfloat_bits)
    others(device, stream)
    print("headers under NVRTC: passed")


if __name__ == "__main__":
    main()
