/* scopes: local variables that copies still read or write when their function returns.
 *
 * No instruction tells of a return. So where a copy of a local variable is enqueued, or a graph
 * with one is made, the frame that holds the variable is kept: where it ends, and to where its
 * function returns. At each later call by the same thread the frames are looked at again; if there
 * is none any more that ends there and returns there, the function has returned meanwhile. A
 * function that was called again from the same place since is taken for the first call. */
#include <pthread.h>
#include <unwind.h>

#include "races/internal.h"

enum { SCOPES_MOST = 1024, FRAMES_MOST = 64 };

static struct {
    struct scope {
        struct shadow_range bytes;
        pthread_t thread;
        uint64_t end;        /* of the frame */
        const void *returns; /* to that */
        uint64_t graph;      /* whose copy it is; 0: of work that is under way */
        bool over;
    } *items;
    size_t count, cap;
} scopes;

/* Bytes of functions that had returned when a copy of theirs was launched. */
static struct {
    struct shadow_range *items;
    size_t count, cap;
} stale;

/* ---- the calling thread's frames ---- */

struct frames {
    uint32_t count;
    struct frame {
        uint64_t low; /* the stack's pointer in it */
        const void *pc;
    } items[FRAMES_MOST];
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *self)
{
    struct frames *f = self;
    if (f->count == FRAMES_MOST)
        return _URC_END_OF_STACK;
    f->items[f->count++] =
        (struct frame){_Unwind_GetCFA(context), (const void *)(uintptr_t)_Unwind_GetIP(context)};
    return _URC_NO_REASON;
}

static void read_frames(struct frames *f)
{
    f->count = 0;
    _Unwind_Backtrace(add_frame, f);
}

/* Where the program's frames begin: what is below is of the call of the API that the thread is in.
 * 0: not to be told. */
static uint64_t program_low(const struct frames *f)
{
    const void *site = observe_call_now().site;
    for (uint32_t i = 0; i < f->count; i++)
        if (f->items[i].pc == site)
            return f->items[i].low;
    return 0;
}

/* Of the calling thread; threads do not get others. */
static struct shadow_range own_stack(void)
{
    static _Thread_local struct shadow_range own;
    pthread_attr_t attributes;
    void *low;
    size_t bytes;
    if (own.high != 0 || pthread_getattr_np(pthread_self(), &attributes) != 0)
        return own;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0)
        own = (struct shadow_range){(uint64_t)(uintptr_t)low, (uint64_t)(uintptr_t)low + bytes};
    pthread_attr_destroy(&attributes);
    return own;
}

static bool on_own_stack(const struct shadow_range *r)
{
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    struct shadow_range own = own_stack();
    return r->low >= own.low && r->high <= own.high && here >= own.low && here < own.high;
}

/* ---- scopes ---- */

static bool is_live(const struct scope *s, const struct frames *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (f->items[i].low == s->end && f->items[i].pc == s->returns)
            return true;
    return f->count == 0 || f->items[f->count - 1].low < s->end; /* not to be told */
}

static void remove_at(size_t i) { scopes.items[i] = scopes.items[--scopes.count]; }

static bool overlap(const struct shadow_range *a, const struct shadow_range *b)
{
    return a->low < b->high && a->high > b->low;
}

bool scopes_are_stale(void) { return stale.count > 0; }

/* They are variables of a function that runs. */
static void refresh(const struct shadow_range *r)
{
    for (size_t i = stale.count; i > 0; i--)
        if (overlap(&stale.items[i - 1], r)) {
            shadow_forget(stale.items[i - 1].low, stale.items[i - 1].high);
            stale.items[i - 1] = stale.items[--stale.count];
        }
}

/* Whether they are in the frame of a function of the program's, which is kept. */
static bool note(const struct shadow_range *r, uint64_t graph, const struct frames *f)
{
    uint64_t program = program_low(f);
    for (uint32_t i = 0; i + 1 < f->count; i++) {
        const struct frame *inner = &f->items[i], *outer = &f->items[i + 1];
        if (program == 0 || inner->low < program || r->low < inner->low || r->low >= outer->low)
            continue;
        struct scope s = {*r, pthread_self(), outer->low, outer->pc, graph, false};
        vec_push(&scopes, s);
        return true;
    }
    return false;
}

void scopes_note(const struct shadow_range *r, uint64_t graph)
{
    struct frames f;
    if (!on_own_stack(r) || scopes.count >= SCOPES_MOST)
        return;
    read_frames(&f);
    if (note(r, graph, &f))
        refresh(r);
}

static void ends(const struct scope *s)
{
    struct moment *m = order_host((const char *)s->returns - 1);
    m->ends = SCOPE_ENDS;
    released(m, s->bytes.low, s->bytes.high);
    moment_unref(m);
}

void scopes_look(void)
{
    struct frames f = {0};
    for (size_t i = scopes.count; i > 0; i--) {
        struct scope s = scopes.items[i - 1];
        if (s.over || !pthread_equal(s.thread, pthread_self()))
            continue;
        if (f.count == 0)
            read_frames(&f);
        if (is_live(&s, &f))
            continue;
        if (s.graph != 0) {
            scopes.items[i - 1].over = true;
            continue;
        }
        remove_at(i - 1);
        ends(&s);
    }
}

/* A copy of the graph is to use what was a variable of a function that has returned. */
static void is_stale(const struct scope *s)
{
    struct moment *m = order_host((const char *)s->returns - 1);
    m->ends = SCOPE_ENDS;
    shadow_forget(s->bytes.low, s->bytes.high);
    shadow_access(m, ACCESS_FREE, s->bytes.low, s->bytes.high, held_race);
    moment_unref(m);
    vec_push(&stale, s->bytes);
}

static void launch(const struct shadow_range *r, void *self)
{
    uint64_t graph = *(const uint64_t *)self;
    struct frames f;
    if (!on_own_stack(r))
        return;
    read_frames(&f);
    if (note(r, 0, &f)) {
        refresh(r);
        return;
    }
    for (size_t i = 0; i < scopes.count; i++)
        if (scopes.items[i].graph == graph && scopes.items[i].over &&
            overlap(&scopes.items[i].bytes, r) && r->low < program_low(&f)) {
            is_stale(&scopes.items[i]);
            return;
        }
}

void scopes_launched(uint64_t graph) { graph_copies(graph, launch, &graph); }

void scopes_graph_ended(uint64_t graph)
{
    for (size_t i = scopes.count; i > 0; i--)
        if (scopes.items[i - 1].graph == graph)
            remove_at(i - 1);
}

void scopes_forget(void)
{
    for (size_t i = scopes.count; i > 0; i--)
        if (scopes.items[i - 1].graph == 0)
            remove_at(i - 1);
}
