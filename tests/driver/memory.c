/* M1, M3, by the driver API: memory: what addresses say of themselves, copies and sets of every
 * shape, arrays, advice. */
#include "common.h"

#include <stdint.h>

enum { W = 37, H = 11, D = 5 };

static unsigned attribute(CUdeviceptr p, CUpointer_attribute which)
{
    unsigned value = ~0u;
    OK(cuPointerGetAttribute(&value, which, p));
    return value;
}

static void attributes(CUcontext ctx)
{
    CUdeviceptr dev, managed, base, at;
    void *host, *own = aligned_alloc(4096, 8192), *back;
    size_t bytes;
    CUcontext c;
    unsigned flags;
    NEED(cuMemAlloc(&dev, 1000));
    NEED(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
    NEED(cuMemHostAlloc(&host, 1000, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_WRITECOMBINED));
    OK(cuMemHostRegister(own, 8192, 0));
    CHECK_CU(cuMemHostRegister(own, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);

    CHECK_EQ_INT(attribute(dev, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), CU_MEMORYTYPE_DEVICE);
    CHECK_EQ_INT(attribute((uintptr_t)host, CU_POINTER_ATTRIBUTE_MEMORY_TYPE), CU_MEMORYTYPE_HOST);
    CHECK_EQ_INT(attribute((uintptr_t)own + 100, CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
                 CU_MEMORYTYPE_HOST);
    CHECK_EQ_INT(attribute(managed, CU_POINTER_ATTRIBUTE_IS_MANAGED), 1);
    CHECK_EQ_INT(attribute(dev, CU_POINTER_ATTRIBUTE_IS_MANAGED), 0);
    CHECK_EQ_INT(attribute(dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 0);
    OK(cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, dev + 999));
    CUcontext mine; /* of which the question needs none: cuda.core asks in a process without one */
    OK(cuCtxPopCurrent(&mine));
    CHECK_EQ_INT(attribute(dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL), 0);
    OK(cuCtxPushCurrent(mine));
    CHECK(c == ctx);
    OK(cuPointerGetAttribute(&at, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, dev + 999));
    CHECK(at == dev);
    OK(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, dev + 999));
    CHECK_EQ_INT(bytes, 1000);
    OK(cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_HOST_POINTER, (uintptr_t)host));
    CHECK(back == host);
    CHECK_CU(cuPointerGetAttribute(&back, CU_POINTER_ATTRIBUTE_HOST_POINTER, dev),
             CUDA_ERROR_INVALID_VALUE);
    OK(cuMemGetAddressRange(&base, &bytes, dev + 10));
    CHECK(base == dev && bytes == 1000);
    OK(cuMemHostGetFlags(&flags, host));
    CHECK_EQ_INT(flags, 7);
    OK(cuMemHostGetDevicePointer(&at, host, 0));
    CHECK(at == (uintptr_t)host);

    /* pageable memory is zeros and no error, but only for the call with many */
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    unsigned type = 9, is = 9;
    void *out[] = {&type, &c, &is};
    OK(cuPointerGetAttributes(3, which, out, (uintptr_t)which));
    CHECK(type == 0 && c == NULL && is == 0);
    CHECK_CU(cuPointerGetAttribute(&type, which[0], (uintptr_t)which), CUDA_ERROR_INVALID_VALUE);

    OK(cuMemHostUnregister(own));
    CHECK_CU(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    OK(cuMemFreeHost(host));
    OK(cuMemFree(managed));
    OK(cuMemFree(dev));
    CHECK_CU(cuMemFree(dev), CUDA_ERROR_INVALID_VALUE);
    free(own);
}

static void info(void)
{
    size_t before, after, total, device;
    CUdeviceptr p;
    OK(cuMemGetInfo(&before, &total));
    OK(cuDeviceTotalMem(&device, 0));
    CHECK(total == device && before <= total);
    NEED(cuMemAlloc(&p, 64 << 20));
    OK(cuMemGetInfo(&after, &total));
    CHECK(before - after >= 64u << 20);
    OK(cuMemFree(p));
    OK(cuMemGetInfo(&after, &total));
    CHECK(after == before);
}

/* ---- boxes ---- */

static unsigned char model(size_t x, size_t y, size_t z)
{
    return (unsigned char)(x + 41 * y + 101 * z);
}

static void fill(unsigned char *p, size_t pitch, size_t rows)
{
    for (size_t z = 0; z < D; z++)
        for (size_t y = 0; y < H; y++)
            for (size_t x = 0; x < W; x++)
                p[(z * rows + y) * pitch + x] = model(x, y, z);
}

static int differences(const unsigned char *p, size_t pitch, size_t rows)
{
    int bad = 0;
    for (size_t z = 0; z < D; z++)
        for (size_t y = 0; y < H; y++)
            for (size_t x = 0; x < W; x++)
                bad += p[(z * rows + y) * pitch + x] != model(x, y, z);
    return bad;
}

/* Host to pitched device memory, to another place there, and back, with other pitches each time. */
static void pitched(void)
{
    static unsigned char from[64 * 16 * D], to[80 * 20 * D];
    CUdeviceptr a, b;
    size_t pitch;
    NEED(cuMemAllocPitch(&a, &pitch, W, H * D, 4));
    NEED(cuMemAlloc(&b, 100 * 30 * D));
    CHECK(pitch >= W && pitch % 256 == 0);
    fill(from, 64, 16);
    CUDA_MEMCPY3D m = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = from,
                       .srcPitch = 64,
                       .srcHeight = 16,
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = a,
                       .dstPitch = pitch,
                       .dstHeight = H,
                       .WidthInBytes = W,
                       .Height = H,
                       .Depth = D,
                       .reserved0 = &m, /* a GPU takes any value here */
                       .reserved1 = &m};
    OK(cuMemcpy3D(&m));
    CUcontext context;
    CUgraph graph;
    CUgraphNode node;
    OK(cuCtxGetCurrent(&context));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &m, context));
    OK(cuGraphDestroy(graph));
    CUDA_MEMCPY3D k = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                       .srcDevice = a,
                       .srcPitch = pitch,
                       .srcHeight = H,
                       .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                       .dstDevice = b,
                       .dstPitch = 100,
                       .dstHeight = 20,
                       .dstXInBytes = 3,
                       .dstY = 2,
                       .dstZ = 0,
                       .WidthInBytes = W,
                       .Height = H,
                       .Depth = D};
    OK(cuMemcpy3DAsync(&k, NULL));
    for (size_t z = 0; z < D; z++) {
        CUDA_MEMCPY2D s = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = b + z * 2000,
                           .srcPitch = 100,
                           .srcXInBytes = 3,
                           .srcY = 2,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = to + z * 80 * 20,
                           .dstPitch = 80,
                           .WidthInBytes = W,
                           .Height = H};
        OK(cuMemcpy2D(&s));
    }
    CHECK_EQ_INT(differences(to, 80, 20), 0);
    OK(cuMemFree(a));
    OK(cuMemFree(b));
}

