/* trace: the hooks of the timeline, which make records, and the thread that takes them. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/own_threads.h"
#include "timeline/internal.h"

enum {
    PASS_US = 50000,
    /* Bytes of records: above, calls of the API wait for them to be written. A million records of
     * launches, three each, are 70 million bytes. */
    WAITING_MAX = 160 << 20,
    CODES = 1024, /* buckets */
    DEVICES = 64,
    POOLS = 256, /* whose memory is counted */
    DEPTH_MAX = 64,
};

/* ---- code ---- */

/* What is known of the code of a kernel's variant. */
struct code {
    struct code *next;
    const struct grid_kernel *kernel;
    uint32_t registers;
    uint32_t us;
};
static struct code *_Atomic codes[CODES];

static uint64_t bucket_of(const struct grid_kernel *k) { return ((uintptr_t)k >> 6) % CODES; }

static const struct code *code_of(const struct grid_kernel *k)
{
    struct code *c = atomic_load_explicit(&codes[bucket_of(k)], memory_order_acquire);
    while (c != NULL && c->kernel != k)
        c = c->next;
    return c;
}

/* The latest of an address comes first. */
static void code_made(const struct observe_code *made)
{
    struct code *c = xmalloc(sizeof *c);
    *c = (struct code){.kernel = made->kernel,
                       .registers = made->registers,
                       .us = (uint32_t)((made->ended - made->begun) / 1000)};
    c->next = atomic_load(&codes[bucket_of(made->kernel)]);
    while (!atomic_compare_exchange_weak(&codes[bucket_of(made->kernel)], &c->next, c))
        ;
    struct record *r = record_new(RECORD_CODE);
    r->name = record_text(made->name);
    r->begin = made->begun;
    r->end = made->ended;
    for (int n = 0; n < 3; n++)
        r->kernel.block[n] = made->block[n];
    record_done();
}

/* ---- work ---- */

static void set_kernel(struct record *r, const struct observe_work *w)
{
    const struct code *c = code_of(w->kernel.kernel);
    for (int n = 0; n < 3; n++) {
        r->kernel.grid[n] = w->kernel.grid[n];
        r->kernel.block[n] = w->kernel.block[n];
    }
    r->kernel.shared = w->kernel.static_shared + w->kernel.dynamic_shared;
    r->kernel.params = w->kernel.param_bytes;
    r->kernel.registers = c != NULL ? c->registers : 0;
    r->kernel.code_us = c != NULL ? c->us : 0;
}

static uint64_t bytes_of(uint64_t width, uint64_t height, uint64_t depth)
{
    return width * (height > 0 ? height : 1) * (depth > 0 ? depth : 1);
}

/* ---- threads ---- */

/* Slices that the calling thread is in: parts of work, and ranges of its own. */
struct nest {
    struct {
        struct record records[DEPTH_MAX];
        uint32_t depth; /* may be more than there is space for */
    } parts, ranges;
    /* The work that the thread has just begun or ended, and when: its part of it, of which it is
     * told next, begins or ends then, too. Count 0: none. */
    struct observe_id now;
    uint64_t now_at;
};
static WEIR_THREAD_FAST struct nest *nest_of_thread;
static pthread_key_t nest_key;
static pthread_once_t nest_once = PTHREAD_ONCE_INIT;

static void nest_free(void *nest)
{
    nest_of_thread = NULL;
    free(nest);
}
static void make_nest_key(void) { pthread_key_create(&nest_key, nest_free); }

static struct nest *nest_here(void)
{
    if (WEIR_UNLIKELY(nest_of_thread == NULL)) {
        pthread_once(&nest_once, make_nest_key);
        nest_of_thread = xcalloc(1, sizeof *nest_of_thread);
        pthread_setspecific(nest_key, nest_of_thread);
    }
    return nest_of_thread;
}

static void remember(const struct observe_id *id, uint64_t at)
{
    struct nest *n = nest_here();
    n->now = id != NULL ? *id : (struct observe_id){0};
    n->now_at = at;
}

/* The time of what has happened to the work. */
static uint64_t now_of(struct nest *n, const struct observe_id *id)
{
    bool just = id->count != 0 && n->now.count == id->count && n->now.stream == id->stream &&
                n->now.node == id->node;
    n->now.count = 0;
    return just ? n->now_at : clock_ns();
}

