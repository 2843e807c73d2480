/* Events that processes share: the order that goes through another process, and within one. */
#include "races.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static cudaEvent_t here, there;

static void open_events()
{
    DO(cudaEventCreateWithFlags(&here, cudaEventDisableTiming | cudaEventInterprocess));
    DO(cudaEventCreateWithFlags(&there, cudaEventDisableTiming | cudaEventInterprocess));
}

/* In this process it is an event like any other. */
CASE(event_of_this_process)
{
    open_events();
    if (!repaired)
        DO(cudaEventRecord(here, a));
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    if (repaired)
        DO(cudaEventRecord(here, a));
    DO(cudaStreamWaitEvent(b, here, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

/* The other process: this program again, which waits for the first event and records the second. */
struct handles {
    cudaIpcEventHandle_t from, to;
};
/* Before main looks at the arguments. */
static int passes_on(int fd)
{
    handles r;
    cudaEvent_t from, to;
    cudaStream_t s;
    if (read(fd, &r, sizeof r) != (ssize_t)sizeof r)
        return 2;
    DO(cudaStreamCreate(&s));
    DO(cudaIpcOpenEventHandle(&from, r.from));
    DO(cudaIpcOpenEventHandle(&to, r.to));
    DO(cudaStreamWaitEvent(s, from, 0));
    DO(cudaEventRecord(to, s));
    DO(cudaStreamSynchronize(s));
    return 0;
}
static const bool other_process = [] {
    char name[64] = "";
    FILE *f = fopen("/proc/self/cmdline", "r");
    size_t got = f != nullptr ? fread(name, 1, sizeof name - 1, f) : 0;
    if (got > strlen(name) + 1 && strcmp(name + strlen(name) + 1, "passes_on") == 0)
        exit(passes_on(0));
    return false;
}();
static void through_another_process()
{
    handles r;
    pid_t child;
    int status = 1, ends[2];
    char *arguments[] = {(char *)"/proc/self/exe", (char *)"passes_on", nullptr};
    posix_spawn_file_actions_t actions;
    DO(pipe(ends));
    DO(cudaIpcGetEventHandle(&r.from, here));
    DO(cudaIpcGetEventHandle(&r.to, there));
    DO(posix_spawn_file_actions_init(&actions));
    DO(posix_spawn_file_actions_adddup2(&actions, ends[0], 0));
    DO(posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ));
    DO(write(ends[1], &r, sizeof r) != (ssize_t)sizeof r);
    DO(waitpid(child, &status, 0) != child || status != 0);
}

CASE(order_through_another_process)
{
    open_events();
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    if (repaired)
        DO(cudaEventRecord(here, a));
    else
        DO(cudaEventRecord(here, c));
    through_another_process();
    if (repaired)
        DO(cudaStreamWaitEvent(b, there, 0));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}
