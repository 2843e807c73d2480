/* S7.13: which calls need a current context: what every function that takes a handle or an address
 * says in each state of the thread's current context and of the handles' own one. The rows of
 * calls.def are the calls, with what an H100 says. Each state is tried in processes of its own,
 * since contexts end in some, and NVIDIA's driver crashes in others.
 *
 * With a state's name as argument the answers are printed instead of compared, on a GPU, too. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "check.h"
#include "handles.h"

/* ---- the states ---- */

enum fate { LIVE, FAULTED, DESTROYED, DESTROYED_ELSEWHERE, RELEASED, RETAINED_AGAIN };
enum which { NOBODY, MINE, OTHER };
static const struct state {
    const char *name;
    bool primary;       /* whose handles they are; the other context then is a created one */
    enum fate fate;     /* of the handles' context */
    enum which current; /* of the calling thread */
    bool other_faulted;
} states[] = {
    {"current", false, LIVE, MINE, false},
    {"none", false, LIVE, NOBODY, false},
    {"other", false, LIVE, OTHER, false},
    {"other-faulted", false, LIVE, OTHER, true},
    {"faulted", false, FAULTED, NOBODY, false},
    {"destroyed", false, DESTROYED, NOBODY, false},
    {"destroyed-other", false, DESTROYED, OTHER, false},
    {"destroyed-current", false, DESTROYED_ELSEWHERE, MINE, false},
    {"released", true, RELEASED, NOBODY, false},
    {"released-current", true, RELEASED, MINE, false},
    {"retained-again", true, RETAINED_AGAIN, MINE, false},
};
enum {
    STATES = sizeof states / sizeof *states,
    X = -1,  /* no answer: the process ended, or waited for ever */
    NA = -2, /* not asked */
};

/* ---- the rows ---- */

#define LIST(...)          {__VA_ARGS__}
#define CASE(answers, ...) {#__VA_ARGS__, LIST answers},
static const struct {
    const char *text;
    int said[STATES];
} rows[] = {
#include "calls.def"
};
#undef CASE
enum { ROWS = sizeof rows / sizeof *rows };

static CUresult call(int row, struct handles *h)
{
    int number = 0;
#define CASE(answers, ...)                                                                         \
    if (row == number++)                                                                           \
        return __VA_ARGS__;
#include "calls.def"
#undef CASE
    return CUDA_ERROR_UNKNOWN;
}

/* ---- trying them ---- */

static CUcontext mine, other;