static void begun(const struct observe_work *w)
{
    struct record r = {.type = RECORD_WORK,
                       .kind = (uint8_t)w->kind,
                       .device = (uint16_t)w->device,
                       .name = record_text(w->name),
                       .id = w->id};
    switch (w->kind) {
    case OBSERVE_KERNEL: set_kernel(&r, w); break;
    case OBSERVE_COPY:
        r.bytes = bytes_of(w->copy.width, w->copy.height, w->copy.depth);
        r.from = (uint8_t)w->copy.from;
        r.to = (uint8_t)w->copy.to;
        break;
    case OBSERVE_SET: r.bytes = bytes_of(w->set.width, w->set.height, w->set.depth); break;
    case OBSERVE_WAIT:
    case OBSERVE_RECORD:
        r.event.number = w->event.number;
        if (w->kind == OBSERVE_RECORD)
            r.event.on = w->event.as;
        else if (w->after_count > 0)
            r.event.on = w->after[0];
        break;
    default: break;
    }
    remember(w->kind == OBSERVE_WAIT ? NULL : &w->id, open_add(&r, w->root, &w->parent));
}

static void part_begun(const struct observe_id *id, enum observe_kind kind, const char *name)
{
    struct nest *n = nest_here();
    uint32_t depth = n->parts.depth++;
    uint64_t now = now_of(n, id);
    if (depth < DEPTH_MAX)
        n->parts.records[depth] = (struct record){.type = RECORD_PART,
                                                  .kind = (uint8_t)kind,
                                                  .id = *id,
                                                  .name = record_text(name),
                                                  .begin = now};
}

/* Ends the innermost slice. */
static void put_nested(const struct record *from, uint64_t end)
{
    struct record *r = record_new((enum record_type)from->type);
    uint32_t thread = r->thread;
    *r = *from;
    r->thread = thread;
    r->end = end;
    record_done();
}

static void ended(const struct observe_id *id, enum observe_kind kind)
{
    struct record *r = record_new(RECORD_WORK);
    uint32_t thread = r->thread;
    (void)kind;
    if (!open_remove(id, r))
        return; /* the record is used for what is next */
    r->thread = thread;
    remember(id, r->end);
    record_done();
}

static void part_ended(const struct observe_id *id)
{
    struct nest *n = nest_here();
    uint64_t now = now_of(n, id);
    if (n->parts.depth > 0 && --n->parts.depth < DEPTH_MAX)
        put_nested(&n->parts.records[n->parts.depth], now);
}

static void range(const struct observe_range *told)
{
    struct nest *n = nest_here();
    struct record made = {
        .name = record_text(told->name),
        .begin = clock_ns(),
        .range = {.number = told->id, .color = told->color, .domain = record_text(told->domain)}};
    switch (told->kind) {
    case OBSERVE_PUSH:
        made.type = RECORD_RANGE;
        if (n->ranges.depth < DEPTH_MAX)
            n->ranges.records[n->ranges.depth] = made;
        n->ranges.depth++;
        break;
    case OBSERVE_POP:
        if (n->ranges.depth > 0 && --n->ranges.depth < DEPTH_MAX)
            put_nested(&n->ranges.records[n->ranges.depth], clock_ns());
        break;
    default: {
        struct record *r = record_new(told->kind == OBSERVE_MARK ? RECORD_MARK : RECORD_SPAN);
        made.type = r->type;
        made.thread = r->thread;
        made.kind = (uint8_t)told->kind;
        made.end = made.begin;
        *r = made;
        record_done();
    }
    }
}

static void call_ended(const struct observe_call *c)
{
    struct record *r = record_new(RECORD_CALL);
    r->name = record_text(c->name);
    r->begin = c->begun;
    r->end = clock_ns();
    r->error = (uint32_t)c->error;
    record_done();
    while (WEIR_UNLIKELY(records_waiting() > WAITING_MAX))
        usleep(1000); /* no lock is held here; memory must stay bounded */
}

static void host_saw(const struct observe_seen *s)
{
    if (s->begun == 0)
        return;
    struct record *r = record_new(RECORD_WAIT);
    r->kind = (uint8_t)s->how;
    r->begin = s->begun;
    r->end = clock_ns();
    r->name = record_text(s->call.name);
    r->event.number = s->event;
    if (s->work_count == 1)
        r->event.on = s->work[0];
    record_done();
}

/* ---- streams, names, memory ---- */

static void stream_made(const struct observe_stream *s)
{
    struct record *r = record_new(RECORD_STREAM);
    r->id.stream = s->id;
    r->kind = (uint8_t)s->kind;
    r->device = (uint16_t)s->device;
    r->begin = clock_ns();
    record_done();
}

