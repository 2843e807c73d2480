/* C2: bytes of bool that are neither 0 nor 1: loads, kernel arguments, members, copies and
 * conversions give what nvcc's code gives. It tests the whole byte, copies it as it is, and widens
 * it as a signed byte. */
#include <cstdio>
#include <cstring>

struct pair {
    int number;
    bool first, second;
};
struct quad {
    bool x, y, z, w;
};

__device__ bool global_flag;
__constant__ bool constant_flag;

__device__ int count = 0;
__device__ __noinline__ int passed_on(bool flag) { return flag ? 10 + flag : 5; }
__device__ __noinline__ bool returned(const bool *flag) { return *flag; }
__device__ int (*volatile indirect)(bool) = passed_on;

template <typename T> __device__ T widen(const bool &flag) { return flag; }

enum { RESULTS = 40 };

__global__ void tests(const bool *flags, bool flag, pair p, const pair *pp, quad q, const quad *pq,
                      bool *copies, int *o)
{
    int t = threadIdx.x, n = 0;
    __shared__ bool shared[64];
    shared[t] = flags[t];
    __syncthreads();
    o += t * RESULTS;
    o[n++] = flags[t] ? 1 : 2;
    o[n++] = !flags[t];
    o[n++] = flag ? 1 : 2;
    o[n++] = !flag;
    o[n++] = p.first ? 1 : 2;
    o[n++] = p.second && flag;
    o[n++] = pp->first || pp->second;
    o[n++] = (q.x ? 1 : 0) + (q.y ? 2 : 0) + (q.z ? 4 : 0) + (q.w ? 8 : 0);
    o[n++] = (pq->x ? 1 : 0) + (pq->y ? 2 : 0) + (pq->z ? 4 : 0) + (pq->w ? 8 : 0);
    o[n++] = global_flag ? 1 : 2;
    o[n++] = constant_flag ? 1 : 2;
    o[n++] = shared[63 - t] ? 1 : 2;
    o[n++] = returned(flags + t) ? 1 : 2;
    if (flags[t] && flags[t + 1])
        o[n] = 7;
    n++;
    bool either = flags[t] | flags[t + 1];
    o[n++] = either;
    while (flags[t] && o[n] < 3)
        o[n]++;
    n++;
    o[n++] = __any_sync(~0u, flags[t]);
    o[n++] = __popc(__ballot_sync(~0u, flags[t]));
    /* the byte itself */
    o[n++] = flags[t];
    o[n++] = flag;
    o[n++] = p.first + p.second;
    o[n++] = flags[t] == true;
    o[n++] = flags[t] == flags[t + 1];
    o[n++] = widen<long long>(flags[t]) == (signed char)0xFF;
    o[n++] = (int)(widen<float>(flags[t]) * 2);
    o[n++] = (int)(widen<double>(flag) * 2);
    o[n++] = passed_on(flags[t]);
    o[n++] = passed_on(flag);
    o[n++] = indirect(flags[t]);
    o[n++] = passed_on(true) + passed_on(t < 0);
    copies[t] = flags[t];
    copies[64 + t] = flag;
    quad copied = q;
    memcpy(copies + 128 + 4 * t, &copied, 4);
    copies[400 + t] = !flags[t];
    o[n++] = n;
}

int main()
{
    bool *flags, *copies;
    int *o, result[64 * RESULTS];
    pair p, *pp;
    quad q, *pq;
    cudaMalloc(&flags, 128);
    cudaMalloc(&copies, 1024);
    cudaMalloc(&o, sizeof result);
    cudaMalloc(&pp, sizeof p);
    cudaMalloc(&pq, sizeof q);
    const unsigned char values[] = {0, 1, 2, 0x80, 0xFE, 0xFF};
    for (unsigned char value : values) {
        bool flag;
        memset(&flag, value, 1);
        memset(&p, value, sizeof p);
        memset(&q, value, sizeof q);
        cudaMemset(flags, value, 128);
        cudaMemset(o, 0, sizeof result);
        cudaMemset(pp, value, sizeof p);
        cudaMemset(pq, value, sizeof q);
        cudaMemcpyToSymbol(global_flag, &flag, 1);
        cudaMemcpyToSymbol(constant_flag, &flag, 1);
        /* not by <<<>>>: the host's compiler may make the argument 0 or 1 */
        void *args[] = {&flags, &flag, &p, &pp, &q, &pq, &copies, &o};
        if (cudaLaunchKernel((const void *)tests, 1, 64, args, 0, 0) != cudaSuccess)
            return 1;
        if (cudaMemcpy(result, o, sizeof result, cudaMemcpyDefault) != cudaSuccess)
            return 1;
        unsigned char copied[1024];
        cudaMemcpy(copied, copies, sizeof copied, cudaMemcpyDefault);
        printf("%02x:", value);
        for (int i = 0; i < 31; i++)
            printf(" %d", result[RESULTS * 33 + i]);
        printf(" | %02x %02x %02x %02x\n", copied[33], copied[64 + 33], copied[128 + 4 * 33 + 2],
               copied[400 + 33]);
    }
    return 0;
}
