/* nv/target: which code is chosen for the host and for the device. */
#include <cuda_runtime.h>
#include <nv/target>

#include "check.h"

static __host__ __device__ int where() { NV_IF_TARGET(NV_IS_DEVICE, (return 1;), (return 2;)) }

static __host__ __device__ int chosen()
{
    int r = 0;
    NV_DISPATCH_TARGET(NV_IS_EXACTLY_SM_70, (r = 70;), NV_PROVIDES_SM_100, (r = 100;),
                       NV_PROVIDES_SM_80, (r = 80;), NV_IS_HOST, (r = 1; r += 1;))
    NV_IF_TARGET(NV_NO_TARGET, (r = -1;))
    NV_IF_ELSE_TARGET(NV_ANY_TARGET, (r += 1000;), (r = -2;))
    NV_DISPATCH_TARGET(NV_NO_TARGET, (r = -3;))
    return r;
}

static __global__ void choose(int *out)
{
    out[0] = where();
    out[1] = chosen();
}

int main()
{
    int *out;
    CHECK_EQ_INT(cudaMallocManaged(&out, 2 * sizeof(int)), cudaSuccess);
    choose<<<1, 1>>>(out);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    CHECK_EQ_INT(out[0], 1);
    CHECK_EQ_INT(out[1], 1080);
    CHECK_EQ_INT(where(), 2);
    CHECK_EQ_INT(chosen(), 1002);
    CHECK_EQ_INT(cudaFree(out), cudaSuccess);
    return check_done();
}
