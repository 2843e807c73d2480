/* What the two programs of the tests of sharing have in common: the page they share. */
#ifndef WEIR_TEST_IPC_H
#define WEIR_TEST_IPC_H

#include <stdbool.h>

#include "driver/common.h"
#include "processes.h"

enum { HANDLES = 4 };

struct control {
    int turn, stop;
    unsigned long rounds; /* of work that the other program has done */
    CUipcMemHandle mem[HANDLES];
    CUipcEventHandle event[HANDLES];
    CUmemPoolPtrExportData data[HANDLES];
    int fd; /* of a pool: a descriptor that the other program inherits, or its own */
};

static inline CUresult open_mem(CUdeviceptr *p, const CUipcMemHandle *h)
{
    return cuIpcOpenMemHandle(p, *h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

/* A pool whose memory other processes can import. */
static inline CUmemoryPool shared_pool(void)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool = NULL;
    NEED(cuMemPoolCreate(&pool, &props));
    return pool;
}

static inline CUresult import_pool(CUmemoryPool *pool, int fd)
{
    return cuMemPoolImportFromShareableHandle(pool, (void *)(intptr_t)fd,
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}

static inline unsigned read_u32(CUdeviceptr p)
{
    unsigned v = 0xdeadbeef;
    OK(cuMemcpyDtoH(&v, p, 4));
    return v;
}

static inline void write_u32(CUdeviceptr p, unsigned v) { OK(cuMemcpyHtoD(p, &v, 4)); }

/* One launch of store(p, v) in the stream. */
static inline CUresult store(CUfunction f, CUdeviceptr p, unsigned v, CUstream s)
{
    return launch(f, 1, 1, s, (void *[]){&p, &v});
}

#endif
