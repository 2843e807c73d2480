/* Order between host functions and threads of the host by locks, condition variables, semaphores
 * and the like. */
#include "races.h"

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static sem_t semaphore, back;
static std::mutex mutex;
static std::condition_variable changed;
static bool told;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t signal_ = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;

static void CUDART_CB posts(void *) { sem_post(&semaphore); }
static void CUDART_CB notifies(void *)
{
    std::lock_guard<std::mutex> lock(mutex);
    told = true;
    changed.notify_one();
}
static void CUDART_CB callback_notifies(cudaStream_t, cudaError_t, void *p) { notifies(p); }

static void await_notice()
{
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [] { return told; });
}

CASE(posted)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, posts, nullptr));
    sem_wait(&semaphore);
    sink = h[1]; // @2 host read
}

/* The call returns to the function's caller, as where a compiler makes a jump of a last call. */
CASE(posted_by_the_end_of_a_function)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, (cudaHostFn_t)(void (*)(void))sem_post, &semaphore));
    sem_wait(&semaphore);
    sink = h[1]; // @2 host read
}

CASE(posted_before_the_copy)
{
    if (!repaired)
        DO(cudaLaunchHostFunc(a, posts, nullptr));
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    if (repaired)
        DO(cudaLaunchHostFunc(a, posts, nullptr));
    while (sem_trywait(&semaphore) != 0)
        usleep(1000);
    sink = h[1]; // @2 host read
}

CASE(posted_not_waited_for)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(a, posts, nullptr));
    if (repaired)
        sem_wait(&semaphore);
    else
        usleep(50000);
    sink = h[1]; // @2 host read
}

/* What the function does after it has posted is not ordered. */
static bool early;
static void CUDART_CB posts_and_writes(void *p)
{
    if (early)
        sem_post(&semaphore);
    *(int *)p = 5;
    if (!early)
        sem_post(&semaphore);
}
CASE(posted_too_early)
{
    early = !repaired;
    DO(cudaLaunchHostFunc(a, posts_and_writes, m)); // @7 function write
    sem_wait(&semaphore);
    usleep(50000);
    sink = m[0]; // @8 host read
}

CASE(condition_variable)
{
    fill<<<1, 32, 0, a>>>(m, N); // @1 kernel write
    DO(cudaLaunchHostFunc(repaired ? a : b, notifies, nullptr));
    await_notice();
    sink = m[1]; // @2 host read
}

CASE(condition_variable_of_a_callback)
{
    fill<<<1, 32, 0, a>>>(m, N); // @1 kernel write
    DO(cudaStreamAddCallback(repaired ? a : b, callback_notifies, nullptr, 0));
    await_notice();
    m[1] = 2; // @2 host write
}

/* What the host enqueues after its wait comes after it, too. */
CASE(condition_variable_then_kernel)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaLaunchHostFunc(repaired ? a : c, notifies, nullptr));
    await_notice();
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
}

static void CUDART_CB broadcasts(void *)
{
    pthread_mutex_lock(&plain);
    told = true;
    pthread_mutex_unlock(&plain);
    pthread_cond_broadcast(&signal_);
}
CASE(timed_wait)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, broadcasts, nullptr));
    pthread_mutex_lock(&plain);
    while (!told) {
        timespec end;
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += 1;
        pthread_cond_timedwait(&signal_, &plain, &end);
    }
    pthread_mutex_unlock(&plain);
    sink = h[1]; // @2 host read
}

static void CUDART_CB writes_flag(void *)
{
    pthread_rwlock_wrlock(&rwlock);
    told = true;
    pthread_rwlock_unlock(&rwlock);
}
CASE(flag_under_a_lock)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, writes_flag, nullptr));
    for (bool seen = false; !seen; usleep(1000)) {
        pthread_rwlock_rdlock(&rwlock);
        seen = told;
        pthread_rwlock_unlock(&rwlock);
    }
    sink = h[1]; // @2 host read
}

static void CUDART_CB meets(void *) { pthread_barrier_wait(&barrier); }
CASE(barrier_with_a_function)
{
    pthread_barrier_init(&barrier, nullptr, 2);
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, meets, nullptr));
    pthread_barrier_wait(&barrier);
    sink = h[1]; // @2 host read
}

static void CUDART_CB keeps(void *p) { ((std::promise<int> *)p)->set_value(1); }
CASE(promise)
{
    std::promise<int> promise;
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, keeps, &promise));
    promise.get_future().wait();
    sink = h[1]; // @2 host read
    DO(cudaDeviceSynchronize());
}

