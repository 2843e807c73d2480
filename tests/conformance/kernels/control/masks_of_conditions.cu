/* K2: conditions that are made of others by and, or and not: of what is the same in a warp, in half
 * of it, of neighbours' indices and of data, in loops that lanes leave and join. Masks are integers
 * and vectors in turn. */
// RUN 256: WEIR_VECTORS=256
#include <vector>

#include "check.h"

enum { THREADS = 128, TURNS = 150 };

template <class T> __global__ void diagonals(const unsigned char *a, T *out, int flag)
{
    __shared__ T line[3][THREADS + 1];
    int t = threadIdx.y * blockDim.x + threadIdx.x, half = threadIdx.y;
    unsigned char mine = a[blockIdx.x * THREADS + t];
    for (int k = 0; k < 3; k++)
        line[k][t + 1] = (T)mine;
    if (t == 0)
        line[0][0] = line[1][0] = line[2][0] = 1;
    __syncthreads();
    T sum = 0;
    for (int d = 1; d <= TURNS; d++) {
        T *now = line[d % 3], *last = line[(d + 2) % 3];
        int j = d - t;
        bool late = d > 60 && flag, odd = half & 1;
        if (j >= 1 && j <= 40 && !(late && odd))
            now[t + 1] = (T)(last[t] + (mine != a[blockIdx.x * THREADS + (d + t) % THREADS]));
        else if (j == 0 || (odd && mine > 200))
            now[t + 1] = (T)d;
        if ((late || mine < 30) && (odd || j > 3))
            sum += now[t + 1];
        __syncthreads();
    }
    out[blockIdx.x * THREADS + t] = (T)(sum + line[TURNS % 3][t + 1]);
}

template <class T> static void expect(const unsigned char *a, T *out, int flag, int across)
{
    std::vector<T> line[3], sum(THREADS);
    for (auto &l : line) {
        l.assign(THREADS + 1, 1);
        for (int t = 0; t < THREADS; t++)
            l[t + 1] = (T)a[t];
    }
    for (int d = 1; d <= TURNS; d++) {
        std::vector<T> now = line[d % 3];
        const std::vector<T> &last = line[(d + 2) % 3];
        for (int t = 0; t < THREADS; t++) {
            int j = d - t;
            bool late = d > 60 && flag, odd = t / across & 1;
            if (j >= 1 && j <= 40 && !(late && odd))
                now[t + 1] = (T)(last[t] + (a[t] != a[(d + t) % THREADS]));
            else if (j == 0 || (odd && a[t] > 200))
                now[t + 1] = (T)d;
            if ((late || a[t] < 30) && (odd || j > 3))
                sum[t] = (T)(sum[t] + now[t + 1]);
        }
        line[d % 3] = now;
    }
    for (int t = 0; t < THREADS; t++)
        out[t] = (T)(sum[t] + line[TURNS % 3][t + 1]);
}

template <class T> static void try_type(int across)
{
    enum { BLOCKS = 5 };
    std::vector<unsigned char> a(BLOCKS * THREADS);
    for (size_t n = 0; n < a.size(); n++)
        a[n] = (unsigned char)(n * 2654435761u >> 15);
    std::vector<T> out(a.size()), want(a.size());
    unsigned char *d_a;
    T *d_out;
    CHECK_EQ_INT(cudaMalloc(&d_a, a.size()), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&d_out, a.size() * sizeof(T)), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(d_a, a.data(), a.size(), cudaMemcpyDefault), cudaSuccess);
    for (int flag = 0; flag < 2; flag++) {
        diagonals<T><<<BLOCKS, dim3(across, THREADS / across)>>>(d_a, d_out, flag);
        CHECK_EQ_INT(cudaMemcpy(out.data(), d_out, out.size() * sizeof(T), cudaMemcpyDefault),
                     cudaSuccess);
        for (int b = 0; b < BLOCKS; b++)
            expect(a.data() + b * THREADS, want.data() + b * THREADS, flag, across);
        CHECK(out == want);
    }
    cudaFree(d_a);
    cudaFree(d_out);
}

int main()
{
    for (int across : {128, 16, 8}) {
        try_type<int>(across);
        try_type<float>(across);
        try_type<short>(across);
        try_type<unsigned char>(across);
    }
    return check_done();
}
