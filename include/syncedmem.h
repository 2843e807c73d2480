/* syncedmem.h: a buffer that lives on the host and on a device and is copied only when it must be.
 *
 * The program asks for the buffer where it needs it, to read (cpu_data, gpu_data) or to write
 * (mutable_cpu_data, mutable_gpu_data), and gets a pointer that is up to date there. The head says
 * where the newest bytes are:
 *
 *   UNINITIALIZED  nowhere: nothing is allocated
 *   HEAD_AT_CPU    on the host; the device's copy, if there is one, is old
 *   HEAD_AT_GPU    on the device; the host's copy, if there is one, is old
 *   SYNCED         on both
 *
 * Memory is allocated at first use of its side, and what is touched first is filled with zeros.
 * docs/syncedmem.md has the table of what each call copies in each state.
 *
 * Written against the public runtime API alone: works over any CUDA runtime. C99 or C++11; in C++,
 * syncedmem.hpp is a class over it.
 *
 * Errors. Each function that can fail returns a cudaError_t, the runtime's own or, for what is
 * wrong with the arguments, cudaErrorInvalidValue. A call that fails leaves head, contents and
 * pointers as they were (set_cpu_data and set_gpu_data, when only the freeing of what was there
 * failed, have done their work). Faults of earlier work come back from here as from any call.
 *
 * Devices. A buffer belongs to the device that was current when it was created (or whose memory was
 * given to it by set_gpu_data); the calls work on that one whatever is current, and leave the
 * calling thread's current device alone.
 *
 * Order. Copies of gpu_data, cpu_data and their mutable forms are made in the default stream and
 * are complete when the call returns. Work in non-blocking streams that still uses the device's
 * memory must be waited for first: those streams do not wait for the default one.
 *
 * Threads. Different buffers may be used at the same time. One buffer must be used by one thread at
 * a time, the reading calls included, since these may copy. Only in SYNCED do cpu_data, gpu_data,
 * head and size change nothing, so that any number of threads may make them at once. Not to be
 * called from host functions in a stream, like any CUDA call. */
#ifndef SYNCEDMEM_H
#define SYNCEDMEM_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct syncedmem; /* one buffer */

enum syncedmem_head {
    SYNCEDMEM_UNINITIALIZED = 0,
    SYNCEDMEM_HEAD_AT_CPU,
    SYNCEDMEM_HEAD_AT_GPU,
    SYNCEDMEM_SYNCED
};

enum {
    /* Host memory that the buffer allocates is page-locked when there is a device, pageable when
     * there is none. */
    SYNCEDMEM_DEFAULT = 0,
    SYNCEDMEM_PAGEABLE = 1 /* never page-locked */
};

/* Makes a buffer of `size` bytes for the current device; allocates nothing on either side. `flags`:
 * SYNCEDMEM_DEFAULT or SYNCEDMEM_PAGEABLE. Without a device the host's side works all the same.
 * Errors: cudaErrorInvalidValue (out is NULL, an unknown flag), cudaErrorMemoryAllocation. The
 * caller owns the buffer: syncedmem_destroy. */
cudaError_t syncedmem_create(struct syncedmem **out, size_t size, unsigned flags);

/* Frees the buffer and what it owns on both sides; memory that was given to it stays the caller's.
 * Waits for the device if it owns memory there, as cudaFree does. The buffer is gone whatever is
 * returned: the first error of freeing. NULL: nothing is done. */
cudaError_t syncedmem_destroy(struct syncedmem *mem);

/* The bytes for reading on the host. *out is valid until the buffer is destroyed or set_cpu_data
 * is called, and its contents until the device's side is written. After HEAD_AT_GPU: SYNCED; after
 * UNINITIALIZED: HEAD_AT_CPU. */
cudaError_t syncedmem_cpu_data(struct syncedmem *mem, const void **out);

/* The same on the device. After HEAD_AT_CPU: SYNCED; after UNINITIALIZED: HEAD_AT_GPU. */
cudaError_t syncedmem_gpu_data(struct syncedmem *mem, const void **out);

/* For writing on the host: afterwards the head is at the CPU, and the device's copy is old. Keep
 * the pointer only as long as nothing asks for the device's side; then ask again. */
cudaError_t syncedmem_mutable_cpu_data(struct syncedmem *mem, void **out);

/* For writing on the device: afterwards the head is at the GPU. The zeros of a first touch
 * are written at the return. */
cudaError_t syncedmem_mutable_gpu_data(struct syncedmem *mem, void **out);

/* Makes `data`, at least size bytes of any host memory, the host's side and the newest contents
 * (HEAD_AT_CPU). It is borrowed: never freed here, written to when the host's side is brought up
 * to date, and to be kept until the buffer is destroyed or has another host side. Host memory that
 * the buffer owned is freed. Errors: cudaErrorInvalidValue (NULL). */
cudaError_t syncedmem_set_cpu_data(struct syncedmem *mem, void *data);

/* The same for the device's side (HEAD_AT_GPU). `data` is device, managed or page-locked memory;
 * the buffer belongs to its device from then on. Errors: cudaErrorInvalidValue (NULL, or memory
 * that CUDA does not know). */
cudaError_t syncedmem_set_gpu_data(struct syncedmem *mem, void *data);

/* Starts the copy from the host to the device in `stream` and returns; the head is SYNCED at once.
 * Until the stream has come to it, the host's side must not be written nor the device's be used
 * except in stream order. Asynchronous when the host's side is page-locked; pageable memory is
 * copied as cudaMemcpyAsync does it. Errors: cudaErrorInvalidValue when the head is not at the
 * CPU: then there is nothing to push. */
cudaError_t syncedmem_async_gpu_push(struct syncedmem *mem, cudaStream_t stream);

/* Where the newest contents are. */
enum syncedmem_head syncedmem_head(const struct syncedmem *mem);
/* Bytes. */
size_t syncedmem_size(const struct syncedmem *mem);
/* The device that the buffer belongs to; -1 when there was none at its creation. */
int syncedmem_device(const struct syncedmem *mem);

#ifdef __cplusplus
}
#endif

#endif
