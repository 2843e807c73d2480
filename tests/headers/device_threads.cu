/* Atomics, warp functions, barriers, fences, cached accesses, address spaces: every function and
 * type, called once. Compiled only. */
#include <cstdio>

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#define SCOPES(call) call() call(_block) call(_system)
#else
#define SCOPES(call) call()
#endif

__global__ void atomics(int *i, unsigned *u, unsigned long long *ull, long long *ll, float *f,
                        double *d, unsigned short *h, ulonglong2 *wide, float2 *f2, float4 *f4)
{
#define ALL(s)                                                                                     \
    atomicAdd##s(i, 1);                                                                            \
    atomicAdd##s(u, 1u);                                                                           \
    atomicAdd##s(ull, 1ull);                                                                       \
    atomicAdd##s(f, 1.0f);                                                                         \
    atomicSub##s(i, 1);                                                                            \
    atomicSub##s(u, 1u);                                                                           \
    atomicExch##s(i, 1);                                                                           \
    atomicExch##s(u, 1u);                                                                          \
    atomicExch##s(ull, 1ull);                                                                      \
    atomicExch##s(f, 1.0f);                                                                        \
    atomicMin##s(i, 1);                                                                            \
    atomicMin##s(u, 1u);                                                                           \
    atomicMin##s(ull, 1ull);                                                                       \
    atomicMin##s(ll, 1ll);                                                                         \
    atomicMax##s(i, 1);                                                                            \
    atomicMax##s(u, 1u);                                                                           \
    atomicMax##s(ull, 1ull);                                                                       \
    atomicMax##s(ll, 1ll);                                                                         \
    atomicInc##s(u, 7u);                                                                           \
    atomicDec##s(u, 7u);                                                                           \
    atomicCAS##s(i, 1, 2);                                                                         \
    atomicCAS##s(u, 1u, 2u);                                                                       \
    atomicCAS##s(ull, 1ull, 2ull);                                                                 \
    atomicAnd##s(i, 1);                                                                            \
    atomicAnd##s(u, 1u);                                                                           \
    atomicAnd##s(ull, 1ull);                                                                       \
    atomicOr##s(i, 1);                                                                             \
    atomicOr##s(u, 1u);                                                                            \
    atomicOr##s(ull, 1ull);                                                                        \
    atomicXor##s(i, 1);                                                                            \
    atomicXor##s(u, 1u);                                                                           \
    atomicXor##s(ull, 1ull);
    SCOPES(ALL)
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#define DOUBLES(s) atomicAdd##s(d, 1.0);
    SCOPES(DOUBLES)
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define SHORTS(s) atomicCAS##s(h, (unsigned short)1, (unsigned short)2);
    SCOPES(SHORTS)
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define WIDE(s)                                                                                    \
    wide[1] = atomicCAS##s(wide, ulonglong2{1, 2}, ulonglong2{3, 4});                              \
    wide[2] = atomicExch##s(wide, ulonglong2{1, 2});                                               \
    atomicAdd##s(f2, float2{1, 2});                                                                \
    atomicAdd##s(f4, float4{1, 2, 3, 4});
    SCOPES(WIDE)
#endif
}

template <typename T> __device__ T shuffles(T v)
{
    v += __shfl_sync(~0u, v, 1);
    v += __shfl_sync(~0u, v, 1, 16);
    v += __shfl_up_sync(~0u, v, 1);
    v += __shfl_down_sync(~0u, v, 1, 8);
    return v + __shfl_xor_sync(~0u, v, 1);
}
template <typename T> __device__ unsigned matches(T v)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
    int all;
    return __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &all) + all;
#else
    return 0;
#endif
}

