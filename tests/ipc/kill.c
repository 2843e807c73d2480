/* A9.5: processes killed at any point while the other one works: the other goes on, its memory is
 * whole, and nothing of it stays. Arguments: the other program, and how often (default 12). */
#include <dirent.h>
#include <fcntl.h>

#include "ipc/ipc.h"

static struct control *control;
static int control_fd;
static const char *other;
static unsigned chance = 12345; /* of a generator: when to kill */

static unsigned some_us(unsigned most)
{
    chance = chance * 1664525u + 1013904223u;
    return chance / 65536 % most;
}

/* Files of ours in the directory where names of shared memory outlive processes. (In /tmp other
 * tests come and go.) */
static int left_in(const char *directory)
{
    int n = 0;
    DIR *d = opendir(directory);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        n += strncmp(e->d_name, "weir", 4) == 0 || strncmp(e->d_name, "cuda", 4) == 0;
    if (d != NULL)
        closedir(d);
    return n;
}

/* Kills processes that use our memory, which we use meanwhile. */
static void users(int times, CUfunction f)
{
    static const size_t sizes[HANDLES] = {64, 6000, 1 << 20, 5 << 20};
    CUdeviceptr p[HANDLES];
    unsigned value = 0;
    for (int i = 0; i < HANDLES; i++) {
        OK(cuMemAlloc(&p[i], sizes[i]));
        OK(cuIpcGetMemHandle(&control->mem[i], p[i]));
    }
    for (int n = 0; n < times; n++) {
        control->turn = control->stop = 0;
        pid_t pid = start_process(other, "use", control_fd);
        if (n % 3 != 0) /* some die while they start */
            CHECK(await_turn(&control->turn, 1));
        usleep(some_us(n % 3 != 0 ? 3000 : 60000));
        for (int i = 0; i < HANDLES; i++)
            OK(store(f, p[i], ++value, NULL));
        kill(pid, SIGKILL);
        CHECK_EQ_INT(end_of(pid), 1000 + SIGKILL);
        for (int i = 0; i < HANDLES; i++)
            CHECK_EQ_INT(read_u32(p[i]), value - HANDLES + 1 + (unsigned)i);
    }
    CHECK(control->rounds > 0);
    for (int i = 0; i < HANDLES; i++)
        OK(cuMemFree(p[i]));
}

/* Kills processes whose memory we use. */
static void owners(int times, CUfunction f)
{
    unsigned opened = 0;
    for (int n = 0; n < times; n++) {
        control->turn = control->stop = 0;
        pid_t pid = start_process(other, "own", control_fd);
        CHECK(await_turn(&control->turn, 1));
        CUdeviceptr p[HANDLES];
        bool mine[HANDLES];
        usleep(some_us(4000));
        for (int i = 0; i < HANDLES; i++) /* it may have freed it: then it cannot be had */
            opened += mine[i] = open_mem(&p[i], &control->mem[i]) == CUDA_SUCCESS;
        usleep(some_us(2000));
        kill(pid, SIGKILL);
        CHECK_EQ_INT(end_of(pid), 1000 + SIGKILL);
        for (int i = 0; i < HANDLES; i++) {
            if (!mine[i])
                continue;
            OK(store(f, p[i], 1000 + (unsigned)n, NULL));
            CHECK_EQ_INT(read_u32(p[i]), 1000 + n);
            OK(cuIpcCloseMemHandle(p[i]));
        }
    }
    CHECK(opened > 0);
}

/* Kills processes that record and wait for our event, which we record and wait for meanwhile. */
static void recorders(int times, CUfunction f)
{
    CUevent e;
    CUstream s;
    CUdeviceptr p;
    OK(cuMemAlloc(&p, 64));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuIpcGetEventHandle(&control->event[0], e));
    for (int n = 0; n < times; n++) {
        control->turn = control->stop = 0;
        pid_t pid = start_process(other, "record", control_fd);
        CHECK(await_turn(&control->turn, 1));
        for (unsigned i = 0, most = some_us(20); i < most; i++) {
            OK(cuEventRecord(e, s));
            OK(cuStreamWaitEvent(s, e, 0));
            OK(store(f, p, i, s));
        }
        kill(pid, SIGKILL);
        for (unsigned i = 0; i < 10; i++) {
            OK(cuStreamWaitEvent(s, e, 0));
            OK(store(f, p, 500 + i, s));
            OK(cuEventRecord(e, s));
        }
        CHECK_EQ_INT(end_of(pid), 1000 + SIGKILL);
        OK(cuStreamSynchronize(s));
        OK(cuEventSynchronize(e));
        CHECK_EQ_INT(read_u32(p), 509);
    }
    OK(cuEventDestroy(e));
    OK(cuStreamDestroy(s));
    OK(cuMemFree(p));
}

