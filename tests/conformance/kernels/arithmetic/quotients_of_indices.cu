/* K2: quotients and remainders of what is made of one index: rows, planes and columns, where a warp
 * lies in one row, where rows end within it, with divisors of every sign. */
// RUN 256: WEIR_VECTORS=256
#include <vector>

#include "check.h"

template <class I> struct place {
    I column, row, plane, of_row, left;
};

template <class I> __global__ void places(place<I> *out, I n, I width, I height, I step, I shift)
{
    for (I i = (I)(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += (I)(gridDim.x * blockDim.x)) {
        I row = i / width;
        place<I> p = {i % width, row % height, row / height, (row - shift) / step, 0};
        if (p.column % 3 != 1) /* some lanes only */
            p.left = (row + shift) % step;
        out[i] = p;
    }
}

template <class I> static void try_sizes(I width, I height, I step, I shift)
{
    const int n = 5000;
    place<I> *d;
    std::vector<place<I>> out(n);
    CHECK_EQ_INT(cudaMalloc(&d, n * sizeof *d), cudaSuccess);
    places<I><<<7, 96>>>(d, (I)n, width, height, step, shift);
    CHECK_EQ_INT(cudaMemcpy(out.data(), d, n * sizeof *d, cudaMemcpyDefault), cudaSuccess);
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        I row = (I)i / width;
        place<I> p = {(I)i % width, row % height, row / height, (row - shift) / step, 0};
        if (p.column % 3 != 1)
            p.left = (row + shift) % step;
        wrong += out[i].column != p.column || out[i].row != p.row || out[i].plane != p.plane ||
                 out[i].of_row != p.of_row || out[i].left != p.left;
    }
    if (wrong)
        printf("%zu bytes, %lld by %lld, step %lld, shift %lld: %d wrong\n", sizeof(I),
               (long long)width, (long long)height, (long long)step, (long long)shift, wrong);
    CHECK(wrong == 0);
    cudaFree(d);
}

template <class I> static void try_type(void)
{
    for (I width : {1, 3, 17, 31, 32, 64, 100, 1024})
        for (I height : {1, 2, 7, 64}) {
            try_sizes<I>(width, height, 2, 3);
            try_sizes<I>(width, height, 1, 0);
            try_sizes<I>(width, height, 13, 100);
            if ((I)-1 < 0)
                try_sizes<I>(width, height, (I)-3, 5), try_sizes<I>(width, height, (I)-1, 5);
        }
}

int main()
{
    try_type<int>();
    try_type<unsigned>();
    try_type<long long>();
    try_type<unsigned long long>();
    return check_done();
}
