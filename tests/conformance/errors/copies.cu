/* E1: wrong arguments of copies and sets of linear memory and symbols, between devices and in
 * batches. Those of arrays are in arrays. */
#include "errors.h"

__device__ char variable[64];
static char not_a_variable[64], text[4096];
static const cudaMemcpyKind to_device = cudaMemcpyHostToDevice, to_host = cudaMemcpyDeviceToHost,
                            on_device = cudaMemcpyDeviceToDevice, on_host = cudaMemcpyHostToHost,
                            either = cudaMemcpyDefault, below = (cudaMemcpyKind)-1,
                            above = (cudaMemcpyKind)5;

/* What pageable memory is to a device: out of reach, or as good as its own. */
static cudaError_t pageable()
{
    int reaches = 0;
    cudaDeviceGetAttribute(&reaches, cudaDevAttrPageableMemoryAccess, 0);
    return reaches ? cudaSuccess : cudaErrorInvalidValue;
}

static void lines()
{
    char *p, *q, *freed;

    MUST(cudaMalloc(&p, 4096));
    MUST(cudaMalloc(&q, 4096));
    MUST(cudaMalloc(&freed, 1 << 22));
    MUST(cudaFree(freed));
    ROW("kind 5", cudaMemcpy(p, text, 4, above), cudaErrorInvalidMemcpyDirection);
    ROW("kind -1", cudaMemcpy(p, text, 4, below), cudaErrorInvalidMemcpyDirection);
    ROW("kind 5, count 0", cudaMemcpy(p, text, 0, above), cudaSuccess);
    ROW("no source", cudaMemcpy(p, nullptr, 4, to_device), cudaErrorInvalidValue);
    ROW("no target", cudaMemcpy(nullptr, text, 4, to_device), cudaErrorInvalidValue);
    ROW("count 0", cudaMemcpy(nullptr, nullptr, 0, to_device), cudaSuccess);
    ROW("past the target", cudaMemcpy(p, text, 4097, to_device), cudaErrorInvalidValue);
    ROW("past the source", cudaMemcpy(text, p + 1, 4096, to_host), cudaErrorInvalidValue);
    ROW("past both", cudaMemcpy(p, q, 4097, on_device), cudaErrorInvalidValue);
    ROW("freed target", cudaMemcpy(freed, text, 4, to_device), cudaErrorInvalidValue);
    ROW("freed source", cudaMemcpy(text, freed, 4, to_host), cudaErrorInvalidValue);
    ROW("kind says to device, is to host", cudaMemcpy(text, p, 4, to_device), pageable());
    ROW("kind says to host, is to device", cudaMemcpy(p, text, 4, to_host), pageable());
    ROW("kind says to device, is device to device", cudaMemcpy(p, q, 4, to_device), cudaSuccess);
    ROW("kind says to host, is device to device", cudaMemcpy(p, q, 4, to_host), cudaSuccess);
    ROW("kind says on device, is to device", cudaMemcpy(p, text, 4, on_device), pageable());
    ROW("kind says on device, is to host", cudaMemcpy(text, p, 4, on_device), pageable());
    ROW("kind says on device, is on host", cudaMemcpy(text, text + 64, 4, on_device), pageable());
    ROW("kind says on host, is to device", cudaMemcpy(p, text, 4, on_host), cudaSuccess);
    ROW("kind says on host, is on device", cudaMemcpy(p, q, 4, on_host), cudaSuccess);
    ROW("kind says to device, is on host", cudaMemcpy(text, text + 64, 4, to_device), pageable());
    ROW("kind says to host, is on host", cudaMemcpy(text, text + 64, 4, to_host), pageable());
    ROW("default, on host", cudaMemcpy(text, text + 64, 4, either), cudaSuccess);
    ROW("overlapping", cudaMemcpy(p, p + 4, 64, on_device), cudaSuccess);
    ROW("kind 5", cudaMemcpyAsync(p, text, 4, above), cudaErrorInvalidMemcpyDirection);
    ROW("no source", cudaMemcpyAsync(p, nullptr, 4, to_device), cudaErrorInvalidValue);
    ROW("no target", cudaMemcpyAsync(nullptr, text, 4, to_device), cudaErrorInvalidValue);
    ROW("count 0", cudaMemcpyAsync(nullptr, nullptr, 0, to_device), cudaSuccess);
    ROW("past the target", cudaMemcpyAsync(p, text, 4097, to_device), cudaErrorInvalidValue);
    ROW("kind says to device, is to host", cudaMemcpyAsync(text, p, 4, to_device), pageable());
}

