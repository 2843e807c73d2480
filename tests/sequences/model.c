/* What comes after what: clocks of streams, events and the host, and the means by which two
 * accesses are brought into an order. */
#include <stdlib.h>
#include <string.h>

#include "sequences.h"

int closed_gates;

int any_stream(struct thread *t)
{
    for (int tries = 0; tries < 32; tries++) {
        int s = (int)below(t, STREAMS);
        /* The legacy stream waits for every thread's blocking streams; it is taken less often. */
        if (s == LEGACY && !one_in(t, 3))
            continue;
        if (t->stream[s].state == STREAM_LIVE && !t->stream[s].capturing)
            return s;
    }
    return PER_THREAD;
}

int own_stream(struct thread *t)
{
    int first = (int)below(t, STREAMS);

    for (int i = 0; i < STREAMS; i++) {
        int s = (first + i) % STREAMS;
        if (s > PER_THREAD && t->stream[s].state == STREAM_LIVE && !t->stream[s].capturing)
            return s;
    }
    return -1;
}

int any_event(struct thread *t)
{
    int first = (int)below(t, EVENTS);

    for (int i = 0; i < EVENTS; i++) {
        int e = (first + i) % EVENTS;
        if (e != LINK && t->event[e].live)
            return e;
    }
    return -1;
}

static void join(struct clock *to, const struct clock *from)
{
    for (int i = 0; i < STREAMS; i++)
        if (to->t[i] < from->t[i])
            to->t[i] = from->t[i];
}

static bool after_gate(const struct thread *t, const struct clock *c)
{
    return t->gate == CLOSED && c->t[t->gate_stream] >= t->gate_tick;
}

void enqueued(struct thread *t, int s)
{
    struct stream *stream = &t->stream[s];

    if (s == LEGACY) {
        for (int r = PER_THREAD; r < STREAMS; r++)
            if (t->stream[r].state == STREAM_LIVE && t->stream[r].blocking)
                join(&stream->seen, &t->stream[r].seen);
    } else if (stream->blocking) {
        join(&stream->seen, &t->stream[LEGACY].seen);
    }
    stream->seen.t[s] = ++stream->tick;
    stream->held = after_gate(t, &stream->seen);
}

void enqueued_alone(struct thread *t, int s) { t->stream[s].seen.t[s] = ++t->stream[s].tick; }

void waited(struct thread *t, int s)
{
    if (s == LEGACY)
        enqueued(t, s);
    else
        enqueued_alone(t, s);
}

void joins(struct thread *t, int s, const struct clock *c)
{
    join(&t->stream[s].seen, c);
    t->stream[s].held = after_gate(t, &t->stream[s].seen);
}

void host_joins(struct thread *t, const struct clock *c)
{
    join(&t->done, c);
    for (int s = PER_THREAD + 1; s < STREAMS; s++)
        if (t->stream[s].state == STREAM_DESTROYED && idle(t, s))
            t->stream[s].state = STREAM_NONE;
}

void stream_done(struct thread *t, int s) { host_joins(t, &t->stream[s].seen); }

void all_done(struct thread *t)
{
    struct clock all = {{0}};

    for (int s = 0; s < STREAMS; s++)
        all.t[s] = t->stream[s].tick;
    host_joins(t, &all);
}

bool idle(const struct thread *t, int s) { return t->done.t[s] >= t->stream[s].tick; }

void wait_for_all(struct thread *t)
{
    switch (below(t, 4)) {
    case 0: OK_CU(cuCtxSynchronize()); break;
    default: OK_RT(cudaDeviceSynchronize()); break;
    }
    all_done(t);
}

void open_gate(struct thread *t)
{
    if (t->gate == OPEN)
        return;
    __atomic_store_n(t->flag, t->flag_wanted, __ATOMIC_SEQ_CST);
    t->gate = OPEN;
    __atomic_fetch_sub(&closed_gates, 1, __ATOMIC_SEQ_CST);
    for (int s = 0; s < STREAMS; s++)
        t->stream[s].held = false;
    for (int e = 0; e < EVENTS; e++)
        t->event[e].held = false;
}

/* An event is recorded in stream r, and stream s waits for it. */
static void link_streams(struct thread *t, int s, int r)
{
    cudaEvent_t e = t->event[LINK].h;

    NOTE(r, s, 0, 0);
    if (one_in(t, 3))
        OK_CU(cuEventRecord((CUevent)e, (CUstream)t->stream[r].h));
    else
        OK_RT(cudaEventRecord(e, t->stream[r].h));
    enqueued(t, r);
    struct clock at = t->stream[r].seen;
    if (one_in(t, 3))
        OK_CU(cuStreamWaitEvent((CUstream)t->stream[s].h, (CUevent)e, 0));
    else
        OK_RT(cudaStreamWaitEvent(t->stream[s].h, e, 0));
    joins(t, s, &at);
    waited(t, s);
}

static void wait_for_stream(struct thread *t, int r)
{
    NOTE(r, 0, 0, 0);
    switch (below(t, 3)) {
    case 0:
        OK_RT(cudaEventRecord(t->event[LINK].h, t->stream[r].h));
        enqueued(t, r);
        OK_RT(cudaEventSynchronize(t->event[LINK].h));
        break;
    case 1: OK_CU(cuStreamSynchronize((CUstream)t->stream[r].h)); break;
    default: OK_RT(cudaStreamSynchronize(t->stream[r].h)); break;
    }
    stream_done(t, r);
}

bool order(struct thread *t, int s, int r, unsigned tick)
{
    if (r == s || t->done.t[r] >= tick || t->stream[s].seen.t[r] >= tick)
        return true;
    bool usable = t->stream[r].state == STREAM_LIVE && !t->stream[r].capturing;
    if (t->gate == CLOSED && !usable)
        return false;
    if (usable && (t->gate == CLOSED || !one_in(t, 4)))
        link_streams(t, s, r);
    else if (usable && !one_in(t, 6))
        wait_for_stream(t, r);
    else
        wait_for_all(t);
    return true;
}

bool may_access(struct thread *t, int s, struct buffer *b, bool write)
{
    if (b->writer >= 0 && !order(t, s, b->writer, b->written))
        return false;
    for (int r = 0; write && r < STREAMS; r++)
        if (b->read[r] != 0 && !order(t, s, r, b->read[r]))
            return false;
    return true;
}

void accessed(struct thread *t, int s, struct buffer *b, bool write)
{
    if (!write) {
        b->read[s] = t->stream[s].tick;
        return;
    }
    memset(b->read, 0, sizeof b->read);
    b->writer = s;
    b->written = t->stream[s].tick;
}

bool host_may_access(struct thread *t, struct buffer *b, bool write)
{
    for (int r = 0; r < STREAMS; r++) {
        unsigned tick = write ? b->read[r] : 0;
        if (b->writer == r && b->written > tick)
            tick = b->written;
        if (tick <= t->done.t[r])
            continue;
        if (t->gate == CLOSED)
            return false;
        if (t->stream[r].state == STREAM_LIVE && !t->stream[r].capturing && !one_in(t, 6))
            wait_for_stream(t, r);
        else
            wait_for_all(t);
    }
    return true;
}