/* The same through arrays of one, two and three dimensions. */
static void arrays(void)
{
    static unsigned char from[W * H * D], to[W * H * D];
    CUarray a, b, row;
    CUDA_ARRAY3D_DESCRIPTOR d = {W, H, D, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0}, got;
    CUDA_ARRAY_DESCRIPTOR line = {W, 0, CU_AD_FORMAT_UNSIGNED_INT16, 2}, got2;
    fill(from, W, H);
    NEED(cuArray3DCreate(&a, &d));
    NEED(cuArray3DCreate(&b, &d));
    NEED(cuArrayCreate(&row, &line));
    OK(cuArray3DGetDescriptor(&got, a));
    CHECK(memcmp(&got, &d, sizeof d) == 0);
    CHECK_CU(cuArrayGetDescriptor(&got2, a), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY3D m = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = from,
                       .srcPitch = W,
                       .srcHeight = H,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = a,
                       .WidthInBytes = W,
                       .Height = H,
                       .Depth = D};
    OK(cuMemcpy3D(&m));
    /* in two halves from array to array */
    for (int half = 0; half < 2; half++) {
        CUDA_MEMCPY3D k = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                           .srcArray = a,
                           .srcXInBytes = half * 20,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = b,
                           .dstXInBytes = half * 20,
                           .WidthInBytes = half ? W - 20 : 20,
                           .Height = H,
                           .Depth = D};
        OK(cuMemcpy3D(&k));
    }
    CUDA_MEMCPY3D back = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = b,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = to,
                          .dstPitch = W,
                          .dstHeight = H,
                          .WidthInBytes = W,
                          .Height = H,
                          .Depth = D};
    OK(cuMemcpy3D(&back));
    CHECK_EQ_INT(differences(to, W, H), 0);
    back.Depth = D + 1;
    CHECK_CU(cuMemcpy3D(&back), CUDA_ERROR_INVALID_VALUE);

    unsigned char in[W * 4], out[W * 4] = {0};
    for (size_t n = 0; n < sizeof in; n++)
        in[n] = (unsigned char)(n * 7);
    OK(cuMemcpyHtoA(row, 0, in, sizeof in));
    OK(cuMemcpyAtoH(out, row, 8, sizeof in - 8));
    CHECK(memcmp(out, in + 8, sizeof in - 8) == 0);
    OK(cuMemcpyAtoH(out, row, 2, 4)); /* not a whole element */
    OK(cuArrayDestroy(a));
    CHECK_CU(cuMemcpyAtoH(out, NULL, 0, 4), CUDA_ERROR_INVALID_HANDLE);
    OK(cuArrayDestroy(b));
    OK(cuArrayDestroy(row));
}