static void boxes()
{
    char *p, *q;

    MUST(cudaMalloc(&p, 4096));
    MUST(cudaMalloc(&q, 4096));
    ROW("kind 5", cudaMemcpy2D(p, 8, text, 8, 8, 2, above), cudaErrorInvalidMemcpyDirection);
    ROW("no source", cudaMemcpy2D(p, 8, nullptr, 8, 8, 2, to_device), cudaErrorInvalidValue);
    ROW("no target", cudaMemcpy2D(nullptr, 8, text, 8, 8, 2, to_device), cudaErrorInvalidValue);
    ROW("target pitch", cudaMemcpy2D(p, 4, text, 8, 8, 2, to_device), cudaErrorInvalidPitchValue);
    ROW("source pitch", cudaMemcpy2D(p, 8, text, 4, 8, 2, to_device), cudaErrorInvalidPitchValue);
    ROW("target pitch, one row", cudaMemcpy2D(p, 4, text, 8, 8, 1, to_device),
        cudaErrorInvalidValue);
    ROW("pitch 0", cudaMemcpy2D(p, 0, text, 0, 8, 1, to_device), cudaSuccess);
    ROW("pitch over the limit", cudaMemcpy2D(p, (size_t)1 << 40, text, 8, 8, 1, to_device),
        cudaSuccess);
    ROW("width 0", cudaMemcpy2D(p, 8, text, 8, 0, 2, to_device), cudaSuccess);
    ROW("height 0", cudaMemcpy2D(p, 8, text, 8, 8, 0, to_device), cudaSuccess);
    ROW("width 0, pitches too small", cudaMemcpy2D(p, 0, text, 0, 0, 2, to_device), cudaSuccess);
    ROW("height 0, pitches too small", cudaMemcpy2D(p, 1, text, 1, 8, 0, to_device), cudaSuccess);
    ROW("past the target", cudaMemcpy2D(p, 64, text, 8, 8, 65, to_device), cudaErrorInvalidValue);
    ROW("kind says to device, is to host", cudaMemcpy2D(text, 8, p, 8, 8, 2, to_device),
        pageable());
    ROW("kind 5", cudaMemcpy2DAsync(p, 8, text, 8, 8, 2, above), cudaErrorInvalidMemcpyDirection);
    ROW("target pitch", cudaMemcpy2DAsync(p, 4, text, 8, 8, 2, to_device),
        cudaErrorInvalidPitchValue);
    ROW("no source", cudaMemcpy2DAsync(p, 8, nullptr, 8, 8, 2, to_device), cudaErrorInvalidValue);
}

static cudaMemcpy3DParms volume(void *dst, void *src, cudaMemcpyKind kind)
{
    cudaMemcpy3DParms v;

    memset(&v, 0, sizeof v);
    v.srcPtr = make_cudaPitchedPtr(src, 8, 8, 4);
    v.dstPtr = make_cudaPitchedPtr(dst, 8, 8, 4);
    v.extent = make_cudaExtent(8, 4, 2);
    v.kind = kind;
    return v;
}

