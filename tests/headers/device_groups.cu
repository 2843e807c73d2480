/* Cooperative groups and warp matrices: every group, partition and collective. Compiled only. */

/* as libcu++ declares the groups ahead, in whichever order its headers and ours are included */
namespace cooperative_groups
{
namespace __v1
{
class thread_block;
template <unsigned Size, typename Parent> class thread_block_tile;
} // namespace __v1
} // namespace cooperative_groups

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_pipeline.h>
#include <mma.h>

namespace cg = cooperative_groups;

struct vector3 {
    double x, y, z;
};
__device__ vector3 operator+(vector3 a, vector3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

__device__ int tree(cg::thread_group g, int *t, int v)
{
    int rank = g.thread_rank();
    for (int i = g.size() / 2; i; i /= 2) {
        t[rank] = v;
        g.sync();
        if (rank < i)
            v += t[rank + i];
        g.sync();
    }
    return v;
}

template <typename Tile> __device__ void tile_operations(Tile tile, int *q, float *p, double *d)
{
    int r = tile.thread_rank();
    q[r] = tile.shfl(q[r], 0) + tile.shfl_up(q[r], 1) + tile.shfl_down(q[r], 1) + tile.any(q[r]) +
           tile.all(q[r]) + tile.ballot(q[r]) + tile.match_any(q[r]);
    int same;
    q[r] += tile.match_all(q[r], same) + same + tile.meta_group_rank() + tile.meta_group_size() +
            tile.num_threads() + tile.size();
    vector3 v = tile.shfl(vector3{d[0], d[1], d[2]}, 1);
    d[3] = v.x + v.z;
    q[r] += cg::reduce(tile, q[r], cg::plus<int>()) + cg::reduce(tile, q[r], cg::less<int>()) +
            cg::reduce(tile, q[r], cg::greater<int>()) +
            cg::reduce(tile, q[r], cg::bit_and<int>()) + cg::reduce(tile, q[r], cg::bit_or<int>()) +
            cg::reduce(tile, q[r], cg::bit_xor<int>());
    p[r] = cg::reduce(tile, p[r], cg::plus<float>()) + cg::reduce(tile, p[r], cg::plus<>());
    d[r] = cg::reduce(tile, d[r], [](double a, double b) { return a * b; });
    v = cg::reduce(tile, v, cg::plus<vector3>());
    p[r] += cg::inclusive_scan(tile, p[r]) + cg::exclusive_scan(tile, p[r]) +
            cg::inclusive_scan(tile, p[r], cg::greater<float>()) +
            cg::exclusive_scan(tile, p[r], cg::less<float>());
    cg::invoke_one(tile, [=] { q[0] = 1; });
    q[1] = cg::invoke_one_broadcast(tile, [=] { return q[0]; });
    tile.sync();
    cg::sync(tile);
}

__global__ void groups(int *q, float *p, double *d)
{
    __shared__ int t[1024];
    cg::thread_block block = cg::this_thread_block();
    cg::grid_group grid = cg::this_grid();
    q[0] = tree(block, t, q[1]) + tree(cg::tiled_partition(block, 16), t, q[2]);
    q[1] = block.group_index().x + block.thread_index().y + block.group_dim().z +
           block.num_threads() + block.dim_threads().x;
    cg::thread_block::arrival_token token = block.barrier_arrive();
    block.barrier_wait(static_cast<cg::thread_block::arrival_token &&>(token));

    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    tile_operations(warp, q, p, d);
    q[2] = warp.shfl_xor(q[3], 1);
    tile_operations(cg::tiled_partition<1>(block), q, p, d);
    tile_operations(cg::tiled_partition<4>(warp), q, p, d);
    tile_operations(cg::tiled_partition<16>(block), q, p, d);
    cg::coalesced_group here = cg::coalesced_threads();
    tile_operations(here, q, p, d);
    tile_operations(cg::labeled_partition(here, q[5]), q, p, d);
    tile_operations(cg::binary_partition(warp, q[6] > 0), q, p, d);
    tile_operations(cg::tiled_partition(here, 4), q, p, d);

    auto several = cg::tiled_partition<128>(block);
    d[several.meta_group_rank()] = cg::reduce(several, d[0], cg::plus<double>()) +
                                   cg::inclusive_scan(several, d[1]) +
                                   cg::exclusive_scan(several, d[2], cg::plus<double>()) +
                                   several.shfl(d[3], 5) + several.any(q[7]) + several.all(q[8]);
    several.sync();

    cg::memcpy_async(block, t, q, sizeof(t));
    cg::memcpy_async(block, t, cuda::aligned_size_t<16>(64), q, 64);
    cg::wait(block);
    cg::wait_prior<1>(block);
    __pipeline_memcpy_async(&t[threadIdx.x], &q[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);

    if (grid.is_valid())
        grid.sync();
    cg::sync(grid);
    q[9] = grid.thread_rank() + grid.size() + grid.group_dim().x + grid.num_blocks() +
           grid.block_rank() + cg::this_thread().size();
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    cg::cluster_group cluster = cg::this_cluster();
    cluster.sync();
    q[10] = cluster.block_rank() + cluster.num_blocks() + cluster.thread_rank() +
            *cluster.map_shared_rank(t, 0) + cluster.dim_blocks().x;
#endif
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
using namespace nvcuda;
template <int M, int N, int K, typename T, typename Acc, typename Result, typename La, typename Lb,
          typename Memory>
__device__ void multiply(const Memory *a, const Memory *b, const Acc *c, Result *d)
{
    wmma::fragment<wmma::matrix_a, M, N, K, T, La> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, Lb> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Acc> fc;
    wmma::fragment<wmma::accumulator, M, N, K, Result> fd;
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
    wmma::mma_sync(fd, fa, fb, fc);
    for (int i = 0; i < fd.num_elements; i++)
        fd.x[i] = fd.x[i] + fd.x[i];
    wmma::store_matrix_sync(d, fd, 16, wmma::mem_col_major);
    wmma::fill_fragment(fa, fa.x[0]);
}
template <int M, int N, int K, typename T, typename Acc, typename Result, typename Memory>
__device__ void layouts(const Memory *a, const Memory *b, const Acc *c, Result *d)
{
    multiply<M, N, K, T, Acc, Result, wmma::row_major, wmma::row_major>(a, b, c, d);
    multiply<M, N, K, T, Acc, Result, wmma::row_major, wmma::col_major>(a, b, c, d);
    multiply<M, N, K, T, Acc, Result, wmma::col_major, wmma::row_major>(a, b, c, d);
    multiply<M, N, K, T, Acc, Result, wmma::col_major, wmma::col_major>(a, b, c, d);
}
template <int M, int N>
__device__ void sizes(half *h, nv_bfloat16 *b, signed char *s, unsigned char *u, int *i, float *f)
{
    layouts<M, N, 16, half, float, float>(h, h, f, f);
    layouts<M, N, 16, half, half, half>(h, h, h, h);
    layouts<M, N, 16, half, half, float>(h, h, h, f);
    layouts<M, N, 16, half, float, half>(h, h, f, h);
    layouts<M, N, 16, nv_bfloat16, float, float>(b, b, f, f);
    layouts<M, N, 16, signed char, int, int>(s, s, i, i);
    layouts<M, N, 16, unsigned char, int, int>(u, u, i, i);
}
__global__ void matrices(half *h, nv_bfloat16 *b, signed char *s, unsigned char *u, int *i,
                         float *f, double *d)
{
    sizes<16, 16>(h, b, s, u, i, f);
    sizes<32, 8>(h, b, s, u, i, f);
    sizes<8, 32>(h, b, s, u, i, f);
    layouts<16, 16, 8, wmma::precision::tf32, float, float>(f, f, f, f);
    layouts<8, 8, 4, double, double, double>(d, d, d, d);
    multiply<8, 8, 32, wmma::precision::s4, int, int, wmma::row_major, wmma::col_major>(
        (const void *)i, (const void *)i, i, i);
    multiply<8, 8, 32, wmma::precision::u4, int, int, wmma::row_major, wmma::col_major>(
        (const void *)i, (const void *)i, i, i);
    wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::precision::b1, wmma::row_major> ba;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, wmma::precision::b1, wmma::col_major> bb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> bc;
    wmma::load_matrix_sync(ba, i, 128);
    wmma::load_matrix_sync(bb, i, 128);
    wmma::fill_fragment(bc, 0);
    wmma::bmma_sync(bc, ba, bb, bc);
    wmma::bmma_sync(bc, ba, bb, bc, wmma::experimental::bmmaBitOpAND);
    wmma::store_matrix_sync(i, bc, 8, wmma::mem_row_major);
    f[0] = wmma::__float_to_tf32(f[1]);
}
#endif

int main() {}
