// Work of uneven size: forces of bodies within a cut-off by cells, rays against spheres, and rows
// that warps take from a queue.
#include "harness.h"

enum { CELL = 16 };
// Bodies lie sorted by cells of a grid, CELL in each; a block a cell, the cells around by shared
// memory or straight from memory.
template <bool SHARED>
__global__ void cutoff(const float4 *bodies, float4 *force, int side, float reach)
{
    __shared__ float4 near[CELL * 4];
    int cell = blockIdx.x * (blockDim.x / CELL) + threadIdx.x / CELL, me = threadIdx.x % CELL;
    int cx = cell % side, cy = cell / side % side, cz = cell / (side * side);
    float4 b = bodies[cell * CELL + me];
    float fx = 0, fy = 0, fz = 0;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int x = (cx + dx + side) % side, y = (cy + dy + side) % side,
                    z = (cz + dz + side) % side;
                const float4 *other = bodies + ((z * side + y) * side + x) * CELL;
                if (SHARED) {
                    __syncthreads();
                    near[threadIdx.x] = other[me];
                    __syncthreads();
                    other = near + threadIdx.x / CELL * CELL;
                }
                for (int k = 0; k < CELL; k++) {
                    float4 o = other[k];
                    float rx = o.x - b.x, ry = o.y - b.y, rz = o.z - b.z;
                    float square = rx * rx + ry * ry + rz * rz + 1e-3f;
                    if (square < reach * reach) {
                        float inverse = 1 / square, six = inverse * inverse * inverse;
                        float f = o.w * six * (six - 0.5f) * inverse * 1e-9f;
                        fx += f * rx, fy += f * ry, fz += f * rz;
                    }
                }
            }
    force[cell * CELL + me] = make_float4(fx, fy, fz, 0);
}
BENCH_SPELLING(cutoff, 0, cutoff<true>);
BENCH_SPELLING(cutoff, 1, cutoff<false>);

// Rays through a picture against spheres; what is hit is lit and mirrors once.
struct hit {
    float t;
    int which;
};
static __device__ hit nearest(const float4 *spheres, int count, float ox, float oy, float oz,
                              float dx, float dy, float dz)
{
    hit best = {1e30f, -1};
    for (int s = 0; s < count; s++) {
        float4 p = spheres[s];
        float lx = p.x - ox, ly = p.y - oy, lz = p.z - oz, along = lx * dx + ly * dy + lz * dz;
        float rest = p.w * p.w - (lx * lx + ly * ly + lz * lz - along * along);
        if (along <= 0 || rest <= 0)
            continue;
        float t = along - sqrtf(rest);
        if (t > 1e-3f && t < best.t) {
            best.t = t;
            best.which = s;
        }
    }
    return best;
}
template <int COUNT>
__global__ void rays(const float4 *spheres, float *out, int width, int given)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int count = COUNT ? COUNT : given;
    float dx = (x + 0.5f) / width - 0.5f, dy = (y + 0.5f) / width - 0.5f, dz = 1;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz), ox = 0, oy = 0, oz = 0, light = 0,
          share = 1;
    dx *= inverse, dy *= inverse, dz *= inverse;
    for (int bounce = 0; bounce < 2; bounce++) {
        hit h = nearest(spheres, count, ox, oy, oz, dx, dy, dz);
        if (h.which < 0)
            break;
        float4 s = spheres[h.which];
        ox += h.t * dx, oy += h.t * dy, oz += h.t * dz;
        float nx = (ox - s.x) / s.w, ny = (oy - s.y) / s.w, nz = (oz - s.z) / s.w;
        light += share * fmaxf(0.0f, 0.6f * nx - 0.48f * ny - 0.64f * nz);
        float twice = 2 * (dx * nx + dy * ny + dz * nz);
        dx -= twice * nx, dy -= twice * ny, dz -= twice * nz;
        share *= 0.5f;
    }
    out[y * width + x] = light;
}
BENCH_SPELLING(rays, 0, rays<0>);
BENCH_SPELLING(rays, 1, rays<64>);

// Rows of a triangle, which differ in length: a warp takes the next from a counter until none is
// left, and sums it.
static __global__ void queue_rows(const float *in, float *sums, int *next, int n)
{
    int lane = threadIdx.x % 32;
    for (;;) {
        int row = 0;
        if (lane == 0)
            row = atomicAdd(next, 1);
        row = __shfl_sync(~0u, row, 0);
        if (row >= n)
            return;
        const float *from = in + (size_t)row * (row + 1) / 2;
        float sum = 0;
        for (int i = lane; i <= row; i += 32)
            sum += from[i] * from[i];
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(~0u, sum, distance);
        if (lane == 0)
            sums[row] = sum;
    }
}
static __global__ void queue_blocks(const float *in, float *sums, int *next, int n)
{
    __shared__ int row;
    __shared__ float part[8];
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            row = atomicAdd(next, 1);
        __syncthreads();
        if (row >= n)
            return;
        const float *from = in + (size_t)row * (row + 1) / 2;
        float sum = 0;
        for (int i = threadIdx.x; i <= row; i += blockDim.x)
            sum += from[i] * from[i];
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(~0u, sum, distance);
        if (threadIdx.x % 32 == 0)
            part[threadIdx.x / 32] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int w = 1; w < blockDim.x / 32; w++)
                sum += part[w];
            sums[row] = sum;
        }
    }
}
// No queue: a warp a row.
static __global__ void queue_none(const float *in, float *sums, int *next, int n)
{
    int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < n; row += warps) {
        const float *from = in + (size_t)row * (row + 1) / 2;
        float sum = 0;
        for (int i = lane; i <= row; i += 32)
            sum += from[i] * from[i];
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_down_sync(~0u, sum, distance);
        if (lane == 0)
            sums[row] = sum;
    }
}
BENCH_KERNEL(queue_rows);
BENCH_SPELLING(queue_rows, 1, queue_blocks);
BENCH_SPELLING(queue_rows, 2, queue_none);
