/* K2: a shuffle from a lane that does not execute it gives 0: the lane diverged, has exited, or the
 * block is smaller than the warp. PTX leaves the value open; GPUs answer 0, and programs rely on it. */
#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"

enum { IDX, UP, DOWN, XOR, MODES };

template <typename T> __device__ T shuffle(int mode, unsigned mask, T v, int by, int width)
{
    switch (mode) {
    case IDX: return __shfl_sync(mask, v, by, width);
    case UP: return __shfl_up_sync(mask, v, by, width);
    case DOWN: return __shfl_down_sync(mask, v, by, width);
    default: return __shfl_xor_sync(mask, v, by, width);
    }
}

template <typename T> __device__ __host__ T value(int lane) { return (T)(lane * 3 + 1000); }

/* Lanes of `set` shuffle; the others are in another branch or have exited. */
template <typename T>
__global__ void among(T *out, unsigned set, int mode, int by, int width, bool exits, bool uniform)
{
    int t = threadIdx.x;
    T v = uniform ? (T)7 : value<T>(t);
    bool in = set >> t & 1;
    if (exits && !in)
        return;
    out[t] = (T)-1;
    if (in)
        out[t] = shuffle(mode, set, v, by, width);
    else
        out[t] = v + 1;
}

/* What lane t reads: of a lane outside its segment its own, of an absent one 0. */
template <typename T>
static T expected(int t, unsigned set, int mode, int by, int width, bool uniform)
{
    int first = t & -width, from = t;
    switch (mode) {
    case IDX: from = first + (by & (width - 1)); break;
    case UP: from = t - by >= first ? t - by : t; break;
    case DOWN: from = t + by < first + width ? t + by : t; break;
    default: from = (t ^ by) < first + width ? t ^ by : t; break;
    }
    if (!(set >> from & 1))
        return 0;
    return uniform ? (T)7 : value<T>(from);
}

template <typename T> static void test_type()
{
    static const unsigned sets[] = {0xff, 0xaaaaaaaa, 0x0000ffff, 0x80000001, 0x00ff00f0, 0xffffffff};
    T *out, host[32];
    cudaMalloc(&out, sizeof host);
    for (unsigned set : sets)
        for (int mode = 0; mode < MODES; mode++)
            for (int width : {32, 16, 8})
                for (int by : {0, 1, 5, 8, 16})
                    for (int form = 0; form < 6; form++) {
                        bool exits = form & 1, uniform = form & 2, small = form >= 4;
                        int threads = small ? 20 : 32;
                        unsigned here = small ? set & 0xfffff : set;
                        if (by >= width || here == 0)
                            continue;
                        cudaMemset(out, 0x55, sizeof host);
                        among<T><<<1, threads>>>(out, here, mode, by, width, exits, uniform);
                        CHECK_EQ_INT(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost), 0);
                        int bad = 0;
                        for (int t = 0; t < threads; t++)
                            if (here >> t & 1)
                                bad += host[t] != expected<T>(t, here, mode, by, width, uniform);
                        CHECK_EQ_INT(bad, 0);
                        if (bad != 0)
                            printf("set %x mode %d width %d by %d form %d\n", here, mode, width, by,
                                   form);
                    }
    cudaFree(out);
}

/* As older sums of a block's last warps are written: eight threads add with distances up to 16. */
__global__ void tail(const int *in, int *out)
{
    int t = threadIdx.x, v = in[t];
    if (t < 8) {
        for (int d = 16; d > 0; d /= 2)
            v += __shfl_down_sync(0xff, v, d);
        if (t == 0)
            *out = v;
    }
}

static void test_tail()
{
    int host[64], sum = 0, got = 0, *d;
    for (int i = 0; i < 64; i++)
        sum += (host[i] = i * i + 1) * (i < 8);
    cudaMalloc(&d, sizeof host + sizeof(int));
    cudaMemcpy(d, host, sizeof host, cudaMemcpyHostToDevice);
    tail<<<1, 64>>>(d, d + 64);
    CHECK_EQ_INT(cudaMemcpy(&got, d + 64, sizeof got, cudaMemcpyDeviceToHost), 0);
    CHECK_EQ_INT(got, sum);
    cudaFree(d);
}

int main()
{
    test_type<int>();
    test_type<double>();
    test_type<long long>();
    test_tail();
    return check_done();
}
