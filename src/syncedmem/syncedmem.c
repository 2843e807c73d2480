/* syncedmem: a buffer on host and device that is copied only when it must be (see syncedmem.h).
 *
 * Both sides are alike: a pointer, whose memory it is, and two steps, "have memory" and "have the
 * newest bytes". The state is changed last in every function, so that one that fails has changed
 * nothing that counts. Memory once allocated is kept even if the copy into it fails: it is used at
 * the next try. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "syncedmem.h"

/* Whose memory a side is, which is how it is freed. */
enum owner {
    NOBODY,   /* there is none yet */
    BORROWED, /* the caller's */
    PAGEABLE, /* malloc */
    PINNED,   /* cudaMallocHost */
    DEVICE    /* cudaMalloc */
};

/* One side: the host's or the device's. */
struct side {
    void *data;
    enum owner owner;
};

struct syncedmem {
    size_t size;              /* bytes */
    unsigned flags;           /* as given to syncedmem_create */
    int device;               /* that both sides are copied to and from; -1: none */
    enum syncedmem_head head; /* where the newest bytes are */
    struct side cpu, gpu;
};

/* The calling thread's current device while another one is in use. */
struct device_guard {
    int before; /* to go back to; -1: it is the right one already */
};

static cudaError_t enter_device(const struct syncedmem *mem, struct device_guard *guard)
{
    guard->before = -1;
    int current;
    cudaError_t error = cudaGetDevice(&current);
    if (error != cudaSuccess)
        return error;
    if (mem->device < 0) /* created when there was no device, and there still is none for it */
        return cudaErrorNoDevice;
    if (current == mem->device)
        return cudaSuccess;
    error = cudaSetDevice(mem->device);
    if (error == cudaSuccess)
        guard->before = current;
    return error;
}

/* Goes back; an error of what was done in between comes first. */
static cudaError_t leave_device(const struct device_guard *guard, cudaError_t error)
{
    if (guard->before < 0)
        return error;
    cudaError_t back = cudaSetDevice(guard->before);
    return error != cudaSuccess ? error : back;
}

/* ---- memory ---- */

/* Nothing has no address of its own: every side has at least a byte. */
static size_t allocated(const struct syncedmem *mem) { return mem->size > 0 ? mem->size : 1; }

/* Frees what the side owns; it is empty afterwards. The right device is current. */
static cudaError_t release(struct side *side)
{
    cudaError_t error = cudaSuccess;
    switch (side->owner) {
    case NOBODY:
    case BORROWED: break;
    case PAGEABLE: free(side->data); break;
    case PINNED: error = cudaFreeHost(side->data); break;
    case DEVICE: error = cudaFree(side->data); break;
    }
    side->data = NULL;
    side->owner = NOBODY;
    return error;
}

static cudaError_t have_cpu_memory(struct syncedmem *mem)
{
    if (mem->cpu.owner != NOBODY)
        return cudaSuccess;
    void *data = NULL;
    if (mem->device < 0 || (mem->flags & SYNCEDMEM_PAGEABLE) != 0) {
        data = malloc(allocated(mem));
        if (data == NULL)
            return cudaErrorMemoryAllocation;
        mem->cpu = (struct side){data, PAGEABLE};
        return cudaSuccess;
    }
    struct device_guard guard;
    cudaError_t error = enter_device(mem, &guard);
    if (error == cudaSuccess)
        error = cudaMallocHost(&data, allocated(mem));
    if (error == cudaSuccess)
        mem->cpu = (struct side){data, PINNED};
    return leave_device(&guard, error);
}

/* The right device is current. */
static cudaError_t have_gpu_memory(struct syncedmem *mem)
{
    if (mem->gpu.owner != NOBODY)
        return cudaSuccess;
    void *data = NULL;
    cudaError_t error = cudaMalloc(&data, allocated(mem));
    if (error == cudaSuccess)
        mem->gpu = (struct side){data, DEVICE};
    return error;
}

/* ---- contents ---- */

