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

int main(int argc, char **argv)
{
    struct control *c = shared_open(sizeof *c, atoi(argv[2]));
    (void)argc;
    begin();
    CUfunction f = kernel(load(), "store");
    if (strcmp(argv[1], "use") == 0)
        use(c, f);
    else if (strcmp(argv[1], "own") == 0)
        own(c, f);
    else if (strcmp(argv[1], "keep") == 0)
        keep(c, f);
    return check_failed_ != 0;
}
