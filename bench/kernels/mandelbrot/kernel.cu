// The Mandelbrot set: one point per thread, steps until it escapes.
#include "harness.h"

extern "C" __global__ void mandelbrot(int *steps, int n, int limit)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n)
        return;
    float cx = -2.0f + 2.5f * column / n, cy = -1.25f + 2.5f * row / n, x = 0, y = 0;
    int step = 0;
    while (step < limit && x * x + y * y < 4) {
        float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        step++;
    }
    steps[row * n + column] = step;
}

BENCH_KERNEL(mandelbrot);
