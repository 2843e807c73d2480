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
    int fd; /* a descriptor that was inherited, or -1 */
};

static inline CUresult open_mem(CUdeviceptr *p, const CUipcMemHandle *h)
{
    return cuIpcOpenMemHandle(p, *h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
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
