// Matrix product C = A B of square matrices, one element of C per work item: from global memory,
// and from square tiles in local memory. n is a multiple of the tile.
kernel void matmul_naive(global const float *a, global const float *b, global float *c, int n)
{
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

#define TILED(name, TILE)                                                                          \
    kernel void name(global const float *a, global const float *b, global float *c, int n)         \
    {                                                                                              \
        local float tile_a[TILE][TILE], tile_b[TILE][TILE];                                        \
        int x = get_local_id(0), y = get_local_id(1);                                              \
        int column = get_group_id(0) * TILE + x, row = get_group_id(1) * TILE + y;                 \
        float sum = 0;                                                                             \
        for (int at = 0; at < n; at += TILE) {                                                     \
            tile_a[y][x] = a[row * n + at + x];                                                    \
            tile_b[y][x] = b[(at + y) * n + column];                                               \
            barrier(CLK_LOCAL_MEM_FENCE);                                                          \
            _Pragma("unroll") for (int k = 0; k < TILE; k++) sum += tile_a[y][k] * tile_b[k][x];   \
            barrier(CLK_LOCAL_MEM_FENCE);                                                          \
        }                                                                                          \
        c[row * n + column] = sum;                                                                 \
    }

TILED(matmul_16, 16)
TILED(matmul_32, 32)