/* ---- sets and batches ---- */

static void sets(void)
{
    CUdeviceptr p;
    unsigned char h[4096];
    NEED(cuMemAlloc(&p, sizeof h));
    OK(cuMemsetD8(p, 1, sizeof h));
    OK(cuMemsetD16(p + 100, 0x0302, 50));
    OK(cuMemsetD32Async(p + 400, 0x07060504, 25, NULL));
    OK(cuMemsetD2D8(p + 1000, 50, 9, 10, 4));
    OK(cuMemsetD2D16Async(p + 2000, 50, 0x0b0a, 10, 4, NULL));
    OK(cuMemsetD2D32(p + 3000, 40, 0x0f0e0d0c, 10, 4));
    OK(cuMemcpyDtoH(h, p, sizeof h));
    CHECK(h[99] == 1 && h[100] == 2 && h[101] == 3 && h[199] == 3 && h[200] == 1);
    CHECK(h[399] == 1 && h[400] == 4 && h[499] == 7 && h[500] == 1);
    CHECK(h[1000] == 9 && h[1009] == 9 && h[1010] == 1 && h[1150] == 9 && h[1160] == 1);
    CHECK(h[2000] == 10 && h[2019] == 11 && h[2020] == 1 && h[2150] == 10);
    CHECK(h[3000] == 12 && h[3159] == 15 && h[3160] == 1);
    OK(cuMemFree(p));
}

static void batches(void)
{
    CUstream s;
    CUdeviceptr d;
    unsigned char in[64], out[64] = {0};
    NEED(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    NEED(cuMemAlloc(&d, 64));
    for (int n = 0; n < 64; n++)
        in[n] = (unsigned char)(200 - n);
    CUdeviceptr dsts[] = {d, d + 32}, srcs[] = {(uintptr_t)in, (uintptr_t)in + 32};
    CUdeviceptr backs[] = {(uintptr_t)out, (uintptr_t)out + 32};
    size_t sizes[] = {32, 32}, first[] = {0, 1};
    CUmemcpyAttributes a[] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
                              {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL}};
    OK(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, a, first, 2, s));
    OK(cuMemcpyBatchAsync(backs, dsts, sizes, 2, a, first, 1, s));
    OK(cuStreamSynchronize(s));
    CHECK(memcmp(in, out, 64) == 0);
    CHECK_CU(cuMemcpyBatchAsync(backs, dsts, sizes, 2, a, first, 1, NULL),
             CUDA_ERROR_INVALID_VALUE);

    CUDA_MEMCPY3D_BATCH_OP op = {
        .src = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER, .op.ptr = {.ptr = d, .rowLength = 8}},
        .dst = {.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
                .op.ptr = {.ptr = (uintptr_t)out, .rowLength = 16}},
        .extent = {8, 4, 1},
        .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    memset(out, 0, sizeof out);
    OK(cuMemcpy3DBatchAsync(1, &op, 0, s));
    OK(cuStreamSynchronize(s));
    CHECK(memcmp(out, in, 8) == 0 && out[8] == 0 && memcmp(out + 48, in + 24, 8) == 0);
    OK(cuStreamDestroy(s));
    OK(cuMemFree(d));
}

/* ---- managed memory ---- */

static int range(CUdeviceptr p, size_t n, CUmem_range_attribute which)
{
    int value = -99;
    OK(cuMemRangeGetAttribute(&value, sizeof value, which, p, n));
    return value;
}

