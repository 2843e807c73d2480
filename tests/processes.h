/* For tests of several processes: a page that they share, children that are started anew (a forked
 * child cannot use CUDA), turns. The page is memory without a name: nothing stays behind. */
#ifndef WEIR_TEST_PROCESSES_H
#define WEIR_TEST_PROCESSES_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A new page of that many bytes that children inherit; *fd is its number there, too. */
static inline void *shared_new(size_t bytes, int *fd)
{
    *fd = memfd_create("test", 0);
    if (*fd < 0 || ftruncate(*fd, (off_t)bytes) != 0)
        exit(99);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (p == MAP_FAILED)
        exit(99);
    return p;
}

static inline void *shared_open(size_t bytes, int fd)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        exit(99);
    return p;
}

/* Starts a program ("/proc/self/exe": this one anew) with two arguments: a role and a number. */
static inline pid_t start_process(const char *program, const char *role, int number)
{
    char text[16];
    fflush(stdout);
    snprintf(text, sizeof text, "%d", number);
    pid_t pid = fork();
    if (pid == 0) {
        execl(program, program, role, text, (char *)NULL);
        _exit(98);
    }
    return pid;
}

/* The exit status; 1000 + signal when it was killed. */
static inline int end_of(pid_t pid)
{
    int status = 0;
    if (waitpid(pid, &status, 0) != pid)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Turns: a number that only grows. false: it took too long (the other side is gone). */
static inline void set_turn(int *turn, int value)
{
    __atomic_store_n(turn, value, __ATOMIC_SEQ_CST);
}

static inline int await_turn(int *turn, int value)
{
    for (int ms = 0; ms < 60000; ms++) {
        if (__atomic_load_n(turn, __ATOMIC_SEQ_CST) >= value)
            return 1;
        usleep(1000);
    }
    return 0;
}

#endif
