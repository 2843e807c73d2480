/* What the programs of the corpus share: a case is a function that makes one race, unless
 * `repaired`; then it has the order that was missing. README.md says how a case is written.
 *
 * A program runs one case: PROGRAM CASE racy|repaired. */
#ifndef WEIR_TESTS_RACES_H
#define WEIR_TESTS_RACES_H

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

/* All calls must succeed: a case that does not run shows nothing. */
#define DO(call)                                                                                   \
    do {                                                                                           \
        auto result_ = (call);                                                                     \
        if ((int)result_ != 0) {                                                                   \
            fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, (int)result_);      \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

struct race_case {
    const char *name;
    void (*run)(bool repaired);
    race_case *next;
    static race_case *first;
    race_case(const char *n, void (*f)(bool)) : name(n), run(f), next(first) { first = this; }
};
race_case *race_case::first;

#define CASE(name)                                                                                 \
    static void name([[maybe_unused]] bool repaired);                                              \
    static race_case case_##name(#name, name);                                                     \
    static void name([[maybe_unused]] bool repaired)

/* What cases use. */
enum { N = 1024 };
static cudaStream_t a, b, c;         /* non-blocking */
static cudaStream_t blocking, other; /* blocking with respect to the legacy default stream */
static cudaEvent_t event, second;
static int *d, *d2, *out;            /* device memory, N each */
static int *h, *h2;                  /* page-locked, N each */
static int *m;                       /* managed, N */
static int page[N], page2[N];        /* pageable */
static volatile int sink;            /* where the host puts what it reads */

__global__ void fill(int *p, int n, int value = 1)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        p[i] = value;
}
__global__ void sum(const int *p, int n, int *result)
{
    int s = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s += p[i];
    atomicAdd(result, s);
}
__global__ void bump(int *p, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        p[i]++;
}
__global__ void atomic_bump(int *p, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&p[i], 1);
}
__global__ void nothing() {}

/* The event orders what follows in `to` after what is in `from`. */
static inline void order(cudaStream_t from, cudaStream_t to)
{
    DO(cudaEventRecord(event, from));
    DO(cudaStreamWaitEvent(to, event, 0));
}

static inline void race_prepare()
{
    for (cudaStream_t *s : {&a, &b, &c})
        DO(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (cudaStream_t *s : {&blocking, &other})
        DO(cudaStreamCreate(s));
    for (cudaEvent_t *e : {&event, &second})
        DO(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    for (int **p : {&d, &d2, &out}) {
        DO(cudaMalloc(p, N * sizeof(int)));
        DO(cudaMemset(*p, 0, N * sizeof(int)));
    }
    for (int **p : {&h, &h2}) {
        DO(cudaHostAlloc(p, N * sizeof(int), cudaHostAllocMapped));
        memset(*p, 0, N * sizeof(int));
    }
    DO(cudaMallocManaged(&m, N * sizeof(int)));
    memset(m, 0, N * sizeof(int));
    DO(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    bool repaired = argc == 3 && strcmp(argv[2], "repaired") == 0;
    if (argc != 3 || (!repaired && strcmp(argv[2], "racy") != 0)) {
        for (race_case *r = race_case::first; r != nullptr; r = r->next)
            puts(r->name);
        return argc == 1 ? 0 : 2;
    }
    for (race_case *r = race_case::first; r != nullptr; r = r->next)
        if (strcmp(r->name, argv[1]) == 0) {
            race_prepare();
            r->run(repaired);
            DO(cudaDeviceSynchronize());
            return 0;
        }
    fprintf(stderr, "no case %s\n", argv[1]);
    return 2;
}

#endif
