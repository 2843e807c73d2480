/* K2: kernels whose source fixes the size of their clusters (__cluster_dims__): where the attribute
 * may stand, what its arguments may be, launches by <<<>>> and by attributes, what these refuse. */
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>

#include "check.h"

namespace cg = cooperative_groups;

#define WIDE 4
constexpr unsigned long tall = 2;
enum { DEEP = 2 };

static int *device_out;
static int host_out[256];

#define SREG(name)                                                                                 \
    ({                                                                                             \
        unsigned value_read;                                                                       \
        asm volatile("mov.u32 %0, %%" name ";" : "=r"(value_read));                                \
        value_read;                                                                                \
    })

/* What a block finds: its cluster's size, the clusters of the grid, and what the block after it in
 * the cluster has in its shared memory. */
__device__ void look(int *out)
{
    __shared__ int mine;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int *o = out + 8 * block;
    if (threadIdx.x == 0)
        mine = 100 + (int)block;
    cluster.sync();
    if (threadIdx.x == 0) {
        unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
        o[0] = (int)SREG("cluster_nctaid.x"), o[1] = (int)SREG("cluster_nctaid.y");
        o[2] = (int)SREG("cluster_nctaid.z"), o[3] = (int)SREG("nclusterid.x");
        o[4] = (int)cluster.num_blocks(), o[5] = (int)cluster.block_rank();
        o[6] = *cluster.map_shared_rank(&mine, next);
        asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.b32 %0, 1, 0, p; }"
                     : "=r"(o[7]));
    }
    cluster.sync();
}

__global__ void __cluster_dims__(2, 1, 1) after(int *out) { look(out); }
__cluster_dims__(2) __global__ void before(int *out) { look(out); }
static __global__ void __launch_bounds__(64) __cluster_dims__(WIDE / 2, tall) named(int *out)
{
    look(out);
}
extern "C" __global__ __cluster_dims__(1, tall, DEEP) void unmangled(int *out) { look(out); }

__global__ void __cluster_dims__(8) declared(int *out);
__global__ void __cluster_dims__(8) declared(int *out) { look(out); }

namespace
{
template <class T> struct shape {
    static constexpr int x = sizeof(T), y = 1;
};
template <class T> __global__ void __cluster_dims__(shape<T>::x, shape<T>::y) typed(T *out)
{
    look(out);
}
template <int X, int Y = 1> __global__ __cluster_dims__(X, Y, 1) void sized(int *out) { look(out); }
} // namespace

__global__ void none(int *out) { look(out); }

static void check_clusters(dim3 grid, dim3 cluster, int is_explicit)
{
    CHECK_EQ_INT(cudaGetLastError(), cudaSuccess);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    cudaMemcpy(host_out, device_out, sizeof host_out, cudaMemcpyDeviceToHost);
    unsigned size = cluster.x * cluster.y * cluster.z;
    for (unsigned b = 0; b < grid.x * grid.y * grid.z; b++) {
        unsigned at[3] = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
        unsigned rank =
            at[0] % cluster.x + cluster.x * (at[1] % cluster.y + cluster.y * (at[2] % cluster.z));
        unsigned next = (rank + 1) % size;
        unsigned x = at[0] / cluster.x * cluster.x + next % cluster.x,
                 y = at[1] / cluster.y * cluster.y + next / cluster.x % cluster.y,
                 z = at[2] / cluster.z * cluster.z + next / cluster.x / cluster.y;
        const int want[8] = {(int)cluster.x,
                             (int)cluster.y,
                             (int)cluster.z,
                             (int)(grid.x / cluster.x),
                             (int)size,
                             (int)rank,
                             100 + (int)(x + grid.x * (y + grid.y * z)),
                             is_explicit};
        CHECK(memcmp(want, &host_out[8 * b], sizeof want) == 0);
    }
    cudaMemset(device_out, 0, sizeof host_out);
}

