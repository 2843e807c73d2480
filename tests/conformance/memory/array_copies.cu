/* M3: copies and sets with arrays, between devices, of symbols and in batches: every byte is where
 * it belongs, and no other changed. The plain shapes are in copies. */
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

enum { W = 60, H = 20, D = 6 }; /* elements of an array */

typedef std::vector<unsigned char> bytes;

static bytes pattern(size_t n, int seed)
{
    bytes v(n);
    for (size_t i = 0; i < n; i++)
        v[i] = (unsigned char)(i * 7 + seed + i / 251);
    return v;
}

/* Contents of an array of W x h x d elements of 2 bytes. */
static bytes whole(cudaArray_t a, int h, int d)
{
    bytes v((size_t)W * 2 * h * d);
    cudaMemcpy3DParms p = {};
    p.srcArray = a;
    p.dstPtr = make_cudaPitchedPtr(v.data(), W * 2, W * 2, h);
    p.extent = make_cudaExtent(W, h, d);
    p.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&p));
    return v;
}

static void fill(cudaArray_t a, const bytes &v, int h, int d)
{
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr((void *)v.data(), W * 2, W * 2, h);
    p.dstArray = a;
    p.extent = make_cudaExtent(W, h, d);
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
}

static void arrays_2d()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<short>();
    cudaArray_t a, b;
    bytes model = pattern(W * 2 * H, 1), source = pattern(4096, 2), out(4096);
    unsigned char *device;

    OK(cudaMallocArray(&a, &desc, W, H));
    OK(cudaMallocArray(&b, &desc, W, H));
    OK(cudaMalloc(&device, 4096));
    fill(a, model, H, 1);
    /* a rectangle into it, from the host and from the device */
    for (int kind = 0; kind < 2; kind++) {
        OK(cudaMemcpy(device, source.data(), 4096, cudaMemcpyHostToDevice));
        OK(cudaMemcpy2DToArray(a, 20, 5 + kind, kind ? device : source.data(), 64, 40, 7,
                               kind ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice));
        for (int y = 0; y < 7; y++)
            for (int x = 0; x < 40; x++)
                model[(y + 5 + kind) * W * 2 + 20 + x] = source[y * 64 + x];
        CHECK(whole(a, H, 1) == model);
    }
    /* a rectangle out of it */
    OK(cudaMemcpy2DFromArray(out.data(), 50, a, 30, 2, 46, 9, cudaMemcpyDeviceToHost));
    for (int y = 0; y < 9; y++)
        CHECK(memcmp(&out[y * 50], &model[(y + 2) * W * 2 + 30], 46) == 0);
    CHECK_EQ_INT(out[46], 0); /* between the rows */
    /* from one to the other */
    bytes other = pattern(W * 2 * H, 9);
    fill(b, other, H, 1);
    OK(cudaMemcpy2DArrayToArray(b, 8, 3, a, 16, 1, 60, 10));
    for (int y = 0; y < 10; y++)
        memcpy(&other[(y + 3) * W * 2 + 8], &model[(y + 1) * W * 2 + 16], 60);
    CHECK(whole(b, H, 1) == other);
    CHECK(whole(a, H, 1) == model);
    OK(cudaFreeArray(a));
    OK(cudaFreeArray(b));
    OK(cudaFree(device));
}

static void arrays_3d()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<short>();
    cudaArray_t a;
    bytes model = pattern(W * 2 * H * D, 3), source = pattern(8192, 4);
    cudaMemcpy3DParms p = {};

    OK(cudaMalloc3DArray(&a, &desc, make_cudaExtent(W, H, D)));
    fill(a, model, H, D);
    CHECK(whole(a, H, D) == model);
    p.srcPtr = make_cudaPitchedPtr(source.data(), 64, 64, 16);
    p.srcPos = make_cudaPos(0, 1, 1);
    p.dstArray = a;
    p.dstPos = make_cudaPos(11, 4, 2); /* of an array: elements */
    p.extent = make_cudaExtent(21, 13, 3);
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 13; y++)
            memcpy(&model[((z + 2) * H + y + 4) * W * 2 + 22], &source[((z + 1) * 16 + y + 1) * 64],
                   42);
    CHECK(whole(a, H, D) == model);
    OK(cudaFreeArray(a));
}