/* Who waits for what is there already makes no call that could be seen. */
CASE(promise_kept_long_ago)
{
    std::promise<int> promise;
    if (!repaired)
        DO(cudaLaunchHostFunc(a, keeps, &promise));
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    if (repaired)
        DO(cudaLaunchHostFunc(a, keeps, &promise));
    usleep(50000);
    promise.get_future().wait();
    sink = h[1]; // @2 host read
    DO(cudaDeviceSynchronize());
}

/* The other way round: functions that wait for threads of the host. */
static void CUDART_CB waits_and_reads(void *p)
{
    sem_wait(&back);
    sink = ((int *)p)[1];
}
CASE(function_waits_for_the_host)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @40 copy write
    DO(cudaLaunchHostFunc(b, waits_and_reads, h)); // @39 function read
    DO(cudaStreamSynchronize(repaired ? a : c));
    sem_post(&back);
}

static void CUDART_CB joins_and_reads(void *p)
{
    ((std::thread *)p)->join();
    sink = h[1];
}
CASE(function_joins_a_thread)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @42 copy write
    std::thread thread([&] {
        usleep(50000); /* after what follows */
        DO(cudaStreamSynchronize(repaired ? a : c));
    });
    DO(cudaLaunchHostFunc(b, joins_and_reads, &thread)); // @41 function read
    DO(cudaDeviceSynchronize());
}

static void CUDART_CB waits(void *) { sem_wait(&back); }
CASE(kernel_after_a_function_that_waits)
{
    fill<<<1, 32, 0, a>>>(d, N); // @1 kernel write
    DO(cudaLaunchHostFunc(b, waits, nullptr));
    sum<<<1, 32, 0, b>>>(d, N, out); // @2 kernel read
    DO(cudaStreamSynchronize(repaired ? a : c));
    sem_post(&back);
}

/* The copy is enqueued before anyone knows what its stream waits for. */
CASE(copy_after_a_function_that_waits)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(b, waits, nullptr));
    DO(cudaMemcpyAsync(d2, h, N * sizeof(int), cudaMemcpyHostToDevice, b)); // @2 copy read
    DO(cudaStreamSynchronize(repaired ? a : c));
    sem_post(&back);
}

/* By an event after the function, for a third stream. */
CASE(event_after_a_function_that_waits)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(b, waits, nullptr));
    order(b, c);
    DO(cudaMemcpyAsync(d2, h, N * sizeof(int), cudaMemcpyHostToDevice, c)); // @2 copy read
    if (repaired)
        DO(cudaStreamSynchronize(a));
    sem_post(&back);
}

/* Two functions, one of which waits for the other. */
CASE(function_waits_for_a_function)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @40 copy write
    DO(cudaLaunchHostFunc(repaired ? a : c, [](void *) { sem_post(&back); }, nullptr));
    DO(cudaLaunchHostFunc(b, waits_and_reads, h)); // @39 function read
}

/* Of a graph: the node that posts comes after the copy, or beside it. */
CASE(node_posts)
{
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    cudaGraphNode_t copy, function;
    cudaHostNodeParams host = {posts, nullptr};
    DO(cudaGraphCreate(&graph, 0));
    DO(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, h, d, N * sizeof(int),
                                cudaMemcpyDeviceToHost));
    DO(cudaGraphAddHostNode(&function, graph, &copy, repaired ? 1 : 0, &host));
    DO(cudaGraphInstantiate(&launchable, graph, 0));
    for (int i = 0; i < 3; i++) {
        DO(cudaGraphLaunch(launchable, a)); // @1 copy write
        sem_wait(&semaphore);
        sink = h[1]; // @2 host read
    }
    DO(cudaDeviceSynchronize());
    DO(cudaGraphExecDestroy(launchable));
    DO(cudaGraphDestroy(graph));
}

/* A staging buffer that goes round. */
CASE(buffer_goes_round)
{
    sem_post(&semaphore);
    for (int round = 0; round < 4; round++) {
        if (repaired || round == 0)
            sem_wait(&semaphore);
        h[3] = round; // @2 host write
        DO(cudaMemcpyAsync(d, h, 64, cudaMemcpyHostToDevice, a)); // @1 copy read
        DO(cudaLaunchHostFunc(a, posts, nullptr));
    }
}

/* A handler of signals may post at any time, also while the thread is inside a call of CUDA, whose
 * work the check looks at. */
