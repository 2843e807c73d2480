// S7.7: a program whose main thread ends by pthread_exit, before or after its others: main_ends
// MODE. What it prints and its status are as if it had returned from main when its last thread
// ended.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static __global__ void store(int *p) { *p = 1; }

static void use()
{
    int *p;
    if (cudaMalloc(&p, 4) != cudaSuccess)
        exit(2);
    store<<<1, 1>>>(p);
    if (cudaDeviceSynchronize() != cudaSuccess)
        exit(3);
}

static void *thread(void *late)
{
    use();
    if (late != NULL) {
        usleep(300000);
        use();
        fputs("thread ", stdout); // unflushed: that is what exit() does
    }
    return NULL;
}

// The program's own thread takes the signals.
static void *taker(void *set)
{
    int number = 0;
    use();
    sigwait((sigset_t *)set, &number);
    printf("signal %d ", number == SIGTERM);
    return NULL;
}

int main(int argc, char **argv)
{
    static sigset_t set;
    pthread_t t;
    const char *mode = argc == 2 ? argv[1] : "";
    atexit([] { puts("exit"); });
    if (strcmp(mode, "pool") == 0) { // returns, and has used a memory pool
        void *p;
        return cudaMallocAsync(&p, 64, 0) != cudaSuccess || cudaFreeAsync(p, 0) != cudaSuccess;
    }
    if (strcmp(mode, "plain") == 0) { // returns
        use();
        return 0;
    }
    if (strcmp(mode, "alone") == 0) {
        use();
    } else if (strcmp(mode, "thread") == 0) {
        use();
        pthread_create(&t, NULL, thread, &t);
    } else if (strcmp(mode, "only-thread") == 0) {
        pthread_create(&t, NULL, thread, &t);
    } else if (strcmp(mode, "term") == 0) { // SIGTERM ends it while a thread runs on
        use();
        pthread_create(&t, NULL, [](void *) -> void * { for (;;) pause(); }, NULL);
        if (fork() == 0) {
            usleep(200000);
            kill(getppid(), SIGTERM);
            _exit(0);
        }
    } else {
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        use();
        pthread_create(&t, NULL, taker, &set);
        if (fork() == 0) {
            usleep(200000);
            kill(getppid(), SIGTERM);
            _exit(0);
        }
    }
    pthread_exit(NULL);
}