static void peers_and_sets()
{
    const size_t n = 16384;
    unsigned char *p, *q;
    bytes model = pattern(n, 5), other = pattern(n, 6), out(n);
    cudaMemcpy3DPeerParms box = {};

    OK(cudaMalloc(&p, n));
    OK(cudaMalloc(&q, n));
    OK(cudaMemcpy(p, model.data(), n, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(q, other.data(), n, cudaMemcpyHostToDevice));
    box.srcPtr = make_cudaPitchedPtr(p, 128, 128, 16);
    box.srcPos = make_cudaPos(3, 2, 1);
    box.dstPtr = make_cudaPitchedPtr(q, 64, 64, 32);
    box.dstPos = make_cudaPos(9, 1, 2);
    box.extent = make_cudaExtent(41, 10, 4);
    OK(cudaMemcpy3DPeer(&box));
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 10; y++)
            memcpy(&other[((z + 2) * 32 + y + 1) * 64 + 9],
                   &model[((z + 1) * 16 + y + 2) * 128 + 3], 41);
    OK(cudaMemcpyPeer(q + 100, 0, p + 7, 0, 333));
    memcpy(&other[100], &model[7], 333);
    OK(cudaMemset2D(q + 12000, 60, 0xab, 31, 20));
    for (int y = 0; y < 20; y++)
        memset(&other[12000 + y * 60], 0xab, 31);
    OK(cudaMemset3D(make_cudaPitchedPtr(q + 8192, 40, 40, 7), 0xcd, make_cudaExtent(13, 5, 3)));
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < 5; y++)
            memset(&other[8192 + (z * 7 + y) * 40], 0xcd, 13);
    OK(cudaMemcpy(out.data(), q, n, cudaMemcpyDeviceToHost));
    CHECK(out == other);
    OK(cudaFree(p));
    OK(cudaFree(q));
}

__device__ unsigned char variable[256];

static void symbols()
{
    bytes model = pattern(256, 7), source = pattern(256, 8), out(256);
    unsigned char *device;
    cudaStream_t s;

    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&device, 256));
    OK(cudaMemcpy(device, source.data(), 256, cudaMemcpyHostToDevice));
    OK(cudaMemcpyToSymbol(variable, model.data(), 256));
    OK(cudaMemcpyToSymbol(variable, source.data(), 20, 30));
    memcpy(&model[30], &source[0], 20);
    OK(cudaMemcpyToSymbol(variable, device + 50, 25, 100, cudaMemcpyDeviceToDevice));
    memcpy(&model[100], &source[50], 25);
    OK(cudaMemcpyToSymbol(variable, device + 80, 25, 200, cudaMemcpyDefault));
    memcpy(&model[200], &source[80], 25);
    OK(cudaMemcpyToSymbolAsync(variable, &source[0], 5, 251, cudaMemcpyHostToDevice, s));
    memcpy(&model[251], &source[0], 5);
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpyFromSymbol(out.data(), variable, 256));
    CHECK(out == model);
    OK(cudaMemcpyFromSymbol(device, variable, 60, 10, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(out.data(), device, 60, cudaMemcpyDeviceToHost));
    CHECK(memcmp(out.data(), &model[10], 60) == 0);
    OK(cudaFree(device));
    OK(cudaStreamDestroy(s));
}

static void batches()
{
    const int n = 5;
    bytes source = pattern(4096, 11), out(4096), model(4096);
    unsigned char *p;
    void *dsts[n];
    const void *srcs[n];
    size_t sizes[n], firsts[] = {0};
    cudaMemcpyAttributes how = {};
    cudaStream_t s;

    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaStreamCreate(&s));
    OK(cudaMalloc(&p, 4096));
    OK(cudaMemset(p, 0, 4096));
    for (int i = 0; i < n; i++) {
        dsts[i] = p + i * 700 + i;
        srcs[i] = &source[i * 301];
        sizes[i] = 100 + i * 97;
        memcpy(&model[i * 700 + i], &source[i * 301], sizes[i]);
    }
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpyBatchAsync(dsts, srcs, sizes, n, &how, firsts, 1, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(out.data(), p, 4096, cudaMemcpyDeviceToHost));
    CHECK(out == model);
    OK(cudaFree(p));
    OK(cudaStreamDestroy(s));
}

int main()
{
    arrays_2d();
    arrays_3d();
    peers_and_sets();
    symbols();
    batches();
    return check_done();
}
