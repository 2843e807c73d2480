/* E1: boxes that do not fit their pitches, by each of their sides and for depths of 0, 1 and more,
 * in copies and sets, with and without a stream; the same with arrays on one side. */
#include "errors.h"

static char text[4096];
static const cudaMemcpyKind to_device = cudaMemcpyHostToDevice;

/* What pageable memory is to a device: out of reach, or as good as its own. */
static cudaError_t pageable()
{
    int reaches = 0;
    cudaDeviceGetAttribute(&reaches, cudaDevAttrPageableMemoryAccess, 0);
    return reaches ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaMemcpy3DParms volume(void *dst, void *src, size_t height, size_t depth)
{
    cudaMemcpy3DParms v;

    memset(&v, 0, sizeof v);
    v.srcPtr = make_cudaPitchedPtr(src, 16, 16, 4);
    v.dstPtr = make_cudaPitchedPtr(dst, 16, 16, 4);
    v.extent = make_cudaExtent(16, height, depth);
    v.kind = to_device;
    return v;
}

static void copies()
{
    char *p;
    cudaStream_t s;
    cudaMemcpy3DParms v;

    MUST(cudaMalloc(&p, 4096));
    MUST(cudaStreamCreate(&s));
#define VOLUME(what, change, height, depth, code)                                                  \
    v = volume(p, text, height, depth);                                                            \
    change;                                                                                        \
    ROW(what, cudaMemcpy3D(&v), code);                                                             \
    ROW(what, cudaMemcpy3DAsync(&v, s), code)
    VOLUME("width 0", v.extent.width = 0, 4, 2, cudaSuccess);
    VOLUME("height 0", , 0, 2, cudaSuccess);
    VOLUME("depth 0", , 4, 0, cudaSuccess);
    VOLUME("width 0, no memory", (v.extent.width = 0, v.dstPtr.ptr = nullptr), 4, 2, cudaSuccess);
    VOLUME("depth 0, kind 5", v.kind = (cudaMemcpyKind)5, 4, 0, cudaSuccess);
    VOLUME("depth 0, target pitch", v.dstPtr.pitch = 8, 4, 0, cudaSuccess);
    VOLUME("one row, target pitch", v.dstPtr.pitch = 8, 1, 1, cudaErrorInvalidValue);
    VOLUME("one row, target pitch 0", v.dstPtr.pitch = 0, 1, 1, cudaSuccess);
    VOLUME("one row, source pitch", v.srcPtr.pitch = 8, 1, 1, cudaErrorInvalidValue);
    VOLUME("one row, source pitch 0", v.srcPtr.pitch = 0, 1, 1, cudaSuccess);
    VOLUME("depth 1, target pitch", v.dstPtr.pitch = 8, 4, 1, cudaErrorInvalidPitchValue);
    VOLUME("depth 1, target pitch 0", v.dstPtr.pitch = 0, 4, 1, cudaErrorInvalidPitchValue);
    VOLUME("depth 1, source pitch", v.srcPtr.pitch = 8, 4, 1, cudaErrorInvalidPitchValue);
    VOLUME("depth 1, source pitch 0", v.srcPtr.pitch = 0, 4, 1, cudaErrorInvalidPitchValue);
    VOLUME("depth 2, target pitch 0", v.dstPtr.pitch = 0, 4, 2, cudaErrorInvalidPitchValue);
    VOLUME("depth 2, source pitch 0", v.srcPtr.pitch = 0, 4, 2, cudaErrorInvalidPitchValue);
    VOLUME("depth 1, target rows", v.dstPtr.ysize = 2, 4, 1, cudaErrorInvalidValue);
    VOLUME("depth 1, target rows 0", v.dstPtr.ysize = 0, 4, 1, cudaSuccess);
    VOLUME("depth 1, source rows", v.srcPtr.ysize = 2, 4, 1, cudaErrorInvalidValue);
    VOLUME("depth 1, source rows 0", v.srcPtr.ysize = 0, 4, 1, cudaSuccess);
    VOLUME("depth 2, target rows", v.dstPtr.ysize = 2, 4, 2, cudaErrorInvalidPitchValue);
    VOLUME("depth 2, target rows 0", v.dstPtr.ysize = 0, 4, 2, cudaErrorInvalidPitchValue);
    VOLUME("depth 2, source rows 0", v.srcPtr.ysize = 0, 4, 2, cudaErrorInvalidPitchValue);
    VOLUME("sizes of a row are not looked at", (v.srcPtr.xsize = 1, v.dstPtr.xsize = 0), 4, 2,
           cudaSuccess);
    VOLUME("past the target's row", v.dstPos.x = 8, 4, 1, cudaErrorInvalidValue);
    VOLUME("past the source's row", v.srcPos.x = 8, 4, 1, cudaErrorInvalidValue);
    VOLUME("past the target's rows, depth 1", v.dstPos.y = 2, 4, 1, cudaErrorInvalidValue);
    VOLUME("past the target's rows", v.dstPos.y = 2, 4, 2, cudaErrorInvalidValue);
    VOLUME("past the target's end", v.dstPos.z = 63, 4, 2, cudaErrorInvalidValue);
    VOLUME("nothing on either side", (v.srcPtr.ptr = v.dstPtr.ptr = nullptr), 4, 1,
           cudaErrorInvalidValue);
    VOLUME("a pitch beyond the limit", v.dstPtr.pitch = (size_t)1 << 40, 4, 1,
           cudaErrorInvalidValue);
}

static void peers()
{
    char *p;
    cudaStream_t s;
    cudaMemcpy3DPeerParms v, fine;
    int n;

    MUST(cudaGetDeviceCount(&n));
    MUST(cudaMalloc(&p, 4096));
    MUST(cudaStreamCreate(&s));
    memset(&fine, 0, sizeof fine);
    fine.srcPtr = make_cudaPitchedPtr(p, 16, 16, 4);
    fine.dstPtr = make_cudaPitchedPtr(p + 1024, 16, 16, 4);
    fine.extent = make_cudaExtent(16, 4, 2);
#define PEER(what, change, code)                                                                   \
    v = fine;                                                                                      \
    change;                                                                                        \
    ROW(what, cudaMemcpy3DPeer(&v), code);                                                         \
    ROW(what, cudaMemcpy3DPeerAsync(&v, s), code)
    PEER("fine", , cudaSuccess);
    PEER("no such device", v.srcDevice = n, cudaErrorInvalidDevice);
    PEER("device -1", v.dstDevice = -1, cudaErrorInvalidDevice);
    PEER("no source", v.srcPtr.ptr = nullptr, cudaErrorInvalidValue);
    PEER("source pitch", v.srcPtr.pitch = 8, cudaErrorInvalidPitchValue);
    PEER("source rows", v.srcPtr.ysize = 2, cudaErrorInvalidPitchValue);
    PEER("depth 1, source rows", (v.srcPtr.ysize = 2, v.extent.depth = 1), cudaErrorInvalidValue);
    PEER("depth 0", v.extent.depth = 0, cudaSuccess);
    PEER("past the target", v.dstPos.z = 63, cudaErrorInvalidValue);
}

static void sets()
{
    char *p;
    cudaStream_t s;
    cudaPitchedPtr box;
    cudaExtent e;

    MUST(cudaMalloc(&p, 4096));
    MUST(cudaStreamCreate(&s));
#define SET(what, change, height, depth, code)                                                     \
    box = make_cudaPitchedPtr(p, 16, 16, 4);                                                       \
    e = make_cudaExtent(16, height, depth);                                                        \
    change;                                                                                        \
    ROW(what, cudaMemset3D(box, 0, e), code);                                                      \
    ROW(what, cudaMemset3DAsync(box, 0, e, s), code)
    SET("fine", , 4, 2, cudaSuccess);
    SET("no memory", box.ptr = nullptr, 4, 2, cudaErrorInvalidValue);
    SET("width 0", e.width = 0, 4, 2, cudaSuccess);
    SET("height 0", , 0, 2, cudaSuccess);
    SET("depth 0", , 4, 0, cudaSuccess);
    SET("depth 0, no memory", box.ptr = nullptr, 4, 0, cudaSuccess);
    SET("one row, pitch", box.pitch = 8, 1, 1, cudaSuccess);
    SET("one row, pitch 0", box.pitch = 0, 1, 1, cudaSuccess);
    SET("depth 1, pitch", box.pitch = 8, 4, 1, cudaErrorInvalidValue);
    SET("depth 1, pitch 0", box.pitch = 0, 4, 1, cudaErrorInvalidValue);
    SET("depth 1, rows", box.ysize = 2, 4, 1, cudaErrorInvalidValue);
    SET("depth 2, rows", box.ysize = 2, 4, 2, cudaErrorInvalidValue);
    SET("past the end", , 4, 65, cudaErrorInvalidValue);
    SET("stack", box.ptr = text, 4, 1, pageable());
    ROW("no memory", cudaMemset2DAsync(nullptr, 16, 0, 16, 2, s), cudaErrorInvalidValue);
    ROW("pitch", cudaMemset2DAsync(p, 8, 0, 16, 2, s), cudaErrorInvalidValue);
    ROW("one row, pitch", cudaMemset2DAsync(p, 8, 0, 16, 1, s), cudaSuccess);
    ROW("past the end", cudaMemset2DAsync(p, 16, 0, 16, 257, s), cudaErrorInvalidValue);
    ROW("nothing", cudaMemset2DAsync(p, 16, 0, 0, 2, s), cudaSuccess);
    ROW("one row, pitch", cudaMemset2D(p, 8, 0, 16, 1), cudaSuccess);
    ROW("one row, pitch 0", cudaMemset2D(p, 0, 0, 16, 1), cudaSuccess);
}

static void arrays()
{
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    cudaArray_t a, plane;
    cudaMemcpy3DParms v, fine;

    MUST(cudaMalloc3DArray(&a, &desc, make_cudaExtent(16, 8, 4)));
    MUST(cudaMallocArray(&plane, &desc, 16, 8));
    memset(&fine, 0, sizeof fine);
    fine.srcPtr = make_cudaPitchedPtr(text, 64, 16, 8);
    fine.dstArray = a;
    fine.extent = make_cudaExtent(16, 8, 1);
    fine.kind = to_device;
#define ARRAY(what, change, code)                                                                  \
    v = fine;                                                                                      \
    change;                                                                                        \
    ROW(what, cudaMemcpy3D(&v), code)
    ARRAY("fine", , cudaSuccess);
    ARRAY("past its row", v.dstPos.x = 1, cudaErrorInvalidValue);
    ARRAY("past its rows", v.dstPos.y = 1, cudaErrorInvalidValue);
    ARRAY("past its slices", v.dstPos.z = 4, cudaErrorInvalidValue);
    ARRAY("pitch", v.srcPtr.pitch = 32, cudaErrorInvalidValue);
    ARRAY("rows, depth 1", v.srcPtr.ysize = 4, cudaErrorInvalidValue);
    ARRAY("rows, depth 2", (v.srcPtr.ysize = 4, v.extent.depth = 2), cudaErrorInvalidPitchValue);
    ARRAY("depth 2, of an array with one slice", (v.dstArray = plane, v.extent.depth = 2),
          cudaErrorInvalidValue);
    ARRAY("depth 0", v.extent.depth = 0, cudaSuccess);
    ARRAY("to the host, it says", v.kind = cudaMemcpyDeviceToHost, cudaErrorInvalidValue);
    ARRAY("between arrays of one kind",
          (v.srcPtr.ptr = nullptr, v.srcArray = plane, v.kind = cudaMemcpyDeviceToDevice),
          cudaSuccess);
    ARRAY("between arrays, to device, it says", (v.srcPtr.ptr = nullptr, v.srcArray = plane),
          cudaErrorInvalidValue);
}

static void rows()
{
    copies();
    peers();
    sets();
    arrays();
}

ERROR_TABLE_MAIN(rows)