__global__ void warps(int *i, unsigned *u, long *l, unsigned long *ul, long long *ll,
                      unsigned long long *ull, float *f, double *d)
{
    i[0] = shuffles(i[1]);
    u[0] = shuffles(u[1]);
    l[0] = shuffles(l[1]);
    ul[0] = shuffles(ul[1]);
    ll[0] = shuffles(ll[1]);
    ull[0] = shuffles(ull[1]);
    f[0] = shuffles(f[1]);
    d[0] = shuffles(d[1]);
    u[2] = matches(i[2]) + matches(u[2]) + matches(l[2]) + matches(ul[2]) + matches(ll[2]) +
           matches(ull[2]) + matches(f[2]) + matches(d[2]);
    i[3] = __all_sync(~0u, i[4]) + __any_sync(~0u, i[4]) + __uni_sync(~0u, i[4]) +
           __ballot_sync(~0u, i[4]) + __activemask() + warpSize;
    __syncwarp();
    __syncwarp(0xffff);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    u[3] = __reduce_add_sync(~0u, u[4]) + __reduce_min_sync(~0u, u[4]) +
           __reduce_max_sync(~0u, u[4]) + __reduce_and_sync(~0u, u[4]) +
           __reduce_or_sync(~0u, u[4]) + __reduce_xor_sync(~0u, u[4]);
    i[5] =
        __reduce_add_sync(~0u, i[4]) + __reduce_min_sync(~0u, i[4]) + __reduce_max_sync(~0u, i[4]);
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
    __nanosleep(100);
#endif
}

__global__ void block(int *i, long long *t)
{
    __shared__ int s[32];
    s[threadIdx.x] = i[threadIdx.x];
    __syncthreads();
    i[0] = __syncthreads_count(s[0]) + __syncthreads_and(s[1]) + __syncthreads_or(s[2]);
    __threadfence();
    __threadfence_block();
    __threadfence_system();
    t[0] = clock() + clock64();
    if (__isGlobal(i) && __isShared(s) && !__isLocal(i) && !__isConstant(i))
        i[1] = 1;
    t[1] = (long long)__cvta_generic_to_shared(s) + (long long)__cvta_generic_to_global(i);
    i[2] = *(int *)__cvta_shared_to_generic(__cvta_generic_to_shared(s));
    __builtin_assume(i[3] > 0);
    __assume(i[3] > 1);
    __prof_trigger(0);
    if (i[4])
        __trap();
    if (i[5])
        __brkpt();
}

template <typename T> __device__ void cached(T *p)
{
    __stwb(p, __ldcg(p + 1));
    __stcg(p, __ldca(p + 1));
    __stcs(p, __ldcs(p + 1));
    __stwt(p, __ldlu(p + 1));
    p[2] = __ldcv(p + 1);
    p[3] = __ldg(p + 4);
}
__global__ void caches(void *p)
{
    cached((char *)p);
    cached((signed char *)p);
    cached((unsigned char *)p);
    cached((short *)p);
    cached((unsigned short *)p);
    cached((int *)p);
    cached((unsigned *)p);
    cached((long *)p);
    cached((unsigned long *)p);
    cached((long long *)p);
    cached((unsigned long long *)p);
    cached((float *)p);
    cached((double *)p);
    cached((char2 *)p);
    cached((uchar2 *)p);
    cached((short2 *)p);
    cached((ushort2 *)p);
    cached((int2 *)p);
    cached((uint2 *)p);
    cached((longlong2 *)p);
    cached((ulonglong2 *)p);
    cached((float2 *)p);
    cached((double2 *)p);
    cached((char4 *)p);
    cached((uchar4 *)p);
    cached((short4 *)p);
    cached((ushort4 *)p);
    cached((int4 *)p);
    cached((uint4 *)p);
    cached((float4 *)p);
}

__global__ void first_names(int *p)
{
    p[0] = any(p[1] > 0) + ballot(p[2] > 0) + syncthreads_count(p[3] > 0);
    p[1] = syncthreads_and(p[0] > 0) + syncthreads_or(p[2] > 0);
    __prof_trigger(3);
}

int main() {}