/* Kills processes that import from our pool, which we use meanwhile. */
static void importers(int times, CUfunction f)
{
    static const size_t sizes[HANDLES] = {64, 6000, 1 << 20, 5 << 20};
    CUmemoryPool pool = shared_pool();
    CUdeviceptr p[HANDLES], more;
    int fd;
    OK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    control->fd = dup(fd); /* this one is inherited */
    for (int i = 0; i < HANDLES; i++) {
        OK(cuMemAllocFromPoolAsync(&p[i], sizes[i], pool, NULL));
        OK(cuMemPoolExportPointer(&control->data[i], p[i]));
    }
    OK(cuCtxSynchronize());
    for (unsigned n = 0; n < (unsigned)times; n++) {
        control->turn = control->stop = 0;
        pid_t pid = start_process(other, "import", control_fd);
        CHECK(await_turn(&control->turn, 1));
        for (int i = 0; i < HANDLES; i++)
            OK(store(f, p[i], n + (unsigned)i, NULL));
        OK(cuMemAllocFromPoolAsync(&more, 3 << 20, pool, NULL));
        OK(store(f, more, n, NULL));
        usleep(some_us(2000));
        kill(pid, SIGKILL);
        CHECK_EQ_INT(end_of(pid), 1000 + SIGKILL);
        CHECK_EQ_INT(read_u32(more), n);
        OK(cuMemFreeAsync(more, NULL));
        for (int i = 0; i < HANDLES; i++) {
            CHECK_EQ_INT(read_u32(p[i]), n + (unsigned)i);
            CHECK_EQ_INT(read_u32(p[i] + 8), i);
        }
    }
    for (int i = 0; i < HANDLES; i++)
        OK(cuMemFreeAsync(p[i], NULL));
    OK(cuMemPoolDestroy(pool));
    close(fd);
    close(control->fd);
}

/* Kills processes whose pool we import from: what is imported stays. */
static void lenders(int times, CUfunction f)
{
    for (int n = 0; n < times; n++) {
        control->turn = control->stop = 0;
        pid_t pid = start_process(other, "lend", control_fd);
        CHECK(await_turn(&control->turn, 1));
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, control->fd);
        int fd = open(path, O_RDWR);
        CHECK(fd >= 0);
        CUmemoryPool pool;
        CUdeviceptr p[HANDLES];
        OK(import_pool(&pool, fd));
        for (int i = 0; i < HANDLES; i++)
            OK(cuMemPoolImportPointer(&p[i], pool, &control->data[i]));
        usleep(some_us(4000));
        kill(pid, SIGKILL);
        CHECK_EQ_INT(end_of(pid), 1000 + SIGKILL);
        for (int i = 0; i < HANDLES; i++) {
            OK(store(f, p[i], 300 + (unsigned)n, NULL));
            CHECK_EQ_INT(read_u32(p[i]), 300 + n);
            OK(cuMemFree(p[i]));
        }
        OK(cuMemPoolDestroy(pool));
        close(fd);
    }
}

int main(int argc, char **argv)
{
    other = argc > 1 ? argv[1] : "";
    int times = argc > 2 ? atoi(argv[2]) : 12;
    control = shared_new(sizeof *control, &control_fd);
    begin();
    CUfunction f = kernel(load(), "store");
    int before = left_in("/dev/shm");
    users(times, f);
    owners(times, f);
    recorders(times, f);
    importers(times, f);
    lenders(times, f);
    CHECK_EQ_INT(left_in("/dev/shm"), before);
    OK(cuDevicePrimaryCtxReset(0)); /* what is left then is a leak */
    return check_done();
}
