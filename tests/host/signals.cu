// E2.3: a fault of device code is reported whatever the program has done with the signals of its
// threads; and what is sent to the program, and its own faults, reach the program.
#include <cuda_runtime.h>

#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

static __global__ void store(int *p) { *p = 1; }

static volatile sig_atomic_t handled;
static sigjmp_buf back;

static void leave(int) { siglongjmp(back, 1); }
static void note(int) { handled++; }

// Device code works, then faults, is reported, and after a reset works again. What is done between
// is what the test is about.
template <typename Fn> static void faults_when(Fn done)
{
    int *p;
    CHECK_EQ_INT(cudaMalloc(&p, 4), cudaSuccess);
    store<<<1, 1>>>(p);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    usleep(200); // what a thread knows of its signals holds that long at most
    done();
    store<<<1, 1>>>((int *)64);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    CHECK_EQ_INT(cudaDeviceReset(), cudaSuccess);
}

static void own_fault()
{
    volatile int *volatile nowhere = (int *)128;
    if (sigsetjmp(back, 1) == 0) {
        *nowhere = 1;
        CHECK(false);
    } else {
        CHECK(true);
    }
}

static void *blocked(void *)
{
    sigset_t all, now;
    sigfillset(&all);
    faults_when([&] { pthread_sigmask(SIG_SETMASK, &all, NULL); });
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    CHECK(sigismember(&now, SIGSEGV) && sigismember(&now, SIGBUS) && sigismember(&now, SIGTERM));
    return NULL;
}

// A thread that waits for a long kernel while SIGSEGV is sent and all threads have it blocked: it
// stays for sigwait.
static __global__ void spin(volatile int *go)
{
    while (*go == 0)
        ;
}

static volatile int *flag;

static void *send(void *)
{
    usleep(50000);
    kill(getpid(), SIGSEGV);
    usleep(50000);
    *flag = 1;
    return NULL;
}

static void sent()
{
    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    void *host;
    pthread_t sender;
    CHECK_EQ_INT(cudaMallocHost(&host, 4), cudaSuccess);
    flag = (volatile int *)host;
    *flag = 0;
    spin<<<1, 1>>>(flag);
    pthread_create(&sender, NULL, send, NULL);
    CHECK_EQ_INT(cudaDeviceSynchronize(), cudaSuccess);
    pthread_join(sender, NULL);
    int number = 0;
    struct timespec second = {1, 0};
    siginfo_t info;
    number = sigtimedwait(&set, &info, &second);
    CHECK_EQ_INT(number, SIGSEGV);
    CHECK(number < 0 || info.si_pid == getpid());
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int main()
{
    struct sigaction mine = {}, ours, now;
    pthread_t thread;
    signal(SIGUSR1, note);
    faults_when([] {});
    pthread_create(&thread, NULL, blocked, NULL);
    pthread_join(thread, NULL);
    for (int signal_number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, signal_number);
        faults_when([&] { pthread_sigmask(SIG_BLOCK, &set, NULL); });
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    }
    sent();
    sigaction(SIGSEGV, NULL, &ours);
    faults_when([] { signal(SIGSEGV, SIG_IGN); });
    faults_when([] { signal(SIGSEGV, SIG_DFL); });
    mine.sa_handler = leave;
    mine.sa_flags = (int)SA_RESETHAND;
    faults_when([&] { sigaction(SIGSEGV, &mine, NULL); });
    own_fault(); // its handler got it
    mine.sa_flags = SA_NODEFER;
    for (int i = 0; i < 20; i++) {
        faults_when([&] { sigaction(SIGSEGV, &mine, NULL); });
        own_fault();
        mine.sa_flags ^= SA_NODEFER;
    }
    faults_when([&] { sigaction(SIGSEGV, &ours, NULL); });
    sigaction(SIGSEGV, NULL, &now);
    CHECK(now.sa_sigaction == ours.sa_sigaction); // what was put back is what was there then
    raise(SIGUSR1);
    CHECK_EQ_INT(handled, 1);
    return check_done();
}
