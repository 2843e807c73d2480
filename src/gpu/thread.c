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
    free(t);
}

struct gpu_thread *gpu_thread(void)
{
    void **word = thread_word();
    if (WEIR_UNLIKELY(word == NULL))
        return NULL;
    if (WEIR_UNLIKELY(*word == NULL))
        *word = xcalloc(1, sizeof(struct gpu_thread));
    return *word;
}