static void volumes()
{
    char *p;
    cudaMemcpy3DParms v;
    cudaMemcpy3DPeerParms w;
    int n = 0;

    MUST(cudaGetDeviceCount(&n));
    MUST(cudaMalloc(&p, 4096));
    ROW("nothing", cudaMemcpy3D(nullptr), cudaErrorInvalidValue);
    ROW("nothing", cudaMemcpy3DAsync(nullptr), cudaErrorInvalidValue);
    v = volume(p, text, above);
    ROW("kind 5", cudaMemcpy3D(&v), cudaErrorInvalidMemcpyDirection);
    v = volume(p, nullptr, to_device);
    ROW("no source", cudaMemcpy3D(&v), cudaErrorInvalidValue);
    v = volume(nullptr, text, to_device);
    ROW("no target", cudaMemcpy3D(&v), cudaErrorInvalidValue);
    v = volume(p, text, to_device);
    v.extent.width = 0;
    ROW("width 0", cudaMemcpy3D(&v), cudaSuccess);
    v = volume(p, text, to_device);
    v.dstPtr.pitch = 4;
    ROW("target pitch", cudaMemcpy3D(&v), cudaErrorInvalidPitchValue);
    v = volume(p, text, to_device);
    v.srcPtr.pitch = 4;
    ROW("source pitch", cudaMemcpy3D(&v), cudaErrorInvalidPitchValue);
    v = volume(p, text, to_device);
    v.srcPtr.ysize = 2;
    ROW("rows of a slice too few", cudaMemcpy3D(&v), cudaErrorInvalidPitchValue);
    v = volume(p, text, to_device);
    v.dstPos = make_cudaPos(4, 0, 0);
    ROW("past the row", cudaMemcpy3D(&v), cudaErrorInvalidValue);
    v = volume(p, text, to_device);
    v.dstPos = make_cudaPos(0, 0, 1000);
    ROW("past the target", cudaMemcpy3D(&v), cudaErrorInvalidValue);
    v = volume(text, p, to_device);
    ROW("kind says to device, is to host", cudaMemcpy3D(&v), pageable());
    v = volume(p, text, to_device);
    v.srcArray = (cudaArray_t)text;
    ROW_UNDEFINED("array and pointer", cudaMemcpy3D(&v), cudaErrorInvalidValue);
    ROW("nothing", cudaMemcpy3DPeer(nullptr), cudaErrorInvalidValue);
    ROW("nothing", cudaMemcpy3DPeerAsync(nullptr), cudaErrorInvalidValue);
    memset(&w, 0, sizeof w);
    w.srcPtr = make_cudaPitchedPtr(p, 8, 8, 4);
    w.dstPtr = make_cudaPitchedPtr(p + 1024, 8, 8, 4);
    w.extent = make_cudaExtent(8, 4, 2);
    ROW("fine", cudaMemcpy3DPeer(&w), cudaSuccess);
    w.dstDevice = n;
    ROW("no such device", cudaMemcpy3DPeer(&w), cudaErrorInvalidDevice);
    w.dstDevice = 0;
    w.dstPtr.pitch = 4;
    ROW("target pitch", cudaMemcpy3DPeer(&w), cudaErrorInvalidPitchValue);
    ROW("no target", cudaMemcpyPeer(nullptr, 0, p, 0, 4), cudaErrorInvalidValue);
    ROW("no such device", cudaMemcpyPeer(p, n, p + 64, 0, 4), cudaErrorInvalidDevice);
    ROW("device -1", cudaMemcpyPeer(p, 0, p + 64, -1, 4), cudaErrorInvalidDevice);
    ROW("count 0, no such device", cudaMemcpyPeer(p, n, p + 64, 0, 0), cudaSuccess);
    ROW("count 0", cudaMemcpyPeer(nullptr, 0, nullptr, 0, 0), cudaSuccess);
    ROW("past the target", cudaMemcpyPeer(p, 0, p + 64, 0, 4096), cudaErrorInvalidValue);
    ROW("to the host", cudaMemcpyPeer(text, 0, p, 0, 4), pageable());
    ROW("no target", cudaMemcpyPeerAsync(nullptr, 0, p, 0, 4), cudaErrorInvalidValue);
    ROW("no such device", cudaMemcpyPeerAsync(p, n, p + 64, 0, 4), cudaErrorInvalidDevice);
}

