// Data in tiles: particles in a layout interleaved by hand, spectral elements in doubles, sums of
// exponentials of distances, a matrix of covariances of which half is computed.
#include "harness.h"

enum { LANES = 8, ORDER = 8 };

// Particles by eights: eight x, eight y and so on, then those of the next eight.
struct eight {
    float x[LANES], y[LANES], z[LANES], vx[LANES], vy[LANES], vz[LANES];
};
struct eight_moved {
    float x[LANES], y[LANES], z[LANES];
};
static __device__ void pulled(float &x, float &y, float &z, float vx, float vy, float vz, float dt)
{
    float square = x * x + y * y + z * z + 0.01f;
    float pull = dt / (square * sqrtf(square));
    vx -= pull * x, vy -= pull * y, vz -= pull * z;
    x += dt * vx, y += dt * vy, z += dt * vz;
}
static __global__ void interleaved(const eight *in, eight_moved *out, float dt, int, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, l = i % LANES;
    if (i >= n)
        return;
    const eight &from = in[i / LANES];
    eight_moved &to = out[i / LANES];
    float x = from.x[l], y = from.y[l], z = from.z[l];
    pulled(x, y, z, from.vx[l], from.vy[l], from.vz[l], dt);
    to.x[l] = x, to.y[l] = y, to.z[l] = z;
}
// How many are side by side is a parameter.
static __global__ void interleaved_by(const float *in, float *out, float dt, int lanes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float *from = in + i / lanes * lanes * 6 + i % lanes;
    float *to = out + i / lanes * lanes * 3 + i % lanes;
    float x = from[0], y = from[lanes], z = from[2 * lanes];
    pulled(x, y, z, from[3 * lanes], from[4 * lanes], from[5 * lanes], dt);
    to[0] = x, to[lanes] = y, to[2 * lanes] = z;
}
static __global__ void interleaved_stride(const eight *in, eight_moved *out, float dt, int, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const eight &from = in[i / LANES];
        eight_moved &to = out[i / LANES];
        int l = i % LANES;
        float x = from.x[l], y = from.y[l], z = from.z[l];
        pulled(x, y, z, from.vx[l], from.vy[l], from.vz[l], dt);
        to.x[l] = x, to.y[l] = y, to.z[l] = z;
    }
}
BENCH_KERNEL(interleaved);
BENCH_SPELLING(interleaved, 1, interleaved_by);
BENCH_SPELLING(interleaved, 2, interleaved_stride);

// The sum of the three derivatives in each element of ORDER^3 nodes: a block of ORDER^2 threads
// with a column each, or of ORDER^3.
template <int DEEP>
__global__ void spectral(const float *in, const float *derive, float *out, int n)
{
    __shared__ double u[ORDER][ORDER][ORDER], d[ORDER][ORDER];
    int t = threadIdx.x, i = t % ORDER, j = t / ORDER % ORDER, k0 = t / (ORDER * ORDER);
    size_t at = (size_t)blockIdx.x * ORDER * ORDER * ORDER + j * ORDER + i;
    if (k0 == 0)
        d[j][i] = derive[t];
    for (int k = k0; k < ORDER; k += DEEP)
        u[k][j][i] = in[at + k * ORDER * ORDER];
    __syncthreads();
    for (int k = k0; k < ORDER; k += DEEP) {
        double sum = 0;
        for (int q = 0; q < ORDER; q++)
            sum += d[i][q] * u[k][j][q] + d[j][q] * u[k][q][i] + d[k][q] * u[q][j][i];
        out[at + k * ORDER * ORDER] = (float)sum;
    }
}
BENCH_SPELLING(spectral, 0, spectral<1>);
BENCH_SPELLING(spectral, 1, spectral<ORDER>);

// Sums of weights by distance, in tiles of points.
template <int TILE, bool FAST>
__global__ void distances(const float4 *queries, const float4 *points, float *out, int count,
                          float sharp)
{
    __shared__ float4 tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    float4 q = queries[i];
    float sum = 0;
    for (int from = 0; from < count; from += TILE) {
        tile[threadIdx.x] = points[from + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float4 p = tile[k];
            float x = p.x - q.x, y = p.y - q.y, z = p.z - q.z;
            float far = -sharp * (x * x + y * y + z * z);
            sum += p.w * (FAST ? __expf(far) : expf(far));
        }
        __syncthreads();
    }
    out[i] = sum;
}
BENCH_SPELLING(distances, 0, distances<128, false>);
BENCH_SPELLING(distances, 1, distances<128, true>);
BENCH_SPELLING(distances, 2, distances<64, false>);

// Covariances of n variables, the samples of each in a column: threads below the diagonal leave.
template <class I> __global__ void covariance(const float *in, float *out, I samples, I n)
{
    I j = blockIdx.x * (I)blockDim.x + threadIdx.x, i = blockIdx.y * (I)blockDim.y + threadIdx.y;
    if (j >= n || i > j)
        return;
    float sum = 0;
    for (I s = 0; s < samples; s++)
        sum += in[s * n + i] * in[s * n + j];
    sum /= samples - 1;
    out[i * n + j] = sum;
    out[j * n + i] = sum;
}
BENCH_SPELLING(covariance, 0, covariance<int>);
BENCH_SPELLING(covariance, 1, covariance<long long>);
