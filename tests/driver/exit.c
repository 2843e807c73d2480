/* S7, D2.2: how processes end: see exit.sh, which runs this with each mode and looks at what comes
 * out. */
#include "common.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned *flag;
static CUcontext ctx;
static CUmodule module;

static void call_late(void)
{
    CUdeviceptr p;
    printf("late: %s\n", result_name(cuMemAlloc(&p, 100)));
}

static void sync_late(void) { printf("late: %s\n", result_name(cuCtxSynchronize())); }

/* What static destructors of programs do. */
__attribute__((destructor)) static void destroy_late(void)
{
    if (module != NULL)
        cuModuleGetFunction(&(CUfunction){NULL}, module, "say");
}

static void *wait_for_it(void *arg)
{
    cuCtxSetCurrent(ctx);
    cuCtxSynchronize();
    return arg;
}

static void spin(void) { OK(launch(kernel(module, "spin"), 4, 64, NULL, (void *[]){&flag})); }

static void say(void) { OK(launch(kernel(module, "say"), 1, 1, NULL, NULL)); }

/* The child may end, but use nothing; the parent goes on. */
static void fork_child(void)
{
    fflush(stdout);
    pid_t p = fork();
    if (p == 0) {
        CUdeviceptr at;
        printf("child: %s, %s\n", result_name(cuMemAlloc(&at, 100)), result_name(cuInit(0)));
        exit(0);
    }
    int status;
    waitpid(p, &status, 0);
    printf("child ended: %d\n", status);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(mode, "call_late") == 0)
        atexit(call_late);
    if (strcmp(mode, "sync_late") == 0)
        atexit(sync_late);
    ctx = begin();
    module = load();
    NEED(cuMemHostAlloc((void **)&flag, 4, 0));
    *flag = 0;
    if (strcmp(mode, "busy") == 0 || strcmp(mode, "call_late") == 0) {
        spin();
    } else if (strcmp(mode, "quick") == 0) {
        spin();
        _exit(0);
    } else if (strcmp(mode, "waiting") == 0) { /* a thread is still inside a synchronization */
        pthread_t t;
        spin();
        pthread_create(&t, NULL, wait_for_it, NULL);
        usleep(50000);
    } else if (strcmp(mode, "lost") == 0) {
        say();
        usleep(100000);
    } else if (strcmp(mode, "sync") == 0) {
        say();
        OK(cuCtxSynchronize());
    } else if (strcmp(mode, "reset") == 0) {
        say();
        OK(cuDevicePrimaryCtxReset(0));
    } else if (strcmp(mode, "release") == 0) {
        say();
        OK(cuDevicePrimaryCtxRelease(0));
    } else if (strcmp(mode, "fork") == 0) {
        spin();
        fork_child();
        __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
        OK(cuCtxSynchronize());
        printf("parent: %s\n", result_name(cuCtxSynchronize()));
    } else if (strcmp(mode, "fault") == 0) {
        OK(launch(kernel(module, "stop"), 1, 1, NULL, NULL));
        cuCtxSynchronize();
    }
    return checks_failed != 0;
}