static void advice(void)
{
    const CUmemLocation dev = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                        host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    const CUmemLocation wrong = {CU_MEM_LOCATION_TYPE_DEVICE, 9};
    CUdeviceptr p;
    int by[3];
    NEED(cuMemAllocManaged(&p, 1 << 20, CU_MEM_ATTACH_GLOBAL));
    CHECK_EQ_INT(range(p, 1 << 20, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
    CHECK_EQ_INT(range(p, 1 << 20, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
    OK(cuMemAdvise(p, 1 << 20, CU_MEM_ADVISE_SET_READ_MOSTLY, dev));
    OK(cuMemAdvise(p + 8192, 4096, CU_MEM_ADVISE_UNSET_READ_MOSTLY, dev));
    CHECK_EQ_INT(range(p, 8192, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
    CHECK_EQ_INT(range(p, 8193, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
    CHECK_EQ_INT(range(p + 12288, 4096, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
    OK(cuMemAdvise(p, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, dev));
    OK(cuMemAdvise(p + 4096, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
    CHECK_EQ_INT(range(p, 100, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), 0);
    CHECK_EQ_INT(range(p + 4096, 100, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_CPU);
    CHECK_EQ_INT(range(p, 8192, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
    OK(cuMemAdvise(p, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, dev));
    OK(cuMemAdvise(p, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, host));
    OK(cuMemRangeGetAttribute(by, sizeof by, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 4096));
    CHECK(by[0] == CU_DEVICE_CPU && by[1] == 0 && by[2] == CU_DEVICE_INVALID);
    OK(cuMemPrefetchAsync(p, 1 << 20, dev, 0, NULL));
    CHECK_EQ_INT(range(p, 1 << 20, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
    CHECK_CU(cuMemPrefetchAsync(p, (1 << 20) + 1, dev, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuMemPrefetchAsync(p, 4096, wrong, 0, NULL), CUDA_ERROR_INVALID_DEVICE);
    CHECK_CU(cuMemPrefetchAsync(p, 4096, dev, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuMemAdvise(p, 4096, (CUmem_advise)7, dev), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuMemAdvise(p, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, wrong), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    NEED(cuMemAllocManaged(&p, 1 << 20, CU_MEM_ATTACH_HOST)); /* perhaps the same place */
    CHECK_EQ_INT(range(p, 1 << 20, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
    CHECK_EQ_INT(range(p, 100, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
    CUstream s;
    NEED(cuStreamCreate(&s, 0));
    OK(cuStreamAttachMemAsync(s, p, 0, CU_MEM_ATTACH_SINGLE));
    CHECK_CU(cuStreamAttachMemAsync(NULL, p, 0, CU_MEM_ATTACH_SINGLE), CUDA_ERROR_INVALID_VALUE);
    CHECK_CU(cuStreamAttachMemAsync(s, p, 8, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
    *(int *)(uintptr_t)p = 3; /* the host writes it, a kernel and a copy read it */
    int value = 0;
    OK(cuMemcpyDtoH(&value, p, 4));
    CHECK_EQ_INT(value, 3);
    OK(cuStreamDestroy(s));
    OK(cuMemFree(p));
}

/* Memory of a graph that is not allocated, before a launch and after one: a GPU's driver dies of
 * some of these calls. */
static void of_graphs(void)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                        .bytesize = 4096};
    CUgraph g;
    CUgraphNode made, freed;
    CUgraphExec exec;
    char h[64] = "";
    NEED(cuGraphCreate(&g, 0));
    NEED(cuGraphAddMemAllocNode(&made, g, NULL, 0, &alloc));
    NEED(cuGraphAddMemFreeNode(&freed, g, &made, 1, alloc.dptr));
    NEED(cuGraphInstantiate(&exec, g, 0));
    for (int round = 0; round < 2; round++) {
        CUDA_MEMCPY2D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                             .srcDevice = alloc.dptr,
                             .dstMemoryType = CU_MEMORYTYPE_HOST,
                             .dstHost = h,
                             .WidthInBytes = 8,
                             .Height = 2};
        CHECK_CU(cuMemcpyDtoH(h, alloc.dptr, sizeof h), CUDA_ERROR_INVALID_VALUE);
        CHECK_CU(cuMemcpyHtoD(alloc.dptr, h, sizeof h), CUDA_ERROR_INVALID_VALUE);
        CHECK_CU(cuMemcpyDtoHAsync(h, alloc.dptr, sizeof h, NULL), CUDA_ERROR_INVALID_VALUE);
        CHECK_CU(cuMemcpy2D(&box), CUDA_ERROR_INVALID_VALUE);
        CHECK_CU(cuMemsetD8(alloc.dptr, 0, sizeof h), CUDA_ERROR_INVALID_VALUE);
        OK(cuGraphLaunch(exec, NULL));
        OK(cuStreamSynchronize(NULL));
    }
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(g));
}

int main(void)
{
    CUcontext c = begin();
    attributes(c);
    info();
    pitched();
    arrays();
    sets();
    batches();
    advice();
    of_graphs();
    return check_done();
}
