/* K2: tiles that a block fills by one index, a quotient and a remainder of which are row and
 * column: most warps have the end of a row among their lanes, short rows more than one. Elements of
 * all sizes, read from an image with its edge repeated and written to shared memory. */
#include <vector>

#include "check.h"

enum { WIDTH = 70, HEIGHT = 37, THREADS = 96 };

template <class T, int COLUMNS, int ROWS>
__global__ void tiles(const T *image, T *out, int width, int height, int from)
{
    __shared__ T tile[ROWS][COLUMNS];
    int x0 = blockIdx.x * COLUMNS - 3, y0 = blockIdx.y * ROWS - 2;
    for (int k = threadIdx.x; k < ROWS * COLUMNS; k += THREADS) {
        int column = k % COLUMNS, row = k / COLUMNS;
        int x = min(max(x0 + column, 0), width - 1), y = min(max(y0 + row, 0), height - 1);
        tile[row][column] = image[y * width + x + from];
    }
    __syncthreads();
    T *mine = out + (blockIdx.y * gridDim.x + blockIdx.x) * (ROWS * COLUMNS);
    for (int k = threadIdx.x; k < ROWS * COLUMNS; k += THREADS)
        if (k % 5 != 1) /* what is not written stays */
            mine[k] = tile[k / COLUMNS][COLUMNS - 1 - k % COLUMNS];
}

template <class T, int COLUMNS, int ROWS> static void try_tiles(void)
{
    const int across = WIDTH / COLUMNS + 2, down = HEIGHT / ROWS + 2, from = 5;
    std::vector<T> image(WIDTH * HEIGHT + from);
    for (size_t n = 0; n < image.size(); n++)
        image[n] = (T)(n * 2654435761u >> 13);
    std::vector<T> out(across * down * ROWS * COLUMNS);
    T *d_image, *d_out;
    CHECK_EQ_INT(cudaMalloc(&d_image, image.size() * sizeof(T)), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&d_out, out.size() * sizeof(T)), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(d_image, image.data(), image.size() * sizeof(T), cudaMemcpyDefault),
                 cudaSuccess);
    CHECK_EQ_INT(cudaMemset(d_out, 0, out.size() * sizeof(T)), cudaSuccess);
    tiles<T, COLUMNS, ROWS><<<dim3(across, down), THREADS>>>(d_image, d_out, WIDTH, HEIGHT, from);
    CHECK_EQ_INT(cudaMemcpy(out.data(), d_out, out.size() * sizeof(T), cudaMemcpyDefault),
                 cudaSuccess);
    int wrong = 0;
    for (size_t n = 0; n < out.size(); n++) {
        int k = (int)(n % (ROWS * COLUMNS)), block = (int)(n / (ROWS * COLUMNS));
        int column = COLUMNS - 1 - k % COLUMNS, row = k / COLUMNS;
        int x = block % across * COLUMNS - 3 + column, y = block / across * ROWS - 2 + row;
        x = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x;
        y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
        T want = k % 5 != 1 ? image[y * WIDTH + x + from] : T(0);
        wrong += out[n] != want;
    }
    if (wrong)
        printf("tiles of %d by %d, %zu bytes an element: %d wrong\n", COLUMNS, ROWS, sizeof(T),
               wrong);
    CHECK(wrong == 0);
    cudaFree(d_image);
    cudaFree(d_out);
}

template <int COLUMNS, int ROWS> static void try_types(void)
{
    try_tiles<unsigned char, COLUMNS, ROWS>();
    try_tiles<short, COLUMNS, ROWS>();
    try_tiles<float, COLUMNS, ROWS>();
    try_tiles<double, COLUMNS, ROWS>();
}

int main()
{
    try_types<34, 10>();
    try_types<32, 5>();
    try_types<17, 8>();
    try_types<9, 6>();
    return check_done();
}
