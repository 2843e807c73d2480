// RUN own-pools: WEIR_POOLS=own
/* E1: a copy or a set whose device's side is no memory at all, or is not the program's any more, is
 * refused where it is made, and the device works on. In the host's place nothing can be said of an
 * address: a GPU's driver reads it. */
#include "errors.h"

#include <stdint.h>

static char text[4096];
static const size_t MIB = 1 << 20;

/* Addresses where the process has nothing, and gets nothing: others' mappings take the upper end of so
 * large a gap. */
static char *nowhere()
{
    size_t bytes = 65536 * MIB;
    void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    munmap(p, bytes);
    return (char *)p;
}

static void copies(const char *what, char *bad, size_t bytes, char *device, char *host)
{
    cudaStream_t s;
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    ROW(what, cudaMemcpy(bad, host, bytes, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    ROW(what, cudaMemcpy(host, bad, bytes, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    ROW(what, cudaMemcpy(bad, device, bytes, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    ROW(what, cudaMemcpy(device, bad, bytes, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    ROW(what, cudaMemcpyAsync(bad, host, bytes, cudaMemcpyHostToDevice, s), cudaErrorInvalidValue);
    ROW(what, cudaMemcpyAsync(host, bad, bytes, cudaMemcpyDeviceToHost, s), cudaErrorInvalidValue);
    ROW(what, cudaMemcpyAsync(bad, device, bytes, cudaMemcpyDeviceToDevice, s),
        cudaErrorInvalidValue);
    ROW(what, cudaMemcpyAsync(device, bad, bytes, cudaMemcpyDeviceToDevice, s),
        cudaErrorInvalidValue);
    ROW(what, cudaMemcpy2D(bad, bytes / 4, host, bytes / 4, bytes / 4, 4, cudaMemcpyHostToDevice),
        cudaErrorInvalidValue);
    ROW(what, cudaMemcpy2D(host, bytes / 4, bad, bytes / 4, bytes / 4, 4, cudaMemcpyDeviceToHost),
        cudaErrorInvalidValue);
    ROW(what, cudaMemset(bad, 1, bytes), cudaErrorInvalidValue);
    ROW(what, cudaMemsetAsync(bad, 1, bytes, s), cudaErrorInvalidValue);
    ROW(what, cudaMemset2D(bad, bytes / 4, 1, bytes / 4, 4), cudaErrorInvalidValue);
    ROW("the stream works on", cudaStreamSynchronize(s), cudaSuccess);
    ROW("the device works on", cudaDeviceSynchronize(), cudaSuccess);
    ROW("and copies", cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), cudaSuccess);
}

#if CUDART_VERSION >= 13000
/* A batch of two copies, or of two boxes, of which one is bad. */
static void batches(const char *what, char *bad, size_t bytes, char *device)
{
    void *to[] = {device, bad}, *good[] = {device, device + bytes};
    const void *from[] = {device + bytes, device + bytes}, *wrong[] = {device, bad};
    size_t sizes[] = {bytes, bytes}, first = 0;
    cudaMemcpyAttributes how = {};
    cudaMemcpy3DBatchOp boxes[2] = {};
    cudaStream_t s;
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    ROW_CRASH(what, cudaMemcpyBatchAsync(to, from, sizes, 2, &how, &first, 1, s),
              cudaErrorInvalidValue);
    ROW_CRASH(what, cudaMemcpyBatchAsync(good, wrong, sizes, 2, &how, &first, 1, s),
              cudaErrorInvalidValue);
    for (cudaMemcpy3DBatchOp &box : boxes) {
        box.src.type = box.dst.type = cudaMemcpyOperandTypePointer;
        box.src.op.ptr.ptr = device;
        box.dst.op.ptr.ptr = device + bytes;
        box.extent = make_cudaExtent(bytes / 4, 2, 2);
        box.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    }
    ROW("good boxes", cudaMemcpy3DBatchAsync(2, boxes, 0, s), cudaSuccess);
    boxes[1].dst.op.ptr.ptr = bad;
    ROW_CRASH(what, cudaMemcpy3DBatchAsync(2, boxes, 0, s), cudaErrorInvalidValue);
    boxes[1].dst.op.ptr.ptr = device;
    boxes[1].src.op.ptr.ptr = bad;
    ROW_CRASH(what, cudaMemcpy3DBatchAsync(2, boxes, 0, s), cudaErrorInvalidValue);
    ROW("the stream works on", cudaStreamSynchronize(s), cudaSuccess);
    MUST(cudaStreamDestroy(s));
}
#endif

/* Stream-ordered memory is the program's until the call that frees it, and only so far as asked. */
static void in_order(size_t bytes, char *device, char *host)
{
    cudaStream_t s, other;
    char *now, *later, *elsewhere, *at_once, *live;
    MUST(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    MUST(cudaMallocAsync(&now, bytes, s));
    MUST(cudaMallocAsync(&elsewhere, bytes, s));
    MUST(cudaMallocAsync(&at_once, bytes, s));
    MUST(cudaMallocAsync(&live, bytes, s));
    MUST(cudaFreeAsync(now, s));
    MUST(cudaStreamSynchronize(s));
    MUST(cudaFreeAsync(elsewhere, other));
    MUST(cudaFree(at_once));
    MUST(cudaMallocAsync(&later, 3 * bytes, s));
    MUST(cudaFreeAsync(later, s));
    copies("freed in order, waited for", now, bytes, device, host);
    copies("freed in order", later, bytes, device, host);
    copies("freed in another stream", elsewhere, bytes, device, host);
    copies("freed by cudaFree", at_once, bytes, device, host);
    copies("past the end", live + bytes / 2, bytes, device, host);
#if CUDART_VERSION >= 13000
    batches("freed in order, waited for, in a batch", now, bytes, device);
    batches("freed in order, in a batch", later, bytes, device);
    batches("freed by cudaFree, in a batch", at_once, bytes, device);
    batches("past the end, in a batch", live + bytes / 2, bytes, device);
#endif
    ROW("all of it", cudaMemcpy(live, host, bytes, cudaMemcpyHostToDevice), cudaSuccess);
    ROW("its last byte", cudaMemset(live + bytes - 1, 1, 1), cudaSuccess);
    ROW("one byte more", cudaMemset(live + bytes - 1, 1, 2), cudaErrorInvalidValue);
    ROW("in rows", cudaMemset2D(live, bytes / 4, 1, bytes / 4, 4), cudaSuccess);
    ROW("a row too many", cudaMemset2D(live, bytes / 4, 1, bytes / 4, 5), cudaErrorInvalidValue);
    ROW("between devices", cudaMemcpyPeer(now, 0, device, 0, bytes), cudaErrorInvalidValue);
    ROW("between devices", cudaMemcpyPeerAsync(device, 0, now, 0, bytes, s), cudaErrorInvalidValue);
    ROW("nothing of it", cudaMemcpy(now, host, 0, cudaMemcpyHostToDevice), cudaSuccess);
}

static void rows()
{
    char *device, *large;
    MUST(cudaMalloc(&device, 2 * MIB));
    MUST(cudaMallocHost(&large, MIB));
    copies("a member of a null pointer", (char *)0x1000, 256, device, text);
    copies("no address of any process", (char *)0xdead00000000beefull, 256, device, text);
    copies("unmapped", nowhere(), 256, device, text);
    copies("unmapped, many bytes", nowhere(), MIB, device, large);
    in_order(256, device, text);
    in_order(MIB, device, large);
}

ERROR_TABLE_MAIN(rows)
