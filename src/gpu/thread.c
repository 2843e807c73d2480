/* thread: what a thread found last, and its default streams, which end with it. */
#include <stdlib.h>

#include "gpu/internal.h"

gpu_thread_word thread_word;

/* The driver ends the thread's default streams: what was freed on them stays, with the marks that
 * were left there. */
void gpu_thread_ends(void *kept)
{
    struct gpu_thread *t = kept;
    for (struct stream *s = t->own, *next; s != NULL; s = next) {
        next = s->next_own;
        stream_end(s);
    }
    calls_thread_ends(t);
    free(t);
}

static __attribute__((noinline, cold)) struct gpu_thread *thread_new(void **word)
{
    struct gpu_thread *t = xcalloc(1, sizeof *t);
    CUstreamCaptureStatus status;
    *word = t;
    /* A driver runs host functions in threads of its own. */
    t->runs_host_functions =
        driver.cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_ERROR_NOT_PERMITTED;
    calls_thread_begins(t);
    return t;
}

struct gpu_thread *gpu_thread(void)
{
    void **word = thread_word();
    if (WEIR_UNLIKELY(word == NULL))
        return NULL;
    return WEIR_LIKELY(*word != NULL) ? *word : thread_new(word);
}
