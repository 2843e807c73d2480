/* K2: constants, parameters and indices that a loop sets in each of its turns,
 * as compilers place them, and that are read after it: lanes leave the loop in
 * different turns, and each must find what it has set. Neighbours in shared
 * memory are read by them after a barrier. */
// RUN 256: WEIR_VECTORS=256
#include <vector>

#include "check.h"

enum { THREADS = 192, PLACES = 2 * THREADS };

__global__ void after_loops(const int *turns, const unsigned char *bytes, int *out, int scale)
{
    __shared__ unsigned char h[PLACES];
    __shared__ int s[PLACES];
    int t = threadIdx.y * blockDim.x + threadIdx.x, n = turns[blockIdx.x * THREADS + t], sum = 0;
    unsigned k = t, constant, index, scaled;
    unsigned long long place;
    do { // as many turns as the lane likes, one at least
        asm volatile("mov.u32 %0, 77;" : "=r"(constant));
        asm volatile("mad.lo.u32 %0, %1, 2, 1;" : "=r"(index) : "r"(threadIdx.x));
        asm volatile("mul.lo.u32 %0, %1, %2;" : "=r"(scaled) : "r"(scale), "r"(blockIdx.x));
        asm volatile("cvta.shared.u64 %0, %1;" : "=l"(place) : "l"(__cvta_generic_to_shared(h)));
        h[k % PLACES] = bytes[(blockIdx.x * PLACES + k) % PLACES];
        s[k % PLACES] = k + scaled;
        k += THREADS;
        sum += constant & 3;
    } while (--n > 0);
    if (k < PLACES) { // places that no turn has written
        h[k] = 200;
        s[k] = -5;
    }
    __syncthreads();
    const unsigned char *from = (const unsigned char *)place;
    int next = (t + 1) % PLACES;
    sum += constant * 1000 + index + scaled;
    if (from[t] > 100)
        sum += s[next] + from[next];
    __syncthreads();
    if (from[t + THREADS] < 50)
        sum -= s[t + THREADS] - from[next];
    out[blockIdx.x * THREADS + t] = sum;
}

static void expect(const int *turns, const unsigned char *bytes, int *out, int block, int scale,
                   int across)
{
    std::vector<int> h(PLACES), s(PLACES);
    int scaled = scale * block;
    for (int t = 0; t < THREADS; t++)
        for (int r = 0; r < 2; r++) {
            int k = t + r * THREADS;
            bool wrote = r < turns[t];
            h[k] = wrote ? bytes[(block * PLACES + k) % PLACES] : 200;
            s[k] = wrote ? k + scaled : -5;
        }
    for (int t = 0; t < THREADS; t++) {
        int next = (t + 1) % PLACES, sum = turns[t] * (77 & 3);
        sum += 77 * 1000 + t % across * 2 + 1 + scaled;
        if (h[t] > 100)
            sum += s[next] + h[next];
        if (h[t + THREADS] < 50)
            sum -= s[t + THREADS] - h[next];
        out[t] = sum;
    }
}

static void try_shape(int across)
{
    enum { BLOCKS = 6 };
    std::vector<int> turns(BLOCKS * THREADS), out(turns.size()), want(turns.size());
    std::vector<unsigned char> bytes(PLACES);
    for (size_t n = 0; n < turns.size(); n++)
        turns[n] = 1 + (n * 2654435761u >> 20) % 2;
    for (size_t n = 0; n < bytes.size(); n++)
        bytes[n] = (unsigned char)(n * 2246822519u >> 13);
    int *d_turns, *d_out;
    unsigned char *d_bytes;
    CHECK_EQ_INT(cudaMalloc(&d_turns, turns.size() * 4), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&d_out, out.size() * 4), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&d_bytes, bytes.size()), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(d_turns, turns.data(), turns.size() * 4, cudaMemcpyDefault),
                 cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(d_bytes, bytes.data(), bytes.size(), cudaMemcpyDefault), cudaSuccess);
    after_loops<<<BLOCKS, dim3(across, THREADS / across)>>>(d_turns, d_bytes, d_out, 37);
    CHECK_EQ_INT(cudaMemcpy(out.data(), d_out, out.size() * 4, cudaMemcpyDefault), cudaSuccess);
    for (int b = 0; b < BLOCKS; b++)
        expect(turns.data() + b * THREADS, bytes.data(), want.data() + b * THREADS, b, 37, across);
    CHECK(out == want);
    cudaFree(d_turns);
    cudaFree(d_out);
    cudaFree(d_bytes);
}

int main()
{
    for (int across : {192, 32, 16, 8})
        try_shape(across);
    return check_done();
}
