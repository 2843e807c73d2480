/* M3: copies and sets in all shapes, compared with the same on the host byte by byte. */
#include <cstdlib>
#include <cstring>
#include <vector>

#include "check.h"

#define OK(call) CHECK_STR(cudaGetErrorName(call), "cudaSuccess")

typedef std::vector<unsigned char> bytes;

static bytes random_bytes(size_t n)
{
    bytes b(n);

    for (auto &x : b)
        x = (unsigned char)rand();
    return b;
}

/* A buffer on the device with a twin on the host that tells what it should hold. */
struct buffer {
    bytes expected;
    unsigned char *device;

    explicit buffer(size_t n) : expected(random_bytes(n))
    {
        OK(cudaMalloc(&device, n));
        OK(cudaMemcpy(device, expected.data(), n, cudaMemcpyHostToDevice));
    }
    ~buffer() { OK(cudaFree(device)); }
    bool holds() const
    {
        bytes seen(expected.size());

        OK(cudaMemcpy(seen.data(), device, seen.size(), cudaMemcpyDeviceToHost));
        return seen == expected;
    }
};

static void one_dimension()
{
    for (size_t n : {1, 3, 64, 4095, 1 << 20, (1 << 20) + 1}) {
        buffer a(n + 7), b(n + 7);
        bytes h = random_bytes(n);

        OK(cudaMemcpy(a.device + 5, h.data(), n, cudaMemcpyHostToDevice));
        memcpy(&a.expected[5], h.data(), n);
        CHECK(a.holds());
        OK(cudaMemcpy(b.device + 2, a.device + 3, n, cudaMemcpyDeviceToDevice));
        memcpy(&b.expected[2], &a.expected[3], n);
        CHECK(b.holds());
        OK(cudaMemcpy(h.data(), b.device + 1, n, cudaMemcpyDefault));
        CHECK(memcmp(h.data(), &b.expected[1], n) == 0);
        OK(cudaMemcpyAsync(a.device, h.data(), n, cudaMemcpyDefault, 0));
        memcpy(a.expected.data(), h.data(), n);
        CHECK(a.holds());
        bytes other(n);
        OK(cudaMemcpy(other.data(), h.data(), n, cudaMemcpyHostToHost));
        CHECK(other == h);
        OK(cudaMemset(a.device + 1, 0x1a5, n));
        memset(&a.expected[1], 0xa5, n);
        CHECK(a.holds());
        OK(cudaMemcpyPeer(a.device, 0, b.device, 0, n));
        memcpy(a.expected.data(), b.expected.data(), n);
        CHECK(a.holds());
    }
}

/* Rows of `width` bytes between pitches. */
static void rows(unsigned char *d, size_t dp, const unsigned char *s, size_t sp, size_t width,
                 size_t height)
{
    for (size_t y = 0; y < height; y++)
        memcpy(d + y * dp, s + y * sp, width);
}

