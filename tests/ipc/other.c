/* The other program of the tests of sharing: it does what its role says with what it finds on the
 * shared page, and may be killed at any point. */
#include "ipc/ipc.h"

/* Opens, uses and closes the first program's memory, over and over. */
static void use(struct control *c, CUfunction f)
{
    while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
        CUdeviceptr p[HANDLES];
        for (int i = 0; i < HANDLES; i++)
            NEED(open_mem(&p[i], &c->mem[i]));
        for (int i = 0; i < HANDLES; i++)
            NEED(store(f, p[i] + 8, (unsigned)i, NULL));
        NEED(cuCtxSynchronize());
        for (int i = 0; i < HANDLES; i++)
            NEED(cuIpcCloseMemHandle(p[i]));
        __atomic_add_fetch(&c->rounds, 1, __ATOMIC_SEQ_CST);
        set_turn(&c->turn, 1);
    }
}

/* Allocates, exports, works on and frees memory, over and over. */
static void own(struct control *c, CUfunction f)
{
    static const size_t sizes[HANDLES] = {64, 6000, 1 << 20, 5 << 20};
    while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
        CUdeviceptr p[HANDLES];
        for (int i = 0; i < HANDLES; i++) {
            NEED(cuMemAlloc(&p[i], sizes[i]));
            NEED(store(f, p[i], 40 + (unsigned)i, NULL));
            NEED(cuIpcGetMemHandle(&c->mem[i], p[i]));
        }
        NEED(cuCtxSynchronize());
        set_turn(&c->turn, 1);
        __atomic_add_fetch(&c->rounds, 1, __ATOMIC_SEQ_CST);
        for (int ms = 0; ms < 3; ms++)
            usleep(1000);
        for (int i = 0; i < HANDLES; i++)
            NEED(cuMemFree(p[i]));
    }
}

/* Keeps memory exported until it is killed. */
static void keep(struct control *c, CUfunction f)
{
    CUdeviceptr p;
    NEED(cuMemAlloc(&p, 3 << 20));
    NEED(store(f, p, 77, NULL));
    NEED(cuIpcGetMemHandle(&c->mem[0], p));
    NEED(cuCtxSynchronize());
    set_turn(&c->turn, 1);
    for (;;)
        pause();
}

/* An event recorded after a kernel that never ends. */
static void stall(struct control *c, CUfunction spin)
{
    CUdeviceptr p;
    CUevent e;
    NEED(cuMemAlloc(&p, 64));
    NEED(cuMemsetD32(p, 0, 16));
    NEED(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    NEED(cuIpcGetEventHandle(&c->event[0], e));
    NEED(launch(spin, 1, 1, NULL, (void *[]){&p}));
    NEED(cuEventRecord(e, NULL));
    set_turn(&c->turn, 1);
    for (;;)
        pause();
}

/* Records and waits for the first program's event, on two streams. */
static void record(struct control *c, CUfunction f)
{
    CUstream s[2];
    CUevent e;
    CUdeviceptr p;
    NEED(cuMemAlloc(&p, 64));
    NEED(cuIpcOpenEventHandle(&e, c->event[0]));
    for (int i = 0; i < 2; i++)
        NEED(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
    for (unsigned n = 0; !__atomic_load_n(&c->stop, __ATOMIC_RELAXED); n++) {
        NEED(cuStreamWaitEvent(s[n & 1], e, 0));
        NEED(store(f, p, n, s[n & 1]));
        NEED(cuEventRecord(e, s[n & 1]));
        if (n % 8 == 0)
            NEED(cuEventSynchronize(e));
        __atomic_add_fetch(&c->rounds, 1, __ATOMIC_SEQ_CST);
        set_turn(&c->turn, 1);
    }
    NEED(cuCtxSynchronize());
    NEED(cuEventDestroy(e));
}

/* Imports, uses and frees memory of the first program's pool, over and over. */
static void import(struct control *c, CUfunction f)
{
    CUmemoryPool pool;
    NEED(import_pool(&pool, c->fd));
    while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
        CUdeviceptr p[HANDLES];
        for (int i = 0; i < HANDLES; i++) {
            NEED(cuMemPoolImportPointer(&p[i], pool, &c->data[i]));
            NEED(store(f, p[i] + 8, (unsigned)i, NULL));
            NEED(cuMemFreeAsync(p[i], NULL));
        }
        NEED(cuCtxSynchronize());
        __atomic_add_fetch(&c->rounds, 1, __ATOMIC_SEQ_CST);
        set_turn(&c->turn, 1);
    }
}

/* Allocates from a pool that it exports, works, and frees, over and over. */
static void lend(struct control *c, CUfunction f)
{
    static const size_t sizes[HANDLES] = {64, 6000, 1 << 20, 5 << 20};
    CUmemoryPool pool = shared_pool();
    NEED(cuMemPoolExportToShareableHandle(&c->fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                          0));
    while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
        CUdeviceptr p[HANDLES];
        for (int i = 0; i < HANDLES; i++) {
            NEED(cuMemAllocFromPoolAsync(&p[i], sizes[i], pool, NULL));
            NEED(cuMemPoolExportPointer(&c->data[i], p[i]));
            NEED(store(f, p[i], 60 + (unsigned)i, NULL));
        }
        NEED(cuCtxSynchronize());
        set_turn(&c->turn, 1);
        usleep(2000);
        for (int i = 0; i < HANDLES; i++)
            NEED(cuMemFreeAsync(p[i], NULL));
        NEED(cuCtxSynchronize());
    }
}

int main(int argc, char **argv)
{
    struct control *c = shared_open(sizeof *c, atoi(argv[2]));
    (void)argc;
    begin();
    CUmodule m = load();
    CUfunction f = kernel(m, "store");
    if (strcmp(argv[1], "use") == 0)
        use(c, f);
    else if (strcmp(argv[1], "own") == 0)
        own(c, f);
    else if (strcmp(argv[1], "keep") == 0)
        keep(c, f);
    else if (strcmp(argv[1], "stall") == 0)
        stall(c, kernel(m, "spin"));
    else if (strcmp(argv[1], "record") == 0)
        record(c, f);
    else if (strcmp(argv[1], "import") == 0)
        import(c, f);
    else if (strcmp(argv[1], "lend") == 0)
        lend(c, f);
    OK(cuDevicePrimaryCtxReset(0));
    return checks_failed != 0;
}
