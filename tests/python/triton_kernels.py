"""Triton without PyTorch: kernels of the kinds that Triton's tutorials teach, each against numpy."""
import sys
import time

import numpy as np
import triton
import triton.language as tl

import device_array
from device_array import DeviceArray, zeros

rng = np.random.default_rng(1)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


def vector_add():
    n = 9001
    x, y = rng.random(n, np.float32), rng.random(n, np.float32)
    out = zeros(n)
    add_kernel[(triton.cdiv(n, 1024),)](DeviceArray(x), DeviceArray(y), out, n, BLOCK=1024)
    np.testing.assert_array_equal(out.numpy(), x + y)


@triton.jit
def softmax_kernel(x, out, rows, columns, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        i = tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * columns + i, powers / tl.sum(powers, axis=0), mask=i < columns)


def softmax():
    x = rng.standard_normal((37, 781), np.float32)
    out = zeros(x.shape)
    softmax_kernel[(8,)](DeviceArray(x), out, *x.shape, BLOCK=1024)
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out.numpy(), powers / powers.sum(1, keepdims=True), rtol=1e-5, atol=1e-7)


@triton.jit
def tile_product(a, b, row, column, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    m, n, k = row * TM + tl.arange(0, TM), column * TN + tl.arange(0, TN), tl.arange(0, TK)
    total = tl.zeros((TM, TN), tl.float32)
    for at in range(0, K, TK):
        left = tl.load(a + m[:, None] * K + at + k, mask=(m[:, None] < M) & (at + k < K), other=0.0)
        right = tl.load(b + (at + k[:, None]) * N + n, mask=(at + k[:, None] < K) & (n < N), other=0.0)
        total = tl.dot(left, right, total)
    return total, m[:, None] * N + n, (m[:, None] < M) & (n < N)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    total, at, inside = tile_product(a, b, tl.program_id(0), tl.program_id(1), M, N, K, TM, TN, TK)
    tl.store(c + at, total.to(tl.float16), mask=inside)


@triton.jit
def persistent_kernel(a, b, c, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    columns = tl.cdiv(N, TN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, TM) * columns, tl.num_programs(0)):
        total, at, inside = tile_product(a, b, tile // columns, tile % columns, M, N, K, TM, TN, TK)
        tl.store(c + at, total.to(tl.float16), mask=inside)


def product_of(kernel, grid):
    M, N, K = 150, 130, 100
    a, b = rng.standard_normal((M, K)).astype(np.float16), rng.standard_normal((K, N)).astype(np.float16)
    c = zeros((M, N), np.float16)
    kernel[grid(M, N)](DeviceArray(a), DeviceArray(b), c, M, N, K, TM=64, TN=32, TK=32)
    np.testing.assert_allclose(c.numpy(), a.astype(np.float32) @ b.astype(np.float32), rtol=2e-2, atol=2e-2)


def matmul():
    product_of(matmul_kernel, lambda M, N: (triton.cdiv(M, 64), triton.cdiv(N, 32)))


def persistent_matmul():
    product_of(persistent_kernel, lambda M, N: (4,))


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(tl.rand(seed, i) > p, value / (1 - p), 0.0), mask=i < n)


def dropout():
    n, p = 20000, 0.3
    x = DeviceArray(np.ones(n, np.float32))
    out, again, other = zeros(n), zeros(n), zeros(n)
    for result, seed in ((out, 7), (again, 7), (other, 8)):
        dropout_kernel[(triton.cdiv(n, 512),)](x, result, n, p, seed, BLOCK=512)
    kept = out.numpy()
    np.testing.assert_array_equal(kept, again.numpy())
    assert (kept != other.numpy()).any()
    assert abs((kept == 0).mean() - p) < 0.02, (kept == 0).mean()
    np.testing.assert_allclose(kept[kept != 0], 1 / (1 - p), rtol=1e-6)


@triton.jit
def layer_norm_kernel(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    inside = i < columns
    values = tl.load(x + row * columns + i, mask=inside, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    result = centred * scale * tl.load(weight + i, mask=inside) + tl.load(bias + i, mask=inside)
    tl.store(out + row * columns + i, result, mask=inside)


def layer_norm():
    x = rng.standard_normal((20, 500), np.float32)
    weight, bias = rng.random(500, np.float32), rng.random(500, np.float32)
    out = zeros(x.shape)
    layer_norm_kernel[(20,)](DeviceArray(x), DeviceArray(weight), DeviceArray(bias), out, 500, 1e-5, BLOCK=512)
    wanted = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-4, atol=1e-5)


@triton.jit
def attention_kernel(q, k, v, out, length, scale, TQ: tl.constexpr, TK: tl.constexpr, D: tl.constexpr):
    head = tl.program_id(1) * length * D
    row, d = tl.program_id(0) * TQ + tl.arange(0, TQ), tl.arange(0, D)
    queries = tl.load(q + head + row[:, None] * D + d)
    top = tl.full((TQ,), -float("inf"), tl.float32)
    weight = tl.zeros((TQ,), tl.float32)
    total = tl.zeros((TQ, D), tl.float32)
    for at in range(0, (tl.program_id(0) + 1) * TQ, TK):
        column = at + tl.arange(0, TK)
        keys = tl.load(k + head + column[:, None] * D + d)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        scores = tl.where(row[:, None] >= column, scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, axis=1))
        powers = tl.exp(scores - higher[:, None])
        shrink = tl.exp(top - higher)
        weight = weight * shrink + tl.sum(powers, axis=1)
        values = tl.load(v + head + column[:, None] * D + d)
        total = tl.dot(powers.to(tl.float16), values, total * shrink[:, None])
        top = higher
    tl.store(out + head + row[:, None] * D + d, (total / weight[:, None]).to(tl.float16))


def attention():
    heads, length, depth = 2, 128, 64
    q, k, v = (rng.standard_normal((heads, length, depth)).astype(np.float16) for _ in range(3))
    out = zeros(q.shape, np.float16)
    attention_kernel[(length // 64, heads)](DeviceArray(q), DeviceArray(k), DeviceArray(v), out, length,
                                            depth ** -0.5, TQ=64, TK=32, D=depth)
    scores = q.astype(np.float32) @ k.astype(np.float32).transpose(0, 2, 1) * depth ** -0.5
    scores[:, ~np.tri(length, dtype=bool)] = -np.inf
    powers = np.exp(scores - scores.max(2, keepdims=True))
    wanted = powers / powers.sum(2, keepdims=True) @ v.astype(np.float32)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=2e-2, atol=1e-2)


def main():
    device_array.begin()
    failed = 0
    for test in (vector_add, softmax, matmul, dropout, layer_norm, attention, persistent_matmul):
        began = time.time()
        try:
            test()
            print(f"passed: {test.__name__} ({time.time() - began:.1f} s)", flush=True)
        except Exception as error: # all kinds: of the compiler, the driver, of numpy's comparison
            failed += 1
            print(f"failed: {test.__name__}: {type(error).__name__}: {error}", flush=True)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
