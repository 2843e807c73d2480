// Accelerations of bodies under each other's gravity, all pairs, through tiles in shared memory.
#include "harness.h"

enum { TILE = 256 };

extern "C" __global__ void nbody(const float4 *bodies, float4 *accelerations, float softening,
                                 int n)
{
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float4 me = bodies[i];
    float x = 0, y = 0, z = 0;
    for (int at = 0; at < n; at += TILE) {
        tile[threadIdx.x] = bodies[at + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < TILE; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float pull = other.w * inverse * inverse * inverse;
            x += dx * pull;
            y += dy * pull;
            z += dz * pull;
        }
        __syncthreads();
    }
    accelerations[i] = make_float4(x, y, z, 0);
}

BENCH_KERNEL(nbody);