static void two_dimensions()
{
    const size_t dp = 160, sp = 96, width = 77, height = 23;
    buffer a(dp * height), b(sp * height);
    bytes h = random_bytes(sp * height), back = random_bytes(dp * height);

    OK(cudaMemcpy2D(a.device, dp, h.data(), sp, width, height, cudaMemcpyHostToDevice));
    rows(a.expected.data(), dp, h.data(), sp, width, height);
    CHECK(a.holds());
    OK(cudaMemcpy2D(b.device, sp, a.device, dp, width, height, cudaMemcpyDeviceToDevice));
    rows(b.expected.data(), sp, a.expected.data(), dp, width, height);
    CHECK(b.holds());
    bytes expected = back;
    OK(cudaMemcpy2DAsync(back.data(), dp, b.device, sp, width, height, cudaMemcpyDefault, 0));
    OK(cudaStreamSynchronize(0));
    rows(expected.data(), dp, b.expected.data(), sp, width, height);
    CHECK(back == expected);
    OK(cudaMemset2D(a.device + 3, dp, 0x3c, width, height));
    for (size_t y = 0; y < height; y++)
        memset(&a.expected[3 + y * dp], 0x3c, width);
    CHECK(a.holds());
    OK(cudaMemcpy2D(a.device, dp, h.data(), sp, 0, height, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(a.device, dp, h.data(), sp, width, 0, cudaMemcpyHostToDevice));
    CHECK(a.holds());
}

static void three_dimensions()
{
    const size_t pitch = 64, ysize = 9, depth = 5;
    const cudaExtent extent = make_cudaExtent(40, 6, 3);
    buffer a(pitch * ysize * depth);
    bytes h = random_bytes(50 * 7 * 4);
    cudaMemcpy3DParms p = {};

    p.srcPtr = make_cudaPitchedPtr(h.data(), 50, 50, 7);
    p.srcPos = make_cudaPos(2, 1, 1);
    p.dstPtr = make_cudaPitchedPtr(a.device, pitch, pitch, ysize);
    p.dstPos = make_cudaPos(10, 2, 1);
    p.extent = extent;
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    for (size_t z = 0; z < extent.depth; z++)
        rows(&a.expected[((z + 1) * ysize + 2) * pitch + 10], pitch, &h[((z + 1) * 7 + 1) * 50 + 2],
             50, extent.width, extent.height);
    CHECK(a.holds());
    OK(cudaMemset3D(make_cudaPitchedPtr(a.device, pitch, pitch, ysize), 0x77, extent));
    for (size_t z = 0; z < extent.depth; z++)
        for (size_t y = 0; y < extent.height; y++)
            memset(&a.expected[(z * ysize + y) * pitch], 0x77, extent.width);
    CHECK(a.holds());
    bytes out = random_bytes(a.expected.size()), expected = out;
    p = cudaMemcpy3DParms();
    p.srcPtr = make_cudaPitchedPtr(a.device, pitch, pitch, ysize);
    p.dstPtr = make_cudaPitchedPtr(out.data(), pitch, pitch, ysize);
    p.extent = make_cudaExtent(33, 5, 4);
    p.kind = cudaMemcpyDefault;
    OK(cudaMemcpy3DAsync(&p, 0));
    OK(cudaStreamSynchronize(0));
    for (size_t z = 0; z < 4; z++)
        rows(&expected[z * ysize * pitch], pitch, &a.expected[z * ysize * pitch], pitch, 33, 5);
    CHECK(out == expected);
    p.extent.width = 65;
    CHECK_EQ_INT(cudaMemcpy3D(&p), cudaErrorInvalidPitchValue);
    p.srcPtr.ptr = nullptr;
    CHECK_EQ_INT(cudaMemcpy3D(&p), cudaErrorInvalidValue);
    cudaGetLastError();
}

static void pinned_and_managed()
{
    const size_t n = 10000;
    unsigned char *pinned, *managed;
    buffer a(n);

    OK(cudaMallocHost(&pinned, n));
    OK(cudaMallocManaged(&managed, n));
    OK(cudaMemcpy(pinned, a.device, n, cudaMemcpyDeviceToHost));
    CHECK(memcmp(pinned, a.expected.data(), n) == 0);
    OK(cudaMemset(pinned, 0x11, n)); /* set when the call is back */
    CHECK(pinned[0] == 0x11 && pinned[n - 1] == 0x11);
    OK(cudaMemcpyAsync(a.device, pinned, n, cudaMemcpyHostToDevice, 0));
    memset(a.expected.data(), 0x11, n);
    CHECK(a.holds());
    OK(cudaMemset(managed, 0x22, n));
    OK(cudaMemcpy(a.device, managed, n, cudaMemcpyDefault));
    memset(a.expected.data(), 0x22, n);
    CHECK(a.holds());
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed));
}

int main()
{
    srand(1);
    one_dimension();
    two_dimensions();
    three_dimensions();
    pinned_and_managed();
    return check_done();
}