static void symbols()
{
    const void *none = not_a_variable, *symbol = variable;
    char *p;

    MUST(cudaMalloc(&p, 4096));
    ROW("nothing", cudaMemcpyToSymbol((const void *)nullptr, text, 4), cudaErrorInvalidSymbol);
    ROW("no symbol", cudaMemcpyToSymbol(none, text, 4), cudaErrorInvalidSymbol);
    ROW("no source", cudaMemcpyToSymbol(symbol, nullptr, 4), cudaErrorInvalidValue);
    ROW("past the end", cudaMemcpyToSymbol(symbol, text, 65), cudaErrorInvalidValue);
    ROW("offset past the end", cudaMemcpyToSymbol(symbol, text, 1, 64), cudaErrorInvalidValue);
    ROW("offset wraps", cudaMemcpyToSymbol(symbol, text, 16, ~(size_t)0 - 7),
        cudaErrorInvalidValue);
    ROW("count 0", cudaMemcpyToSymbol(symbol, text, 0), cudaSuccess);
    ROW("count 0, no symbol", cudaMemcpyToSymbol(none, text, 0), cudaSuccess);
    ROW("to host", cudaMemcpyToSymbol(symbol, text, 4, 0, to_host),
        cudaErrorInvalidMemcpyDirection);
    ROW("host to host", cudaMemcpyToSymbol(symbol, text, 4, 0, on_host),
        cudaErrorInvalidMemcpyDirection);
    ROW("kind 5", cudaMemcpyToSymbol(symbol, text, 4, 0, above), cudaErrorInvalidMemcpyDirection);
    ROW("no symbol", cudaMemcpyFromSymbol(text, none, 4), cudaErrorInvalidSymbol);
    ROW("no target", cudaMemcpyFromSymbol(nullptr, symbol, 4), cudaErrorInvalidValue);
    ROW("past the end", cudaMemcpyFromSymbol(text, symbol, 65), cudaErrorInvalidValue);
    ROW("to device", cudaMemcpyFromSymbol(text, symbol, 4, 0, to_device),
        cudaErrorInvalidMemcpyDirection);
    ROW("host to host", cudaMemcpyFromSymbol(text, symbol, 4, 0, on_host),
        cudaErrorInvalidMemcpyDirection);
    ROW("kind 5", cudaMemcpyFromSymbol(text, symbol, 4, 0, above), cudaErrorInvalidMemcpyDirection);
    ROW("no symbol", cudaMemcpyToSymbolAsync(none, text, 4, 0, to_device), cudaErrorInvalidSymbol);
    ROW("past the end", cudaMemcpyToSymbolAsync(symbol, text, 65, 0, to_device),
        cudaErrorInvalidValue);
    ROW("to host", cudaMemcpyToSymbolAsync(symbol, text, 4, 0, to_host),
        cudaErrorInvalidMemcpyDirection);
    ROW("no symbol", cudaMemcpyFromSymbolAsync(text, none, 4, 0, to_host), cudaErrorInvalidSymbol);
    ROW("to device", cudaMemcpyFromSymbolAsync(text, symbol, 4, 0, to_device),
        cudaErrorInvalidMemcpyDirection);
}

static void sets()
{
    char *p, *host;
    cudaPitchedPtr v, none = make_cudaPitchedPtr(nullptr, 8, 8, 4);

    MUST(cudaMalloc(&p, 4096));
    MUST(cudaMallocHost(&host, 4096));
    v = make_cudaPitchedPtr(p, 64, 64, 8);
    ROW("nothing", cudaMemset(nullptr, 0, 4), cudaErrorInvalidValue);
    ROW("count 0", cudaMemset(nullptr, 0, 0), cudaSuccess);
    ROW("past the end", cudaMemset(p, 0, 4097), cudaErrorInvalidValue);
    ROW("stack", cudaMemset(text, 0, 4), pageable());
    ROW("page-locked", cudaMemset(host, 0, 4), cudaSuccess);
    ROW("nothing", cudaMemsetAsync(nullptr, 0, 4), cudaErrorInvalidValue);
    ROW("past the end", cudaMemsetAsync(p, 0, 4097), cudaErrorInvalidValue);
    ROW("nothing", cudaMemset2D(nullptr, 8, 0, 8, 2), cudaErrorInvalidValue);
    ROW("pitch", cudaMemset2D(p, 4, 0, 8, 2), cudaErrorInvalidValue);
    ROW("pitch, one row", cudaMemset2D(p, 4, 0, 8, 1), cudaSuccess);
    ROW("width 0", cudaMemset2D(p, 8, 0, 0, 2), cudaSuccess);
    ROW("height 0", cudaMemset2D(p, 8, 0, 8, 0), cudaSuccess);
    ROW("past the end", cudaMemset2D(p, 64, 0, 8, 66), cudaErrorInvalidValue);
    ROW("pitch", cudaMemset2DAsync(p, 4, 0, 8, 2), cudaErrorInvalidValue);
    ROW("nothing", cudaMemset3D(none, 0, make_cudaExtent(8, 4, 2)), cudaErrorInvalidValue);
    ROW("width 0", cudaMemset3D(v, 0, make_cudaExtent(0, 4, 2)), cudaSuccess);
    ROW("width over the pitch", cudaMemset3D(v, 0, make_cudaExtent(65, 4, 2)),
        cudaErrorInvalidValue);
    ROW("rows over the slice", cudaMemset3D(v, 0, make_cudaExtent(8, 9, 2)), cudaErrorInvalidValue);
    ROW("past the end", cudaMemset3D(v, 0, make_cudaExtent(8, 8, 9)), cudaErrorInvalidValue);
    ROW("nothing", cudaMemset3DAsync(none, 0, make_cudaExtent(8, 4, 2)), cudaErrorInvalidValue);
    v.ysize = (size_t)1 << 33;
    ROW_UNDEFINED("rows that wrap",
                  cudaMemset3D(v, 0, make_cudaExtent(8, (size_t)1 << 33, (size_t)1 << 31)),
                  cudaErrorInvalidValue);
}