static cudaError_t copy_to_cpu(struct syncedmem *mem)
{
    struct device_guard guard;
    cudaError_t error = enter_device(mem, &guard);
    if (error == cudaSuccess)
        error = cudaMemcpy(mem->cpu.data, mem->gpu.data, mem->size, cudaMemcpyDefault);
    return leave_device(&guard, error);
}

/* Makes the host's bytes the newest. */
static cudaError_t to_cpu(struct syncedmem *mem)
{
    if (mem->head == SYNCEDMEM_HEAD_AT_CPU || mem->head == SYNCEDMEM_SYNCED)
        return cudaSuccess;
    cudaError_t error = have_cpu_memory(mem);
    if (error != cudaSuccess)
        return error;
    if (mem->head == SYNCEDMEM_UNINITIALIZED) {
        memset(mem->cpu.data, 0, mem->size);
        mem->head = SYNCEDMEM_HEAD_AT_CPU;
        return cudaSuccess;
    }
    error = copy_to_cpu(mem);
    if (error == cudaSuccess)
        mem->head = SYNCEDMEM_SYNCED;
    return error;
}

/* Brings zeros or the host's bytes to the device. A set, and the end of a copy from pageable
 * memory, may be still on their way when the call is back, and streams that do not wait for the
 * default one would not see them: so they are waited for. */
static cudaError_t fill_gpu(struct syncedmem *mem)
{
    cudaError_t error =
        mem->head == SYNCEDMEM_UNINITIALIZED
            ? cudaMemset(mem->gpu.data, 0, mem->size)
            : cudaMemcpy(mem->gpu.data, mem->cpu.data, mem->size, cudaMemcpyDefault);
    return error != cudaSuccess ? error : cudaStreamSynchronize(0);
}

/* Makes the device's bytes the newest. */
static cudaError_t to_gpu(struct syncedmem *mem)
{
    if (mem->head == SYNCEDMEM_HEAD_AT_GPU || mem->head == SYNCEDMEM_SYNCED)
        return cudaSuccess;
    struct device_guard guard;
    cudaError_t error = enter_device(mem, &guard);
    if (error == cudaSuccess)
        error = have_gpu_memory(mem);
    if (error == cudaSuccess)
        error = fill_gpu(mem);
    error = leave_device(&guard, error);
    if (error == cudaSuccess)
        mem->head = mem->head == SYNCEDMEM_UNINITIALIZED ? SYNCEDMEM_HEAD_AT_GPU : SYNCEDMEM_SYNCED;
    return error;
}

/* ---- the functions ---- */

/* The device that is current, or -1 when there is none at all. */
static cudaError_t current_device(int *out)
{
    int count = 0;
    *out = -1;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
        (error == cudaSuccess && count == 0)) {
        (void)cudaGetLastError(); /* not the caller's: a buffer may be made without a device */
        return cudaSuccess;
    }
    return error != cudaSuccess ? error : cudaGetDevice(out);
}

cudaError_t syncedmem_create(struct syncedmem **out, size_t size, unsigned flags)
{
    if (out == NULL || (flags & ~(unsigned)SYNCEDMEM_PAGEABLE) != 0)
        return cudaErrorInvalidValue;
    int device;
    cudaError_t error = current_device(&device);
    if (error != cudaSuccess)
        return error;
    struct syncedmem *mem = malloc(sizeof *mem);
    if (mem == NULL)
        return cudaErrorMemoryAllocation;
    *mem = (struct syncedmem){.size = size, .flags = flags, .device = device};
    *out = mem;
    return cudaSuccess;
}

cudaError_t syncedmem_destroy(struct syncedmem *mem)
{
    if (mem == NULL)
        return cudaSuccess;
    /* Where CUDA owns nothing it is not asked: it may have been shut down already. */
    bool with_device = mem->cpu.owner == PINNED || mem->gpu.owner == DEVICE;
    struct device_guard guard = {-1};
    cudaError_t error = with_device ? enter_device(mem, &guard) : cudaSuccess;
    cudaError_t cpu = release(&mem->cpu), gpu = release(&mem->gpu);
    error = leave_device(&guard, error != cudaSuccess ? error : cpu != cudaSuccess ? cpu : gpu);
    free(mem);
    return error;
}

