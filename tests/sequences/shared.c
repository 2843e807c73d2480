/* What the threads of a device share: a stream, an event and a buffer, under a lock. Who has the
 * lock makes the call and does the same to the model; the stream waits for nothing but itself, so
 * that no thread's gate holds it. Any thread's streams may wait for the event. */
#include <string.h>

#include "sequences.h"

enum { BYTES = 5000 };

static struct shared {
    pthread_mutex_t lock;
    cudaStream_t stream;
    cudaEvent_t event;
    unsigned char *p, model[BYTES];
} all[MAX_DEVICES];

bool shared_begins(int device)
{
    struct shared *shared = &all[device];

    pthread_mutex_init(&shared->lock, NULL);
    memset(shared->model, 1, BYTES);
    return cudaStreamCreateWithFlags(&shared->stream, cudaStreamNonBlocking) == cudaSuccess &&
           cudaEventCreate(&shared->event) == cudaSuccess &&
           cudaMalloc((void **)&shared->p, BYTES) == cudaSuccess &&
           cudaMemsetAsync(shared->p, 1, BYTES, shared->stream) == cudaSuccess;
}

static void shared_mix(struct thread *t)
{
    struct shared *shared = &all[t->device];
    unsigned at = below(t, BYTES), n = 1 + below(t, BYTES - at), value = below(t, 256);

    pthread_mutex_lock(&shared->lock);
    unsigned char *p = shared->p + at;
    void *args[] = {&p, &n, &value};
    NOTE(at, n, value, 0);
    OK_RT(cudaLaunchKernel(kernel_handle(KERNEL_MIX), (dim3){2, 1, 1}, (dim3){64, 1, 1}, args, 0,
                           shared->stream));
    for (unsigned i = 0; i < n; i++)
        shared->model[at + i] = (unsigned char)(shared->model[at + i] * 5 + value + i);
    OK_RT(cudaEventRecord(shared->event, shared->stream));
    pthread_mutex_unlock(&shared->lock);
}

static void shared_wait(struct thread *t)
{
    struct shared *shared = &all[t->device];
    int s = any_stream(t);

    OK_RT(cudaStreamWaitEvent(t->stream[s].h, shared->event, 0));
    enqueued_alone(t, s);
    RT(READY_OR_NOT, cudaEventQuery(shared->event));
}

static void shared_check(struct thread *t)
{
    struct shared *shared = &all[t->device];
    unsigned char got[BYTES];

    pthread_mutex_lock(&shared->lock);
    OK_RT(cudaMemcpyAsync(got, shared->p, BYTES, cudaMemcpyDeviceToHost, shared->stream));
    for (int i = 0; i < BYTES; i++)
        if (got[i] != shared->model[i])
            fail(t, "the shared buffer holds %d at %d, not %d", got[i], i, shared->model[i]);
    pthread_mutex_unlock(&shared->lock);
}

/* The stream is another one from now on; what the first was doing still comes before. */
static void shared_renew(struct thread *t)
{
    struct shared *shared = &all[t->device];
    cudaStream_t next;

    pthread_mutex_lock(&shared->lock);
    OK_RT(cudaStreamCreateWithFlags(&next, cudaStreamNonBlocking));
    OK_RT(cudaEventRecord(shared->event, shared->stream));
    OK_RT(cudaStreamWaitEvent(next, shared->event, 0));
    OK_RT(cudaStreamDestroy(shared->stream));
    shared->stream = next;
    pthread_mutex_unlock(&shared->lock);
}

const struct op ops_shared[] = {
    {"shared", "mix", shared_mix, 6, false},
    {"shared", "wait", shared_wait, 3, false},
    {"shared", "check", shared_check, 3, true},
    {"shared", "renew", shared_renew, 1, true},
    {NULL, NULL, NULL, 0, false},
};