static void fault(void)
{
    const char *text = "a fault";
    CUmodule stopping;
    CUfunction stop;
    MADE(cuModuleLoadData(&stopping, ptx));
    MADE(cuModuleGetFunction(&stop, stopping, "stop"));
    MADE(cuLaunchKernel(stop, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    if (cuCtxSynchronize() == CUDA_SUCCESS)
        MADE(CUDA_ERROR_UNKNOWN);
}

static void *destroy(void *context)
{
    cuCtxDestroy(context);
    return NULL;
}

static void begin(const struct state *state)
{
    const char *text = "the contexts";
    CUcontext *primary = state->primary ? &mine : &other, *made = state->primary ? &other : &mine;
    MADE(cuInit(0));
    MADE(cuDevicePrimaryCtxRetain(primary, 0));
    MADE(cuCtxCreate(made, NULL, 0, 0));
    MADE(cuCtxSetCurrent(other));
    CUmodule module;
    MADE(cuStreamCreate(&other_stream, 0));
    MADE(cuModuleLoadData(&module, ptx));
    MADE(cuModuleGetFunction(&other_function, module, "one"));
    MADE(cuCtxSetCurrent(mine));
}

/* The state comes about, which the handles were made before. */
static CUcontext enter(const struct state *state)
{
    const char *text = "the state";
    pthread_t thread;
    if (state->other_faulted) {
        MADE(cuCtxSetCurrent(other));
        fault();
        MADE(cuCtxSetCurrent(mine));
    }
    switch (state->fate) {
    case LIVE: break;
    case FAULTED: fault(); break;
    case DESTROYED: MADE(cuCtxDestroy(mine)); break;
    case DESTROYED_ELSEWHERE:
        pthread_create(&thread, NULL, destroy, mine);
        pthread_join(thread, NULL);
        break;
    case RELEASED: MADE(cuDevicePrimaryCtxRelease(0)); break;
    case RETAINED_AGAIN:
        MADE(cuDevicePrimaryCtxRelease(0));
        MADE(cuDevicePrimaryCtxRetain(&mine, 0));
        MADE(cuCtxSetCurrent(mine));
        break;
    }
    return state->current == MINE ? mine : state->current == OTHER ? other : NULL;
}

struct answer {
    int row, said;
};

/* Tries the rows from `first` to before `end`, and tells each answer at once. */
static void try_rows(const struct state *state, int first, int end, int tell)
{
    struct handles *handles = calloc((size_t)(end - first), sizeof *handles);
    begin(state);
    for (int row = first; row < end; row++)
        make_handles(&handles[row - first], rows[row].text);
    CUcontext wanted = enter(state), now;
    for (int row = first; row < end; row++) {
        if (cuCtxGetCurrent(&now) != CUDA_SUCCESS || now != wanted)
            cuCtxSetCurrent(wanted);
        alarm(10);
        struct answer answer = {row, (int)call(row, &handles[row - first])};
        alarm(0);
        if (write(tell, &answer, sizeof answer) != sizeof answer)
            break;
    }
    _exit(0); /* and nothing is tidied up, which might crash */
}

/* Rows with captures are tried alone: what is captured forbids much. */
static bool alone(const char *text)
{
    return strstr(text, "h->cap") != NULL || strstr(text, "BeginCapture") != NULL;
}

/* How many are tried in one process: few enough that no handle that has ended is another's. */
static int end_of_part(int first)
{
    int end = first + 1;
    while (!alone(rows[first].text) && end < ROWS && end < first + 24 && !alone(rows[end].text))
        end++;
    return end;
}

static void try_state(const struct state *state, int said[ROWS])
{
    for (int row = 0; row < ROWS;) {
        int end = end_of_part(row), pipes[2];
        if (pipe(pipes) != 0)
            exit(1);
        pid_t child = fork();
        if (child == 0) {
            close(pipes[0]);
            try_rows(state, row, end, pipes[1]);
        }
        close(pipes[1]);
        struct answer answer;
        while (read(pipes[0], &answer, sizeof answer) == sizeof answer) {
            said[answer.row] = answer.said;
            row = answer.row + 1;
        }
        close(pipes[0]);
        waitpid(child, NULL, 0);
        if (row < end)
            said[row++] = X;
    }
}

/* ---- comparing ---- */

/* Whether the row names a handle that has ended with its context. NVIDIA's driver follows it into
 * freed memory and says what it finds there, or crashes; here it is refused, by whatever code. */
static bool stale(const struct state *state, const char *text)
{
    static const char *const ended[] = {
        "s",    "s2",  "e",     "e2",   "m",      "f",        "a",     "mm",   "t",
        "g",    "x",   "kn",    "cn",   "sn",     "hn",       "en",    "surf", "ref",
        "mine", "two", "three", "peer", "config", "resource", "kernel"};
    static const char *const pools[] = {"pool", "pooled", "shared_pool", "async"};
    char member[32];
    if (state->fate == LIVE || state->fate == FAULTED)
        return false;
    for (size_t n = 0; n < sizeof ended / sizeof *ended; n++) {
        snprintf(member, sizeof member, "h->%s", ended[n]);
        if (uses(text, member))
            return true;
    }
    for (size_t n = 0; n < sizeof pools / sizeof *pools && state->primary; n++) {
        snprintf(member, sizeof member, "h->%s", pools[n]); /* docs/differences.md: pools end */
        if (uses(text, member))
            return true;
    }
    return false;
}

/* What is said here instead, in one state or (NULL) in all, to calls with that in their text. */
static const struct {
    const char *state, *part;
    CUresult said;
} differences[] = {
    {NULL, "CU_POINTER_ATTRIBUTE_SYNC_MEMOPS", CUDA_ERROR_NOT_SUPPORTED},
    {NULL, "cuCtxGetExecAffinity", CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY},
    {NULL, "cuGraphLaunch", CUDA_ERROR_INVALID_CONTEXT}, /* in a stream of another context */
    {"none", "cuMemcpyBatchAsync", CUDA_SUCCESS},        /* as other copies in such a stream */
    {"destroyed-current", "cuMemFreeAsync", CUDA_ERROR_CONTEXT_IS_DESTROYED}, /* likewise */
    /* A fault on a GPU is one of all contexts of the process. */
    {"faulted", "cuStreamWaitEvent(other_stream", CUDA_SUCCESS},
    {"faulted", "h->mem2, 4, other_stream", CUDA_SUCCESS},
    {"faulted", "cuMemFreeAsync(h->async, other_stream", CUDA_SUCCESS},
    {"faulted", "cuEventRecord(h->e, other_stream", CUDA_ERROR_INVALID_HANDLE},
    {"faulted", "cuLaunchKernel(h->f", CUDA_ERROR_INVALID_HANDLE},
    /* Captures and nodes of a context that has one. */
    {"faulted", "h->capturing", CUDA_ERROR_LAUNCH_FAILED},
    {"faulted", "NodeSetParams", CUDA_ERROR_LAUNCH_FAILED},
};

static bool differs(const struct state *state, const char *text, int said)
{
    for (size_t n = 0; n < sizeof differences / sizeof *differences; n++)
        if ((differences[n].state == NULL || strcmp(differences[n].state, state->name) == 0) &&
            strstr(text, differences[n].part) != NULL && said == (int)differences[n].said)
            return true;
    return false;
}

static bool agree(const struct state *state, int row, int h100, int said)
{
    const char *text = rows[row].text;
    if (said == X)
        return false;
    return h100 == said || h100 == X || h100 == NA ||
           (said != CUDA_SUCCESS && stale(state, text)) || differs(state, text, said);
}

int main(int argc, char **argv)
{
    static int said[ROWS];
    for (int n = 0; n < STATES; n++) {
        if (argc > 1 && strcmp(argv[1], states[n].name) != 0)
            continue;
        try_state(&states[n], said);
        for (int row = 0; row < ROWS; row++)
            if (argc > 1)
                printf("%d %s\n", said[row], rows[row].text);
            else if (!check_count(agree(&states[n], row, rows[row].said[n], said[row])))
                printf("%s: %s: %d, not %d\n", states[n].name, rows[row].text, said[row],
                       rows[row].said[n]);
    }
    return argc > 1 ? 0 : check_done();
}