cudaError_t syncedmem_cpu_data(struct syncedmem *mem, const void **out)
{
    if (mem == NULL || out == NULL)
        return cudaErrorInvalidValue;
    cudaError_t error = to_cpu(mem);
    if (error == cudaSuccess)
        *out = mem->cpu.data;
    return error;
}

cudaError_t syncedmem_gpu_data(struct syncedmem *mem, const void **out)
{
    if (mem == NULL || out == NULL)
        return cudaErrorInvalidValue;
    cudaError_t error = to_gpu(mem);
    if (error == cudaSuccess)
        *out = mem->gpu.data;
    return error;
}

cudaError_t syncedmem_mutable_cpu_data(struct syncedmem *mem, void **out)
{
    if (mem == NULL || out == NULL)
        return cudaErrorInvalidValue;
    cudaError_t error = to_cpu(mem);
    if (error != cudaSuccess)
        return error;
    mem->head = SYNCEDMEM_HEAD_AT_CPU;
    *out = mem->cpu.data;
    return cudaSuccess;
}

cudaError_t syncedmem_mutable_gpu_data(struct syncedmem *mem, void **out)
{
    if (mem == NULL || out == NULL)
        return cudaErrorInvalidValue;
    cudaError_t error = to_gpu(mem);
    if (error != cudaSuccess)
        return error;
    mem->head = SYNCEDMEM_HEAD_AT_GPU;
    *out = mem->gpu.data;
    return cudaSuccess;
}

/* Makes the caller's memory one of the sides. The right device is current. */
static cudaError_t borrow(struct side *side, void *data)
{
    if (data == side->data) /* it stays whose it is */
        return cudaSuccess;
    cudaError_t error = release(side);
    *side = (struct side){data, BORROWED};
    return error;
}

cudaError_t syncedmem_set_cpu_data(struct syncedmem *mem, void *data)
{
    if (mem == NULL || data == NULL)
        return cudaErrorInvalidValue;
    struct device_guard guard = {-1};
    cudaError_t error = mem->cpu.owner == PINNED ? enter_device(mem, &guard) : cudaSuccess;
    if (error != cudaSuccess)
        return error;
    error = borrow(&mem->cpu, data);
    mem->head = SYNCEDMEM_HEAD_AT_CPU;
    return leave_device(&guard, error);
}

cudaError_t syncedmem_set_gpu_data(struct syncedmem *mem, void *data)
{
    if (mem == NULL || data == NULL)
        return cudaErrorInvalidValue;
    struct cudaPointerAttributes attributes;
    cudaError_t error = cudaPointerGetAttributes(&attributes, data);
    if (error != cudaSuccess)
        return error;
    if (attributes.type == cudaMemoryTypeUnregistered)
        return cudaErrorInvalidValue;
    struct device_guard guard = {-1};
    error = mem->gpu.owner == DEVICE ? enter_device(mem, &guard) : cudaSuccess;
    if (error != cudaSuccess)
        return error;
    error = leave_device(&guard, borrow(&mem->gpu, data));
    mem->device = attributes.device;
    mem->head = SYNCEDMEM_HEAD_AT_GPU;
    return error;
}

cudaError_t syncedmem_async_gpu_push(struct syncedmem *mem, cudaStream_t stream)
{
    if (mem == NULL || mem->head != SYNCEDMEM_HEAD_AT_CPU)
        return cudaErrorInvalidValue;
    struct device_guard guard;
    cudaError_t error = enter_device(mem, &guard);
    if (error == cudaSuccess)
        error = have_gpu_memory(mem);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(mem->gpu.data, mem->cpu.data, mem->size, cudaMemcpyDefault, stream);
    error = leave_device(&guard, error);
    if (error == cudaSuccess)
        mem->head = SYNCEDMEM_SYNCED;
    return error;
}

enum syncedmem_head syncedmem_head(const struct syncedmem *mem) { return mem->head; }

size_t syncedmem_size(const struct syncedmem *mem) { return mem->size; }

int syncedmem_device(const struct syncedmem *mem) { return mem->device; }
