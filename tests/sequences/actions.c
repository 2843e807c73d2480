/* What may be done to the content of buffers, whatever the call that does it: the model's side, and
 * what an action needs of the order of streams. */
#include <string.h>

#include "sequences.h"

int any_buffer(struct thread *t)
{
    int first = (int)below(t, BUFFERS);

    for (int i = 0; i < BUFFERS; i++)
        if (t->buffer[(first + i) % BUFFERS].live)
            return (first + i) % BUFFERS;
    return -1;
}

/* Whether the host may touch its bytes. */
bool on_host(const struct buffer *b)
{
    return b->kind == PINNED || b->kind == MAPPED || b->kind == REGISTERED || b->kind == MANAGED;
}

bool any_action(struct thread *t, struct action *a, bool host)
{
    int b = any_buffer(t), other = any_buffer(t);

    memset(a, 0, sizeof *a);
    a->dst = a->src = -1;
    if (b < 0)
        return false;
    const struct buffer *d = &t->buffer[b], *s = &t->buffer[other];
    a->kind = (enum action_kind)(MIX + below(t, 3));
    if (host && one_in(t, 8) && on_host(d))
        a->kind = HOST;
    a->dst = b;
    a->dst_serial = d->serial;
    a->to = below(t, (unsigned)d->size);
    a->n = 1 + below(t, (unsigned)(d->size - a->to));
    if (one_in(t, 3)) /* whole ones */
        a->to = 0, a->n = d->size;
    a->value = chance(t) & 255;
    a->rows = 1;
    if (a->kind != COPY)
        return true;
    if (other == b)
        return false;
    a->src = other;
    a->src_serial = s->serial;
    a->from = below(t, (unsigned)s->size);
    if (a->n > s->size - a->from)
        a->n = s->size - a->from;
    if (one_in(t, 3)) { /* several rows */
        size_t width = 1 + below(t, 64), pitch_to = width + below(t, 64),
               pitch_from = width + below(t, 64);
        size_t rows = a->n / (pitch_to > pitch_from ? pitch_to : pitch_from);
        if (rows > 1) {
            a->rows = rows;
            a->n = width;
            a->pitch_to = pitch_to;
            a->pitch_from = pitch_from;
        }
    }
    return true;
}

bool action_valid(const struct thread *t, const struct action *a)
{
    if (a->kind == NOTHING)
        return true;
    const struct buffer *d = &t->buffer[a->dst];
    if (!d->live || d->serial != a->dst_serial)
        return false;
    return a->kind != COPY || (t->buffer[a->src].live && t->buffer[a->src].serial == a->src_serial);
}

void act(struct thread *t, const struct action *a)
{
    if (a->kind == NOTHING)
        return;
    unsigned char *to = t->buffer[a->dst].model + a->to;
    if (a->kind == SET) {
        memset(to, (int)a->value, a->n);
    } else if (a->kind == COPY) {
        const unsigned char *from = t->buffer[a->src].model + a->from;
        for (size_t row = 0; row < a->rows; row++)
            memcpy(to + row * a->pitch_to, from + row * a->pitch_from, a->n);
    } else {
        for (size_t i = 0; i < a->n; i++)
            to[i] = (unsigned char)(to[i] * 5 + a->value + i);
    }
}

bool action_may(struct thread *t, int s, const struct action *a)
{
    /* Twice: making one access legal may not undo what the other has. */
    return a->kind == NOTHING || (may_access(t, s, &t->buffer[a->dst], true) &&
                                  (a->kind != COPY || may_access(t, s, &t->buffer[a->src], false)));
}

void action_done(struct thread *t, int s, const struct action *a)
{
    if (a->kind == NOTHING)
        return;
    if (a->kind == COPY)
        accessed(t, s, &t->buffer[a->src], false);
    accessed(t, s, &t->buffer[a->dst], true);
}

static void compare(struct thread *t, const struct buffer *b, const unsigned char *got)
{
    if (memcmp(got, b->model, b->size) == 0)
        return;
    size_t i = 0, bad = 0;
    for (size_t k = b->size; k-- > 0;)
        if (got[k] != b->model[k])
            i = k, bad++;
    fail(t,
         "buffer %d (kind %d, %zu bytes at %p) holds %d at %zu, not %d; %zu bytes differ; written "
         "by stream %d",
         (int)(b - t->buffer), (int)b->kind, b->size, (void *)b->p, got[i], i, b->model[i], bad,
         b->writer);
}

void check_buffer(struct thread *t, struct buffer *b)
{
    if (!host_may_access(t, b, false))
        return;
    NOTE(b - t->buffer, b->kind, b->size, 0);
    if (on_host(b) && !one_in(t, 3)) {
        compare(t, b, (unsigned char *)b->p);
        return;
    }
    memset(t->scratch, 0xee, b->size);
    if (b->kind == IN_SYMBOL && one_in(t, 2))
        OK_RT(cudaMemcpyFromSymbol(t->scratch, settings.symbol_handle, b->size,
                                   (size_t)(b->p - places[t->device].symbol),
                                   cudaMemcpyDeviceToHost));
    else if (one_in(t, 2))
        OK_CU(cuMemcpyDtoH(t->scratch, (CUdeviceptr)b->p, b->size));
    else
        OK_RT(cudaMemcpy(t->scratch, b->p, b->size,
                         one_in(t, 2) ? cudaMemcpyDefault : cudaMemcpyDeviceToHost));
    enqueued(t, LEGACY);
    stream_done(t, LEGACY);
    compare(t, b, t->scratch);
}
