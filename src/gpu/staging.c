/* staging: large copies between the device and pageable memory of the host. A device reads and
 * writes page-locked memory alone, so a driver moves the bytes through a buffer of such memory, and
 * does it with one thread, which is several times slower than the bus. Here a few threads do it,
 * each with two buffers: while one is under way to the device, the thread fills the other.
 *
 * Only copies that the host waits for are made so: all is done when the call returns. Each piece is
 * a command of the legacy stream, as the whole copy would be. */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gpu/internal.h"

enum { THREADS = 4, BUFFERS = 2 };
static const size_t PIECE = (size_t)2 << 20, LEAST = (size_t)16 << 20;

/* Buffers of one context; the lock is held while a copy uses them. */
struct staging {
    pthread_mutex_t lock;
    char *bytes; /* of all buffers, NULL: none yet */
    CUevent events[THREADS * BUFFERS];
};

struct job {
    CUcontext context;
    char *bytes;
    CUevent *events;
    bool to_device;
    char *host;
    CUdeviceptr device;
    size_t size;
    _Atomic size_t next; /* where the next piece begins */
    _Atomic int result;  /* the first error */
};

struct part {
    struct job *job;
    unsigned thread;
};

/* ---- one thread's part ---- */

/* What is under way between a buffer and the device. */
struct piece {
    char *buffer;
    CUevent event;
    size_t at, size; /* 0: nothing */
};

static void fails(struct job *j, CUresult r)
{
    int none = CUDA_SUCCESS;
    if (r != CUDA_SUCCESS)
        atomic_compare_exchange_strong(&j->result, &none, r);
}

static void piece_ends(struct job *j, struct piece *p)
{
    if (p->size == 0)
        return;
    CUresult r = driver.cuEventSynchronize(p->event);
    fails(j, r);
    if (r == CUDA_SUCCESS && !j->to_device)
        memcpy(j->host + p->at, p->buffer, p->size);
    p->size = 0;
}

static void piece_begins(struct job *j, struct piece *p, size_t at)
{
    size_t n = j->size - at < PIECE ? j->size - at : PIECE;
    if (j->to_device)
        memcpy(p->buffer, j->host + at, n);
    CUresult r = j->to_device ? driver.cuMemcpyHtoDAsync_v2(j->device + at, p->buffer, n, NULL)
                              : driver.cuMemcpyDtoHAsync_v2(p->buffer, j->device + at, n, NULL);
    if (r == CUDA_SUCCESS)
        r = driver.cuEventRecord(p->event, NULL);
    fails(j, r);
    *p = (struct piece){p->buffer, p->event, at, r == CUDA_SUCCESS ? n : 0};
}

static void work(struct job *j, unsigned thread)
{
    struct piece pieces[BUFFERS] = {0};
    for (unsigned i = 0; i < BUFFERS; i++) {
        pieces[i].buffer = j->bytes + (thread * BUFFERS + i) * PIECE;
        pieces[i].event = j->events[thread * BUFFERS + i];
    }
    unsigned i = 0;
    for (size_t at; atomic_load(&j->result) == CUDA_SUCCESS &&
                    (at = atomic_fetch_add(&j->next, PIECE)) < j->size;
         i = (i + 1) % BUFFERS) {
        piece_ends(j, &pieces[i]);
        piece_begins(j, &pieces[i], at);
    }
    for (unsigned k = 0; k < BUFFERS; k++)
        piece_ends(j, &pieces[(i + k) % BUFFERS]);
}

static void *run_part(void *arg)
{
    struct part *p = arg;
    CUresult r = driver.cuCtxSetCurrent(p->job->context);
    fails(p->job, r);
    if (r == CUDA_SUCCESS)
        work(p->job, p->thread);
    return NULL;
}

/* ---- all of them ---- */

/* As many threads as there are CPUs for the process, and few enough to leave some to others. */
static unsigned threads_wanted(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < THREADS ? (unsigned)n : THREADS;
}

/* The others take no signals of the program's. Fewer threads than wanted are enough. */
static void run(struct job *j)
{
    pthread_t threads[THREADS];
    struct part parts[THREADS];
    unsigned wanted = threads_wanted(), n = 1;
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    for (; n < wanted; n++) {
        parts[n] = (struct part){j, n};
        if (pthread_create(&threads[n], NULL, run_part, &parts[n]) != 0)
            break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(j, 0);
    for (unsigned i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* The lock is held. */
static bool make_buffers(struct staging *s)
{
    const size_t n = THREADS * BUFFERS;
    void *bytes = NULL;
    if (s->bytes != NULL)
        return true;
    for (size_t i = 0; i < n; i++)
        if (s->events[i] == NULL &&
            driver.cuEventCreate(&s->events[i], CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
            return false;
    if (driver.cuMemHostAlloc(&bytes, n * PIECE, 0) != CUDA_SUCCESS)
        return false;
    s->bytes = bytes;
    return true;
}

/* Whether the process has memory there: what it has not is for the driver to refuse. To find that
 * out for writing, the byte is written that was read. */
static bool is_there(char *at, bool written)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {at, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 &&
           (!written || process_vm_writev(getpid(), &here, 1, &there, 1, 0) == 1);
}

/* Whether the driver knows nothing of the host's side, and the device's is one allocation. */
static bool is_pageable(const char *host, CUdeviceptr device, size_t size)
{
    CUmemorytype type;
    CUdeviceptr start = 0;
    size_t bytes = 0;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *out[] = {&type, &start, &bytes};
    return driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        (CUdeviceptr)(uintptr_t)host) != CUDA_SUCCESS &&
           gpu_cuPointerGetAttributes(3, which, out, device) == CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE && device - start <= bytes &&
           size <= bytes - (device - start);
}

bool staging_copy(bool to_device, char *host, CUdeviceptr device, size_t size, CUresult *r)
{
    if (size < LEAST || atomic_load(&closer) > 0 || !is_pageable(host, device, size) ||
        !is_there(host, !to_device) || !is_there(host + size - 1, !to_device))
        return false;
    struct context *c = context_current();
    if (c == NULL || pthread_mutex_trylock(&c->staging->lock) != 0)
        return false;
    bool possible = make_buffers(c->staging);
    if (possible) {
        struct job j = {.context = c->handle,
                        .bytes = c->staging->bytes,
                        .events = c->staging->events,
                        .to_device = to_device,
                        .host = host,
                        .device = device,
                        .size = size};
        run(&j);
        *r = (CUresult)j.result;
    }
    pthread_mutex_unlock(&c->staging->lock);
    return possible;
}

struct staging *staging_new(void)
{
    struct staging *s = xcalloc(1, sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}