static sem_t ticks;
static void posts_a_tick(int) { sem_post(&ticks); }
CASE(handler_posts_during_calls)
{
    sem_init(&ticks, 0, 0);
    DO(cudaLaunchHostFunc(a, posts, nullptr)); /* from the first function on, posts are looked at */
    sem_wait(&semaphore);
    signal(SIGUSR1, posts_a_tick);
    sigevent here = {};
    here.sigev_notify = SIGEV_THREAD_ID;
    here.sigev_signo = SIGUSR1;
    here._sigev_un._tid = gettid();
    timer_t timer;
    itimerspec often = {{0, 100000}, {0, 100000}};
    DO(timer_create(CLOCK_MONOTONIC, &here, &timer));
    DO(timer_settime(timer, 0, &often, nullptr));
    for (int come = 0; come < 4000; sem_getvalue(&ticks, &come))
        for (int i = 0; i < 50; i++)
            DO(cudaMemsetAsync(d, 0, 4, a));
    DO(timer_delete(timer));
    fill<<<1, 32, 0, a>>>(m, N); // @1 kernel write
    DO(cudaLaunchHostFunc(repaired ? a : b, posts, nullptr));
    sem_wait(&semaphore);
    sink = m[1]; // @2 host read
}

/* A child of fork goes on with its locks alone. */
static void forks()
{
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 1000; i++) {
            mutex.lock();
            mutex.unlock();
            sem_post(&semaphore);
            sem_wait(&semaphore);
        }
        _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status != 0)
        exit(2);
}
CASE(forked_meanwhile)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, posts, nullptr));
    for (int i = 0; i < 20; i++)
        forks();
    sem_wait(&semaphore);
    sink = h[1]; // @2 host read
}

/* A copy after a function that waits for the program: what this has written before comes first. */
static void CUDART_CB awaits_post(void *) { sem_wait(&semaphore); }
static void CUDART_CB awaits_notice(void *) { await_notice(); }

CASE(copy_after_a_wait_for_a_post)
{
    DO(cudaLaunchHostFunc(a, awaits_post, nullptr));
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, a)); // @1 copy read
    if (!repaired)
        sem_post(&semaphore);
    h[1] = 1; // @2 host write
    if (repaired)
        sem_post(&semaphore);
}

CASE(copy_after_a_wait_for_a_notice)
{
    DO(cudaLaunchHostFunc(a, awaits_notice, nullptr));
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, a)); // @1 copy read
    if (!repaired)
        notifies(nullptr);
    h[1] = 1; // @2 host write
    if (repaired)
        notifies(nullptr);
}

/* The same in a stream that waits for that one. */
CASE(copy_in_a_stream_that_waits_for_a_wait)
{
    DO(cudaLaunchHostFunc(a, awaits_post, nullptr));
    order(a, b);
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, b)); // @1 copy read
    if (!repaired)
        sem_post(&semaphore);
    h[1] = 1; // @2 host write
    if (repaired)
        sem_post(&semaphore);
}

/* Atomic variables make no calls: that a function has such instructions is seen in its code, and that
 * one may wait for the program, by the time it takes. */
static std::atomic<int> flag;
static void CUDART_CB stores(void *) { flag = 1; }
static void CUDART_CB adds(void *) { flag.fetch_add(1); }
static void CUDART_CB exchanges(void *)
{
    int expected = 0;
    while (!flag.compare_exchange_weak(expected, 1))
        expected = 0;
}
static void CUDART_CB spins(void *)
{
    while (flag == 0)
        ;
}

CASE(atomic_store)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, stores, nullptr));
    while (flag == 0)
        ;
    sink = h[1]; // @2 host read
}

CASE(atomic_addition)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, adds, nullptr));
    while (flag == 0)
        ;
    sink = h[1]; // @2 host read
}

CASE(atomic_exchange)
{
    DO(cudaMemcpyAsync(h, d, N * sizeof(int), cudaMemcpyDeviceToHost, a)); // @1 copy write
    DO(cudaLaunchHostFunc(repaired ? a : b, exchanges, nullptr));
    while (flag == 0)
        ;
    sink = h[1]; // @2 host read
}

CASE(function_that_spins)
{
    DO(cudaLaunchHostFunc(a, spins, nullptr));
    DO(cudaMemcpyAsync(d, h, N * sizeof(int), cudaMemcpyHostToDevice, repaired ? a : b)); // @1 copy read
    usleep(20000);
    h[1] = 1; // @2 host write
    flag = 1;
}

/* Both find races at the same time, and give back memory while they look up lines. */
static void touch_early(bool repaired)
{
    cudaStream_t s;
    int *own;
    DO(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    DO(cudaMallocManaged(&own, 65536));
    fill<<<1, 256, 0, s>>>(own, 16384);
    if (repaired)
        DO(cudaStreamSynchronize(s));
    for (int i = 0; i < 16384; i += 512)
        own[i]++;
    DO(cudaStreamSynchronize(s));
}
CASE(two_threads_touch_early)
{
    // @1? kernel write // @2? host write // @3? kernel write // @4? host read
    std::thread one(touch_early, repaired), two(touch_early, repaired);
    one.join();
    two.join();
}