static void test_forms()
{
    after<<<8, 32>>>(device_out);
    check_clusters(8, 2, 1);
    before<<<dim3(4, 3), 32>>>(device_out);
    check_clusters(dim3(4, 3), 2, 1);
    named<<<dim3(4, 4), 32>>>(device_out);
    check_clusters(dim3(4, 4), dim3(2, 2), 1);
    unmangled<<<dim3(3, 2, 4), 32>>>(device_out);
    check_clusters(dim3(3, 2, 4), dim3(1, 2, 2), 1);
    declared<<<16, 32>>>(device_out);
    check_clusters(16, 8, 1);
    typed<int><<<8, 32>>>(device_out);
    check_clusters(8, 4, 1);
    sized<3><<<dim3(6, 2), 32>>>(device_out);
    check_clusters(dim3(6, 2), 3, 1);
    sized<2, 2><<<dim3(6, 2), 32>>>(device_out);
    check_clusters(dim3(6, 2), dim3(2, 2), 1);
    none<<<6, 32>>>(device_out);
    check_clusters(6, 1, 0);
}

static cudaError_t launch(void (*kernel)(int *), dim3 grid, dim3 cluster)
{
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a = {};
    c.gridDim = grid;
    c.blockDim = 32;
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = cluster.x;
    a.val.clusterDim.y = cluster.y;
    a.val.clusterDim.z = cluster.z;
    c.attrs = &a;
    c.numAttrs = cluster.x != 0;
    return cudaLaunchKernelEx(&c, kernel, device_out);
}

static void test_launches()
{
    CHECK_EQ_INT(launch(after, 8, dim3(0, 0, 0)), cudaSuccess);
    check_clusters(8, 2, 1);
    CHECK_EQ_INT(launch(after, 8, 2), cudaSuccess);
    check_clusters(8, 2, 1);
    CHECK(launch(after, 8, 4) != cudaSuccess);
    CHECK(cudaGetLastError() != cudaSuccess);
    after<<<7, 32>>>(device_out);
    CHECK(cudaGetLastError() != cudaSuccess);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    named<<<dim3(4, 3), 32>>>(device_out);
    CHECK(cudaGetLastError() != cudaSuccess);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
}

static void test_attributes()
{
    cudaFuncAttributes a = {};
    CHECK_EQ_INT(cudaFuncGetAttributes(&a, named), cudaSuccess);
    CHECK_EQ_INT(a.requiredClusterWidth, 2);
    CHECK_EQ_INT(a.requiredClusterHeight, 2);
    CHECK_EQ_INT(a.requiredClusterDepth, 1);
    CHECK_EQ_INT(a.maxThreadsPerBlock, 64);
    CHECK_EQ_INT(cudaFuncSetAttribute(named, cudaFuncAttributeRequiredClusterWidth, 2),
                 cudaSuccess); /* as it is */
    CHECK_EQ_INT(cudaFuncGetAttributes(&a, none), cudaSuccess);
    CHECK_EQ_INT(a.requiredClusterWidth, 0);
    CHECK_EQ_INT(a.clusterDimMustBeSet, 0);
}

static void test_graph()
{
    cudaStream_t s;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&s);
    CHECK_EQ_INT(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
    sized<2, 2><<<dim3(6, 2), 32, 0, s>>>(device_out);
    CHECK_EQ_INT(cudaStreamEndCapture(s, &graph), cudaSuccess);
    CHECK_EQ_INT(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    CHECK_EQ_INT(cudaGraphLaunch(exec, s), cudaSuccess);
    check_clusters(dim3(6, 2), dim3(2, 2), 1);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(s);
}

int main()
{
    CHECK_EQ_INT(cudaMalloc(&device_out, sizeof host_out), cudaSuccess);
    cudaMemset(device_out, 0, sizeof host_out);
    test_forms();
    test_launches();
    test_attributes();
    test_graph();
    cudaFree(device_out);
    return check_done();
}