static void named(enum observe_named what, uint64_t id, const char *name)
{
    struct record *r = record_new(RECORD_NAME);
    r->kind = (uint8_t)what;
    r->id.stream = id;
    r->name = record_text(name);
    record_done();
}

static _Atomic uint64_t used_of_device[DEVICES], used_of_pool[POOLS], held_of_pool[POOLS];

static void put_pool(uint64_t pool)
{
    struct record *r = record_new(RECORD_POOL);
    r->begin = clock_ns();
    r->memory.number = pool;
    r->memory.used = atomic_load(&used_of_pool[pool]);
    r->memory.held = atomic_load(&held_of_pool[pool]);
    record_done();
}

static void count_memory(const struct observe_memory *m, uint64_t sign)
{
    if (m->kind == OBSERVE_POOL && m->pool < POOLS) {
        atomic_fetch_add(&used_of_pool[m->pool], sign * m->bytes);
        put_pool(m->pool);
    }
    if (m->kind != OBSERVE_DEVICE_MEMORY || m->device < 0 || m->device >= DEVICES)
        return;
    struct record *r = record_new(RECORD_MEMORY);
    r->begin = clock_ns();
    r->device = (uint16_t)m->device;
    r->memory.used =
        atomic_fetch_add(&used_of_device[m->device], sign * m->bytes) + sign * m->bytes;
    record_done();
}

static void memory_made(const struct observe_memory *m) { count_memory(m, 1); }
static void memory_freed(const struct observe_memory *m) { count_memory(m, UINT64_MAX); }

static void pool_size(uint64_t pool, uint64_t reserved)
{
    if (pool >= POOLS)
        return;
    atomic_store(&held_of_pool[pool], reserved);
    put_pool(pool);
}

/* ---- the thread that writes ---- */

static struct {
    pthread_mutex_t lock; /* of a pass */
    bool ended;           /* nothing is written any more */
    pid_t process;        /* whose trace it is: forks write nothing */
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What is asked for. */
static bool to_file, to_statistics;

static void take(const struct record *r)
{
    if (to_file)
        json_record(r);
    if (to_statistics)
        statistics_record(r);
}

static void pass(void)
{
    records_take(take);
    json_pass();
    file_flush();
}

static void *writer_main(void *unused)
{
    (void)unused;
    own_thread_begins();
    for (;;) {
        usleep(PASS_US);
        pthread_mutex_lock(&writer.lock);
        if (!writer.ended)
            pass();
        pthread_mutex_unlock(&writer.lock);
    }
    return NULL;
}

static void unfinished(const struct record *open)
{
    struct record r = *open;
    r.end = clock_ns();
    r.error = 1;
    take(&r);
}

static void at_exit(void)
{
    if (getpid() != writer.process)
        return;
    pthread_mutex_lock(&writer.lock);
    pass();
    open_visit(unfinished);
    json_pass();
    file_flush();
    if (to_statistics)
        statistics_print(stderr);
    writer.ended = true;
    pthread_mutex_unlock(&writer.lock);
}

static bool start_writer(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool fine = pthread_create(&thread, NULL, writer_main, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (fine) {
        pthread_setname_np(thread, "weir-trace");
        pthread_detach(thread);
    }
    return fine;
}

static const struct observe_hooks hooks = {.stream_made = stream_made,
                                           .named = named,
                                           .begun = begun,
                                           .ended = ended,
                                           .part_begun = part_begun,
                                           .part_ended = part_ended,
                                           .code_made = code_made,
                                           .memory_made = memory_made,
                                           .memory_freed = memory_freed,
                                           .pool_size = pool_size,
                                           .host_saw = host_saw,
                                           .call_ended = call_ended,
                                           .range = range};

bool timeline_begin(const char *path, bool statistics, const char *(*demangle)(const char *name),
                    struct diag *d)
{
    to_file = path != NULL;
    to_statistics = statistics;
    if (to_file && !file_open_trace(path)) {
        diag_set(d, 0, 0, "%s: %s", path, descriptor_error(errno));
        return false;
    }
    writer.process = getpid();
    pthread_atfork(NULL, NULL, file_forget);
    if (to_file)
        json_begin(demangle);
    statistics_begin(demangle);
    if (!start_writer() || !observe_add(&hooks)) {
        diag_set(d, 0, 0, "the system has no thread for it");
        return false;
    }
    atexit(at_exit);
    return true;
}
