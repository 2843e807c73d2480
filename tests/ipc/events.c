/* A9.2: interprocess events: recordings of several processes at once, many pending, waits that a
 * killed process leaves, waits that hold no worker. The other program is the argument. */
#include "ipc/ipc.h"

static struct control *control;
static int control_fd;
static const char *other;
static CUfunction store_kernel, spin_kernel;
static const unsigned FLAGS = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

static void handles(void)
{
    CUevent e, plain, opened;
    CUipcEventHandle h;
    CUipcMemHandle m;
    CUdeviceptr p;
    CHECK_CU(cuEventCreate(&e, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventCreate(&e, FLAGS));
    OK(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    CHECK_CU(cuIpcGetEventHandle(&h, plain), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuIpcGetEventHandle(&h, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_CU(cuIpcGetEventHandle(NULL, e), CUDA_ERROR_INVALID_VALUE);
    OK(cuIpcGetEventHandle(&h, e));
    CHECK_CU(cuIpcOpenEventHandle(&opened, h), CUDA_ERROR_INVALID_CONTEXT); /* of this process */
    memcpy(&m, &h, sizeof m);
    CHECK_CU(open_mem(&p, &m), CUDA_ERROR_INVALID_VALUE); /* of another kind */
    memset(&h, 0, sizeof h);
    CHECK_CU(cuIpcOpenEventHandle(&opened, h), CUDA_ERROR_MAP_FAILED);
    OK(cuEventDestroy(e));
    OK(cuEventDestroy(plain));
}

/* In one process an interprocess event is an event like others. */
static void alone(void)
{
    CUevent e;
    CUstream s, t;
    CUdeviceptr flag;
    unsigned one = 1;
    OK(cuEventCreate(&e, FLAGS));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&flag, 64));
    OK(cuMemsetD32(flag, 0, 2));
    OK(cuCtxSynchronize());
    OK(cuEventQuery(e));
    OK(launch(spin_kernel, 1, 1, s, (void *[]){&flag}));
    for (int i = 0; i < 300; i++) /* many recordings pending at once */
        OK(cuEventRecord(e, s));
    CHECK_CU(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    OK(cuStreamWaitEvent(t, e, 0));
    OK(store(store_kernel, flag + 4, 9, t));
    CHECK_CU(cuStreamQuery(t), CUDA_ERROR_NOT_READY);
    OK(cuMemcpyHtoD(flag, &one, 4));
    OK(cuEventSynchronize(e));
    OK(cuStreamSynchronize(t));
    CHECK_EQ_INT(read_u32(flag + 4), 9);
    OK(cuEventDestroy(e));
    OK(cuStreamDestroy(s));
    OK(cuStreamDestroy(t));
    OK(cuMemFree(flag));
}

/* The other process is killed with its recordings pending: waits end, and say nothing. */
static void orphans(void)
{
    CUstream s[8], busy;
    CUevent e;
    CUdeviceptr p;
    control->turn = 0;
    pid_t pid = start_process(other, "stall", control_fd);
    CHECK(await_turn(&control->turn, 1));
    OK(cuIpcOpenEventHandle(&e, control->event[0]));
    CHECK_CU(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    CUipcEventHandle h;
    CHECK_CU(cuIpcGetEventHandle(&h, e), CUDA_ERROR_INVALID_HANDLE); /* not from here */
    OK(cuMemAlloc(&p, 64));
    for (int i = 0; i < 8; i++) { /* more waits than workers */
        OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
        OK(cuStreamWaitEvent(s[i], e, 0));
        OK(store(store_kernel, p + 4 * (unsigned)i, 100 + (unsigned)i, s[i]));
    }
    OK(cuStreamCreate(&busy, CU_STREAM_NON_BLOCKING));
    OK(store(store_kernel, p + 32, 5, busy)); /* others go on meanwhile */
    OK(cuStreamSynchronize(busy));
    CHECK_CU(cuStreamQuery(s[0]), CUDA_ERROR_NOT_READY);
    kill(pid, SIGKILL);
    CHECK_EQ_INT(end_of(pid), 1000 + SIGKILL);
    OK(cuEventSynchronize(e));
    OK(cuEventQuery(e));
    for (int i = 0; i < 8; i++) {
        OK(cuStreamSynchronize(s[i]));
        CHECK_EQ_INT(read_u32(p + 4 * (unsigned)i), 100 + i);
        OK(cuStreamDestroy(s[i]));
    }
    /* What is opened can be used on. */
    OK(cuEventRecord(e, busy));
    OK(cuEventSynchronize(e));
    OK(cuEventDestroy(e));
    CHECK_CU(cuIpcOpenEventHandle(&e, control->event[0]), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy(busy));
    OK(cuMemFree(p));
}

/* Both sides record the same event; each wait ends with what it saw. */
static void both_record(void)
{
    CUevent e;
    CUstream s;
    control->turn = control->stop = 0;
    OK(cuEventCreate(&e, FLAGS));
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuIpcGetEventHandle(&control->event[0], e));
    pid_t pid = start_process(other, "record", control_fd);
    CHECK(await_turn(&control->turn, 1));
    for (int i = 0; i < 2000; i++) {
        OK(cuEventRecord(e, s));
        OK(cuStreamWaitEvent(s, e, 0));
        if (i % 16 == 0)
            OK(cuEventSynchronize(e));
    }
    OK(cuStreamSynchronize(s));
    control->stop = 1;
    CHECK_EQ_INT(end_of(pid), 0);
    OK(cuEventSynchronize(e));
    OK(cuEventDestroy(e));
    OK(cuStreamDestroy(s));
}

int main(int argc, char **argv)
{
    other = argc > 1 ? argv[1] : "";
    control = shared_new(sizeof *control, &control_fd);
    begin();
    CUmodule m = load();
    store_kernel = kernel(m, "store");
    spin_kernel = kernel(m, "spin");
    handles();
    alone();
    orphans();
    both_record();
    OK(cuDevicePrimaryCtxReset(0)); /* what is left then is a leak */
    return check_done();
}
