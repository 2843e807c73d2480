/* Calls are noted before they are made and compared with what the model expects afterwards; what
 * differs ends the process with the seed and the last calls of the thread. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sequences.h"

static pthread_mutex_t failing = PTHREAD_MUTEX_INITIALIZER;

void call_begin(struct thread *t, const char *text, int line)
{
    struct call *c = &t->recent[t->calls % RECENT];

    c->op = t->op;
    c->text = text;
    c->line = line;
    c->code = -1;
    memcpy(c->note, t->note, sizeof c->note);
}

/* Tells each difference of a call once, and goes on. */
static void collect(struct thread *t, const struct call *c, int code, int wanted)
{
    static const struct call *seen[RECENT]; /* by text and line */
    static struct call kept[RECENT];
    static unsigned count;

    pthread_mutex_lock(&failing);
    unsigned i = 0;
    while (i < count && (seen[i]->text != c->text || seen[i]->code != code))
        i++;
    if (i == count && count < RECENT) {
        kept[count] = *c;
        seen[count] = &kept[count];
        count++;
        printf("DIFFERS: %s, line %d: %d (%s), not %d: %s [%ld %ld %ld %ld]\n", c->op, c->line,
               code, cudaGetErrorName((cudaError_t)code), wanted, c->text, t->note[0], t->note[1],
               t->note[2], t->note[3]);
    }
    pthread_mutex_unlock(&failing);
}

static int call_end(struct thread *t, int code, int wanted, int not_ready)
{
    t->recent[t->calls % RECENT].code = code;
    atomic_fetch_add_explicit(&t->calls, 1, memory_order_relaxed);
    if (wanted == READY_OR_NOT ? code != 0 && code != not_ready
                               : wanted != ANY_CODE && code != wanted) {
        if (settings.collect) {
            collect(t, &t->recent[(t->calls - 1) % RECENT], code, wanted);
            return code;
        }
        fail(t, "the last call gave %d (%s), not %d", code, cudaGetErrorName((cudaError_t)code),
             wanted);
    }
    return code;
}

int call_end_runtime(struct thread *t, int code, int wanted)
{
    call_end(t, code, wanted, cudaErrorNotReady);
    if (code != cudaSuccess && code != cudaErrorNotReady)
        t->last_error = code;
    return code;
}

int call_end_driver(struct thread *t, int code, int wanted)
{
    return call_end(t, code, wanted, CUDA_ERROR_NOT_READY);
}

void print_recent(struct thread *t)
{
    unsigned long last = t->calls + (t->recent[t->calls % RECENT].code == -1);
    unsigned long n = last < settings.recent ? last : settings.recent;

    printf("thread %d, seed %llu, step %lu, call %lu, in %s; its last calls:\n", t->number,
           (unsigned long long)settings.seed, t->steps, t->calls, t->op);
    for (unsigned long i = last - n; i < last; i++) {
        const struct call *c = &t->recent[i % RECENT];
        printf("  %-16s line %3d [%ld %ld %ld %ld] ", c->op, c->line, c->note[0], c->note[1],
               c->note[2], c->note[3]);
        if (c->code == -1)
            printf("not back  %s\n", c->text);
        else
            printf("%8d  %s\n", c->code, c->text);
    }
}

void fail(struct thread *t, const char *format, ...)
{
    va_list args;

    pthread_mutex_lock(&failing); /* for ever: the first failure is the one that is told */
    printf("FAILED: ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    print_recent(t);
    printf("again: WEIR_DEVICES=%d api_sequences seed=%llu threads=%d steps=%lu%s%s   (alone: "
           "thread=%d)\n",
           settings.devices, (unsigned long long)settings.seed, settings.threads, settings.steps,
           settings.only != NULL ? " only=" : "", settings.only != NULL ? settings.only : "",
           t->number);
    fflush(stdout);
    if (getenv("WEIR_TEST_ABORT") != NULL)
        abort();
    _exit(1);
}
