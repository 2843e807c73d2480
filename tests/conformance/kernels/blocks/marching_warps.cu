/* K2: stencils that march along z, radius 2 and 4: each thread writes what its neighbours' columns
 * give, in blocks of several shapes all, some or none of whose threads a guard lets stay, over
 * planes at a distance of their size or of more. Warps that take turns keep what they have in
 * registers. */
#include <vector>

#include "check.h"

static std::vector<int> in, out;
static int *device_in, *device_out;

template <int R>
__global__ void march(const int *from, int *to, int width, int height, int plane, int depth)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x + R,
        y = blockIdx.y * blockDim.y + threadIdx.y + R;
    if (x >= width - R || y >= height - R)
        return;
    const int *p = from + y * width + x;
    int column[2 * R + 1];
    for (int k = 0; k < 2 * R; k++)
        column[k + 1] = p[k * plane];
    for (int z = R; z < depth - R; z++) {
#pragma unroll
        for (int k = 0; k < 2 * R; k++)
            column[k] = column[k + 1];
        column[2 * R] = p[(z + R) * plane];
        const int *here = p + z * plane;
        int sum = column[R];
#pragma unroll
        for (int k = 1; k <= R; k++)
            sum += (2 * k + 1) * column[R - k] - 5 * k * column[R + k] + 3 * here[-k] - here[k] +
                   k * (here[-k * width] - 2 * here[k * width]);
        to[z * plane + y * width + x] = sum;
    }
}

static int expected(int r, int at, int width, int plane)
{
    const int *here = &in[at];
    int sum = here[0];
    for (int k = 1; k <= r; k++)
        sum += (2 * k + 1) * here[-k * plane] - 5 * k * here[k * plane] + 3 * here[-k] - here[k] +
               k * (here[-k * width] - 2 * here[k * width]);
    return sum;
}

template <int R> static void test(dim3 block, int width, int height, int between, int depth)
{
    int plane = width * height + between, count = plane * depth;
    in.resize(count), out.resize(count);
    for (int i = 0; i < count; i++)
        in[i] = (i * 7919u >> 3) % 1009;
    size_t bytes = sizeof(int) * count;
    CHECK_EQ_INT(cudaMalloc(&device_in, bytes), cudaSuccess);
    CHECK_EQ_INT(cudaMalloc(&device_out, bytes), cudaSuccess);
    CHECK_EQ_INT(cudaMemcpy(device_in, in.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    CHECK_EQ_INT(cudaMemset(device_out, 0xff, bytes), cudaSuccess);
    dim3 grid((width - 2 * R + block.x - 1) / block.x, (height - 2 * R + block.y - 1) / block.y);
    march<R><<<grid, block>>>(device_in, device_out, width, height, plane, depth);
    CHECK_EQ_INT(cudaMemcpy(out.data(), device_out, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    size_t wrong = 0;
    for (int at = 0; at < count; at++) {
        int x = at % plane % width, y = at % plane / width, z = at / plane;
        bool inside =
            x >= R && y >= R && z >= R && x < width - R && y < height - R && z < depth - R;
        wrong += out[at] != (inside ? expected(R, at, width, plane) : -1);
    }
    CHECK_EQ_INT(wrong, 0);
    if (wrong)
        printf("radius %d, blocks of %u,%u, %d,%d,%d\n", R, block.x, block.y, width, height, depth);
    CHECK_EQ_INT(cudaFree(device_in), cudaSuccess);
    CHECK_EQ_INT(cudaFree(device_out), cudaSuccess);
}

int main()
{
    for (dim3 block : {dim3(32, 8), dim3(16, 16), dim3(64, 4), dim3(128, 2), dim3(20, 8)})
        for (int depth : {7, 9, 10, 31}) {
            test<2>(block, 132, 36, 0, depth);
            test<2>(block, 99, 41, 1000, depth);
            test<4>(block, 136, 24, 832, depth);
            test<4>(block, 70, 20, 0, depth);
        }
    return check_done();
}
