/* For tests of several processes: a page that they share, children that are started anew (a forked
 * child cannot use CUDA), and alternation between them. The page is memory without a name, so that
 * nothing is left whatever ends a process. Where these functions cannot work, they end the
 * process with a status of their own, which end_of reports: PROCESSES_NO_MEMORY,
 * PROCESSES_NO_PROGRAM. */
#ifndef WEIR_TEST_PROCESSES_H
#define WEIR_TEST_PROCESSES_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES_NO_PROGRAM = 98, PROCESSES_NO_MEMORY = 99, TURN_MS = 60000 };

/* Maps the page that a parent has made with shared_new and whose descriptor it has passed on. */
static inline void *shared_open(size_t bytes, int fd)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        exit(PROCESSES_NO_MEMORY);
    return p;
}

/* A new page of that many bytes, all 0, that children inherit. *fd is its descriptor, in children,
 * too. */
static inline void *shared_new(size_t bytes, int *fd)
{
    *fd = memfd_create("test", 0);
    if (*fd < 0 || ftruncate(*fd, (off_t)bytes) != 0)
        exit(PROCESSES_NO_MEMORY);
    return shared_open(bytes, *fd);
}

/* Starts a program ("/proc/self/exe": this one anew) with two arguments, a role and a number.
 * Returns its process. */
static inline pid_t start_process(const char *program, const char *role, int number)
{
    char text[16];
    fflush(stdout);
    snprintf(text, sizeof text, "%d", number);
    pid_t pid = fork();
    if (pid == 0) {
        execl(program, program, role, text, (char *)NULL);
        _exit(PROCESSES_NO_PROGRAM);
    }
    return pid;
}

/* Waits for the end of a process. Returns its exit status; 1000 + signal when it was killed; -1
 * when it is no child of this one. */
static inline int end_of(pid_t pid)
{
    int status = 0;
    if (waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Says that it is that turn now. A turn is a number in shared memory that only grows. */
static inline void set_turn(int *turn, int value)
{
    __atomic_store_n(turn, value, __ATOMIC_SEQ_CST);
}

/* Waits until it is that turn or a later one. Returns 0 when a minute was not enough: the other
 * side is gone. */
static inline int await_turn(int *turn, int value)
{
    for (int ms = 0; ms < TURN_MS; ms++) {
        if (__atomic_load_n(turn, __ATOMIC_SEQ_CST) >= value)
            return 1;
        usleep(1000);
    }
    return 0;
}

#endif