#if CUDART_VERSION >= 13000
static void batches()
{
    char *p;
    void *dsts[2], *nulls[2] = {nullptr, nullptr};
    const void *srcs[2] = {text, text + 64};
    size_t sizes[2] = {64, 64}, firsts[1] = {0}, late[1] = {1};
    cudaMemcpyAttributes how, odd;
    cudaStream_t s;

    MUST(cudaStreamCreate(&s));
    MUST(cudaMalloc(&p, 4096));
    dsts[0] = p;
    dsts[1] = p + 64;
    memset(&how, 0, sizeof how);
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    odd = how;
    odd.srcAccessOrder = (cudaMemcpySrcAccessOrder)77;
    ROW("default stream", cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, firsts, 1, nullptr),
        cudaErrorInvalidValue);
    ROW("fine", cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, firsts, 1, s), cudaSuccess);
    ROW("no targets", cudaMemcpyBatchAsync(nullptr, srcs, sizes, 2, &how, firsts, 1, s),
        cudaErrorInvalidValue);
    ROW("no sources", cudaMemcpyBatchAsync(dsts, nullptr, sizes, 2, &how, firsts, 1, s),
        cudaErrorInvalidValue);
    ROW("no sizes", cudaMemcpyBatchAsync(dsts, srcs, nullptr, 2, &how, firsts, 1, s),
        cudaErrorInvalidValue);
    ROW("no copies", cudaMemcpyBatchAsync(dsts, srcs, sizes, 0, &how, firsts, 1, s),
        cudaErrorInvalidValue);
    ROW("no attributes", cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, nullptr, nullptr, 0, s),
        cudaErrorInvalidValue);
    ROW("more attributes than copies",
        cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, firsts, 3, s), cudaErrorInvalidValue);
    ROW("attributes start late", cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, late, 1, s),
        cudaErrorInvalidValue);
    ROW("unknown order", cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &odd, firsts, 1, s),
        cudaErrorInvalidValue);
    ROW("target missing", cudaMemcpyBatchAsync(nulls, srcs, sizes, 2, &how, firsts, 1, s),
        cudaErrorInvalidValue);
    sizes[1] = 8192;
    ROW("past the target", cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, firsts, 1, s),
        cudaErrorInvalidValue);
    ROW("no list", cudaMemcpy3DBatchAsync(1, nullptr, 0, s), cudaErrorInvalidValue);
    ROW("none", cudaMemcpy3DBatchAsync(0, nullptr, 0, s), cudaErrorInvalidValue);
}
#endif

static void rows()
{
    lines();
    boxes();
    volumes();
    symbols();
    sets();
#if CUDART_VERSION >= 13000
    batches();
#endif
}

ERROR_TABLE_MAIN(rows)
