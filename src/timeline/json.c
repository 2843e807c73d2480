/* json: records as text of the trace event format. All here belongs to the thread that takes
 * records. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timeline/text.h"

enum {
    STREAM_BUCKETS = 256,
    RECORDING_BUCKETS = 1 << 14,
    FUNCTION_BUCKETS = 1024,
    TRACK_LANES = 1 << 16
};

static const uint64_t DEVICE_PIDS = 10000000; /* device 0's, added to the process's own */

static const char *(*name_for_people)(const char *name);
static uint64_t process, flows;

static void put(const struct event *e) { file_event(e->text, e->used); }

/* ---- tracks ---- */

struct track {
    uint64_t pid, tid;
};

/* Where it is. Events of one track often follow each other. */
static void where(struct event *e, struct track t)
{
    static struct track last;
    static struct event said;
    if (said.used == 0 || last.pid != t.pid || last.tid != t.tid) {
        said.used = 0;
        last = t;
        LIT(&said, ",\"pid\":");
        number(&said, t.pid);
        LIT(&said, ",\"tid\":");
        number(&said, t.tid);
    }
    lit(e, said.text, said.used);
}

/* A stream, the tracks beneath it that have names, and the last work that was seen of it. */
struct stream {
    struct stream *next;
    uint64_t id, number; /* of its tracks */
    int device;
    uint32_t lanes; /* tracks with names, its own included */
    char name[64];
    uint64_t last_count, last_begin;
};
static struct stream *streams[STREAM_BUCKETS];
static uint64_t stream_numbers;
static uint32_t devices_named; /* a bit for each */

struct thread {
    struct thread *next;
    uint32_t id;
};
static struct thread *threads; /* the one that was asked for last comes first */

static void put_meta(const char *what, uint64_t pid, uint64_t tid, const char *name)
{
    struct event e;
    e.used = 0;
    add(&e, "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%llu,\"tid\":%llu,\"args\":{\"name\":\"", what,
        (unsigned long long)pid, (unsigned long long)tid);
    add_text(&e, name);
    add(&e, "\"}}");
    put(&e);
}

static void put_order(const char *what, uint64_t pid, uint64_t tid, uint64_t index)
{
    struct event e;
    e.used = 0;
    add(&e,
        "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%llu,\"tid\":%llu,\"args\":{\"sort_index\":%llu}}",
        what, (unsigned long long)pid, (unsigned long long)tid, (unsigned long long)index);
    put(&e);
}

static uint64_t pid_of_device(int device) { return process + DEVICE_PIDS * ((uint64_t)device + 1); }

static void name_device(int device)
{
    char name[300];
    if (device < 0 || device >= 32 || (devices_named >> device & 1) != 0)
        return;
    devices_named |= 1u << device;
    snprintf(name, sizeof name, "%s (%llu): device %d", program_invocation_short_name,
             (unsigned long long)process, device);
    put_meta("process_name", pid_of_device(device), 0, name);
    put_order("process_sort_index", pid_of_device(device), 0, process * 100 + 1 + (uint64_t)device);
}

static struct stream *stream_find(uint64_t id, int device)
{
    struct stream **bucket = &streams[id % STREAM_BUCKETS];
    for (struct stream *s = *bucket; s != NULL; s = s->next)
        if (s->id == id)
            return s;
    struct stream *s = xcalloc(1, sizeof *s);
    s->id = id;
    s->number = ++stream_numbers;
    s->device = device;
    if (id >> 63 != 0)
        snprintf(s->name, sizeof s->name, "graph of a kernel");
    else if ((uint32_t)id == 1)
        snprintf(s->name, sizeof s->name, "default stream");
    else
        snprintf(s->name, sizeof s->name, "stream %llu", (unsigned long long)id);
    s->next = *bucket;
    return *bucket = s;
}

/* The default stream, those of the program in the order in which it made them, the rest. */
static uint64_t order_of_stream(const struct stream *s, uint32_t lane)
{
    enum { LAST = 1 << 14 }; /* an index has 31 bits */
    uint64_t number = s->id >> 63 == 0 && (uint32_t)s->id < LAST ? (uint32_t)s->id : LAST;
    return number * TRACK_LANES + lane;
}

static struct track track_of_stream(struct stream *s, uint32_t lane)
{
    name_device(s->device);
    uint64_t pid = pid_of_device(s->device);
    for (; s->lanes <= lane; s->lanes++) {
        char name[100];
        uint64_t tid = s->number * TRACK_LANES + s->lanes;
        snprintf(name, sizeof name, s->lanes == 0 ? "%s" : "%s, in it %u", s->name, s->lanes);
        put_meta("thread_name", pid, tid, name);
        put_order("thread_sort_index", pid, tid, order_of_stream(s, s->lanes));
    }
    return (struct track){pid, s->number * TRACK_LANES + lane};
}

/* Gives its tracks their names again. */
static void stream_rename(struct stream *s)
{
    uint32_t lanes = s->lanes;
    s->lanes = 0;
    track_of_stream(s, lanes > 0 ? lanes - 1 : 0);
}

static void name_thread(uint32_t id, const char *name)
{
    char path[64], comm[64] = "", text[160];
    snprintf(path, sizeof path, "/proc/self/task/%u/comm", id);
    FILE *f = name == NULL ? fopen(path, "re") : NULL;
    if (f != NULL) {
        if (fgets(comm, sizeof comm, f) != NULL)
            comm[strcspn(comm, "\n")] = '\0';
        fclose(f);
    }
    if (name != NULL)
        snprintf(text, sizeof text, "%s", name);
    else
        snprintf(text, sizeof text, "%s %u",
                 id == process                                      ? "main thread"
                 : strcmp(comm, program_invocation_short_name) == 0 ? "thread"
                                                                    : comm,
                 id);
    put_meta("thread_name", process, id, text);
    put_order("thread_sort_index", process, id,
              strncmp(comm, "weir-", 5) == 0 ? 10000000 + id : id);
}

static struct track track_of_thread(uint32_t id)
{
    struct thread **at = &threads, *t;
    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    t = *at;
    bool known = t != NULL;
    if (!known) {
        t = xmalloc(sizeof *t);
        t->id = id;
    } else {
        *at = t->next;
    }
    t->next = threads;
    threads = t;
    if (!known)
        name_thread(id, NULL);
    return (struct track){process, id};
}

/* ---- arrows ---- */

/* Where recordings were: arrows begin there. */
struct recording {
    struct recording *next;
    struct observe_id id;
    struct track track;
    uint64_t begin;
};
static struct recording *recordings[RECORDING_BUCKETS];

/* Arrows of this pass: what they begin at may come later in it. */
static struct {
    struct arrow {
        struct observe_id from;
        struct track to;
        uint64_t at;
    } *items;
    size_t count, cap;
} arrows;

static struct recording **recording_bucket(const struct observe_id *id)
{
    return &recordings[((id->stream + id->node) * 0x9e3779b97f4a7c15u + id->count) %
                       RECORDING_BUCKETS];
}

static void recording_add(const struct observe_id *id, struct track t, uint64_t begin)
{
    struct recording *r = xmalloc(sizeof *r), **bucket = recording_bucket(id);
    *r = (struct recording){*bucket, *id, t, begin};
    *bucket = r;
}

static void put_flow(char phase, uint64_t id, struct track t, uint64_t at)
{
    struct event e;
    e.used = 0;
    LIT(&e, "{\"name\":\"waited for\",\"cat\":\"order\",\"ph\":\"");
    lit(&e, &phase, 1);
    if (phase == 'f')
        LIT(&e, "\",\"bp\":\"e");
    LIT(&e, "\",\"id\":");
    number(&e, id);
    LIT(&e, ",\"ts\":");
    micros(&e, at);
    where(&e, t);
    LIT(&e, "}");
    put(&e);
}

static void arrow_put(const struct arrow *a)
{
    struct recording *r = *recording_bucket(&a->from);
    while (r != NULL && (r->id.stream != a->from.stream || r->id.count != a->from.count))
        r = r->next;
    struct track from = {0};
    uint64_t begin = 0;
    if (r != NULL) {
        from = r->track;
        begin = r->begin;
    } else { /* the last work of a stream that the host waits for */
        struct stream *s = streams[a->from.stream % STREAM_BUCKETS];
        while (s != NULL && s->id != a->from.stream)
            s = s->next;
        if (s == NULL || s->last_count != a->from.count)
            return;
        from = track_of_stream(s, 0);
        begin = s->last_begin;
    }
    uint64_t id = process << 32 | ++flows;
    put_flow('s', id, from, begin);
    put_flow('f', id, a->to, a->at);
}

void json_pass(void)
{
    for (size_t i = 0; i < arrows.count; i++)
        arrow_put(&arrows.items[i]);
    arrows.count = 0;
}

/* To a slice of that track which ends then. */
static void arrow_add(const struct observe_id *from, struct track to, const struct record *r)
{
    struct arrow a = {*from, to, r->end > r->begin + 1 ? r->end - 1 : r->begin};
    if (from->count != 0)
        vec_push(&arrows, a);
}

/* ---- slices ---- */

/* Names of a kernel, ready to be put in: as a person says it, and in full. */
struct function {
    struct function *next;
    const char *name; /* there is one of each text */
    char *brief, *full;
    size_t brief_bytes;
    /* What the latest launch says of itself, which the next one mostly says again. */
    struct record_kernel launch;
    char *said;
    size_t said_bytes;
};
static struct function *functions[FUNCTION_BUCKETS];

/* As far as its parameters: "void f<int>(int*)" is f<int>. */
static void add_brief(struct event *e, const char *text)
{
    const char *begin = text, *end = text + strlen(text);
    int angles = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '<')
            angles++;
        else if (*c == '>')
            angles--;
        else if (strncmp(c, "(anonymous namespace)", 21) == 0)
            c += 20;
        else if (*c == ' ' && angles == 0)
            begin = c + 1;
        else if (*c == '(' && angles == 0) {
            end = c;
            break;
        }
    }
    char part[NAME_MAX_BYTES];
    snprintf(part, sizeof part, "%.*s", (int)(end > begin ? end - begin : 0), begin);
    add_text(e, part);
}

static struct function *function_find(const char *name)
{
    struct function **bucket = &functions[(uintptr_t)name / 16 % FUNCTION_BUCKETS];
    for (struct function *f = *bucket; f != NULL; f = f->next)
        if (f->name == name)
            return f;
    struct function *f = xmalloc(sizeof *f);
    const char *text = name_for_people(name);
    struct event brief, full;
    brief.used = full.used = 0;
    add_brief(&brief, text);
    add_text(&full, text);
    *f = (struct function){.next = *bucket,
                           .name = name,
                           .brief = xstrdup(brief.text),
                           .full = xstrdup(full.text),
                           .brief_bytes = brief.used};
    return *bucket = f;
}

static void add_function(struct event *e, const char *name)
{
    const struct function *f = function_find(name);
    lit(e, f->brief, f->brief_bytes);
}

static const char *side_name(unsigned kind)
{
    switch (kind) {
    case OBSERVE_PAGEABLE:
    case OBSERVE_PINNED:
    case OBSERVE_REGISTERED: return "host";
    case OBSERVE_MANAGED: return "managed";
    default: return "device";
    }
}

static const char *memory_name(unsigned kind)
{
    static const char *const names[] = {
        [OBSERVE_PAGEABLE] = "pageable",     [OBSERVE_DEVICE_MEMORY] = "device",
        [OBSERVE_MANAGED] = "managed",       [OBSERVE_PINNED] = "page-locked",
        [OBSERVE_REGISTERED] = "registered", [OBSERVE_POOL] = "pool",
        [OBSERVE_MAPPED] = "mapped",         [OBSERVE_OTHER_MEMORY] = "other"};
    return kind < WEIR_COUNT(names) ? names[kind] : "other";
}

static void add_work_name(struct event *e, const struct record *r)
{
    switch (r->kind) {
    case OBSERVE_KERNEL: add_function(e, r->name); break;
    case OBSERVE_COPY:
        LIT(e, "memcpy");
        if (r->type == RECORD_WORK) {
            LIT(e, " ");
            add_made(e, side_name(r->from));
            LIT(e, " to ");
            add_made(e, side_name(r->to));
        }
        break;
    case OBSERVE_RECORD:
    case OBSERVE_WAIT:
    case OBSERVE_FOREIGN:
        add_made(e, r->kind == OBSERVE_RECORD ? "record" : "wait");
        if (r->type == RECORD_WORK && r->event.number != 0) {
            LIT(e, " event ");
            number(e, r->event.number);
        }
        break;
    default: add_text(e, r->name); break;
    }
}

static void begin_slice(struct event *e)
{
    e->used = 0;
    LIT(e, "{\"name\":\"");
}

static void end_name(struct event *e, const char *category, const struct record *r, struct track t)
{
    uint64_t ns = r->end > r->begin ? r->end - r->begin : 0;
    LIT(e, "\",\"cat\":\"");
    add_made(e, category);
    LIT(e, "\",\"ph\":\"X\",\"ts\":");
    micros(e, r->begin);
    LIT(e, ",\"dur\":");
    micros(e, ns);
    where(e, t);
    LIT(e, ",\"args\":{");
}

static void end_slice(struct event *e)
{
    if (e->text[e->used - 1] == ',')
        e->used--;
    LIT(e, "}}");
    put(e);
}

static void add_rate(struct event *e, const struct record *r)
{
    uint64_t ns = r->end > r->begin ? r->end - r->begin : 0;
    LIT(e, "\"bytes\":");
    number(e, r->bytes);
    LIT(e, ",");
    if (ns > 0) {
        LIT(e, "\"GB/s\":");
        micros(e, r->bytes < UINT64_MAX / 2000 ? (r->bytes * 1000 + ns / 2) / ns
                                               : r->bytes / ns * 1000);
        LIT(e, ",");
    }
}

static void shape(struct event *e, const uint32_t n[3])
{
    number(e, n[0]);
    LIT(e, "x");
    number(e, n[1]);
    LIT(e, "x");
    number(e, n[2]);
}

/* What a launch says of itself. */
static void say_launch(struct event *e, const struct function *f, const struct record_kernel *k)
{
    LIT(e, "\"grid\":\"");
    shape(e, k->grid);
    LIT(e, "\",\"block\":\"");
    shape(e, k->block);
    LIT(e, "\",\"registers\":");
    number(e, k->registers);
    LIT(e, ",\"shared bytes\":");
    number(e, k->shared);
    LIT(e, ",\"parameter bytes\":");
    number(e, k->params);
    LIT(e, ",\"compile us\":");
    number(e, k->code_us);
    LIT(e, ",\"function\":\"");
    add_made(e, f->full);
    LIT(e, "\",");
}

static void add_launch(struct event *e, const struct record *r)
{
    struct function *f = function_find(r->name);
    if (f->said == NULL || memcmp(&f->launch, &r->kernel, sizeof f->launch) != 0) {
        struct event said;
        said.used = 0;
        say_launch(&said, f, &r->kernel);
        f->said = xrealloc(f->said, said.used);
        f->said_bytes = said.used;
        memcpy(f->said, said.text, said.used);
        f->launch = r->kernel;
    }
    lit(e, f->said, f->said_bytes);
}

static void add_arguments(struct event *e, const struct record *r)
{
    switch (r->kind) {
    case OBSERVE_KERNEL: add_launch(e, r); break;
    case OBSERVE_COPY:
        add_rate(e, r);
        LIT(e, "\"from\":\"");
        add_made(e, memory_name(r->from));
        LIT(e, "\",\"to\":\"");
        add_made(e, memory_name(r->to));
        LIT(e, "\",");
        break;
    case OBSERVE_SET: add_rate(e, r); break;
    default: break;
    }
    if (r->id.node != 0) {
        LIT(e, "\"node\":");
        number(e, r->id.node - 1);
        LIT(e, ",");
    }
    LIT(e, "\"number\":");
    number(e, r->id.count);
    LIT(e, ",");
    if (r->error != 0)
        add(e, "\"unfinished\":true,");
}

static void put_work(const struct record *r)
{
    static const char *const categories[OBSERVE_KINDS] = {
        [OBSERVE_KERNEL] = "kernel",     [OBSERVE_COPY] = "memcpy",     [OBSERVE_SET] = "memset",
        [OBSERVE_HOST] = "host",         [OBSERVE_INTERNAL] = "driver", [OBSERVE_GRAPH] = "graph",
        [OBSERVE_RECORD] = "event",      [OBSERVE_WAIT] = "wait",       [OBSERVE_FOREIGN] = "wait",
        [OBSERVE_WRITE_VALUE] = "value", [OBSERVE_WAIT_VALUE] = "wait", [OBSERVE_EMPTY] = "node",
        [OBSERVE_BRANCH] = "node"};
    struct event e;
    struct stream *s = stream_find(r->id.stream, r->device);
    struct track t = track_of_stream(s, r->lane);
    begin_slice(&e);
    add_work_name(&e, r);
    end_name(&e, categories[r->kind], r, t);
    add_arguments(&e, r);
    end_slice(&e);
    if (r->lane == 0 && r->id.count > s->last_count) {
        s->last_count = r->id.count;
        s->last_begin = r->begin;
    }
    if (r->kind == OBSERVE_RECORD)
        recording_add(r->id.node != 0 ? &r->event.on : &r->id, t, r->begin);
    if (r->kind == OBSERVE_WAIT)
        arrow_add(&r->event.on, t, r);
}

static void put_part(const struct record *r)
{
    struct event e;
    begin_slice(&e);
    add_work_name(&e, r);
    end_name(&e, "part", r, track_of_thread(r->thread));
    LIT(&e, "\"number\":");
    number(&e, r->id.count);
    end_slice(&e);
}

static void put_call(const struct record *r)
{
    struct event e;
    size_t n = strlen(r->name); /* without what the per-thread default stream's twins end with */
    if (n > 5 &&
        (memcmp(r->name + n - 5, "_ptsz", 5) == 0 || memcmp(r->name + n - 5, "_ptds", 5) == 0))
        n -= 5;
    begin_slice(&e);
    lit(&e, r->name, n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES);
    end_name(&e, "call", r, track_of_thread(r->thread));
    if (r->error != 0)
        add(&e, "\"returns\":%u", r->error);
    end_slice(&e);
}

static void put_wait(const struct record *r)
{
    static const char *const names[] = {[OBSERVE_STREAM] = "wait for stream",
                                        [OBSERVE_EVENT] = "wait for event",
                                        [OBSERVE_CONTEXT] = "wait for device",
                                        [OBSERVE_TRANSFER] = "wait for transfer",
                                        [OBSERVE_FOREIGN_EVENT] = "wait for event"};
    struct event e;
    struct track t = track_of_thread(r->thread);
    begin_slice(&e);
    add_made(&e, r->kind < WEIR_COUNT(names) && names[r->kind] != NULL ? names[r->kind] : "wait");
    if (r->event.number != 0) {
        LIT(&e, " ");
        number(&e, r->event.number);
    }
    end_name(&e, "wait", r, t);
    end_slice(&e);
    arrow_add(&r->event.on, t, r);
}

static void put_code(const struct record *r)
{
    struct event e;
    begin_slice(&e);
    add(&e, "compile ");
    add_function(&e, r->name);
    end_name(&e, "compile", r, track_of_thread(r->thread));
    add(&e, "\"block\":\"%ux%ux%u\"", r->kernel.block[0], r->kernel.block[1], r->kernel.block[2]);
    end_slice(&e);
}

static void put_range(const struct record *r)
{
    struct event e;
    begin_slice(&e);
    add_text(&e, r->name != NULL ? r->name : "range");
    end_name(&e, "nvtx", r, track_of_thread(r->thread));
    if (r->range.domain != NULL) {
        add(&e, "\"domain\":\"");
        add_text(&e, r->range.domain);
        add(&e, "\"");
    }
    end_slice(&e);
}

/* Marks, and the ends of ranges that threads share. */
static void put_moment(const struct record *r)
{
    struct event e;
    struct track t = track_of_thread(r->thread);
    bool mark = r->type == RECORD_MARK;
    begin_slice(&e);
    add_text(&e, r->name != NULL ? r->name : mark ? "mark" : "range");
    LIT(&e, "\",\"cat\":\"nvtx\",\"ph\":\"");
    add_made(&e, mark ? "i\",\"s\":\"t\"" : r->kind == OBSERVE_START ? "b\"" : "e\"");
    if (!mark) {
        LIT(&e, ",\"id\":");
        number(&e, r->range.number);
    }
    LIT(&e, ",\"ts\":");
    micros(&e, r->begin);
    where(&e, t);
    LIT(&e, "}");
    put(&e);
}

/* ---- the rest ---- */

static void put_stream(const struct record *r)
{
    struct stream *s = stream_find(r->id.stream, r->device);
    s->device = r->device;
    if (r->kind != OBSERVE_PER_THREAD)
        return;
    snprintf(s->name, sizeof s->name, "default stream of thread %u", r->thread);
    if (s->lanes > 0) /* its tracks have names already: work in it was taken first */
        stream_rename(s);
}

static void put_name(const struct record *r)
{
    if (r->kind == OBSERVE_NAMED_THREAD) {
        track_of_thread((uint32_t)r->id.stream);
        name_thread((uint32_t)r->id.stream, r->name);
    } else if (r->kind == OBSERVE_NAMED_STREAM) {
        struct stream *s = stream_find(r->id.stream, r->device);
        snprintf(s->name, sizeof s->name, "%s", r->name);
        stream_rename(s);
    }
}

static void put_counter(const struct record *r)
{
    struct event e;
    begin_slice(&e);
    if (r->type == RECORD_POOL)
        LIT(&e, "pool ");
    else
        LIT(&e, "memory of device ");
    number(&e, r->type == RECORD_POOL ? r->memory.number : r->device);
    if (r->type == RECORD_MEMORY)
        name_device(r->device);
    LIT(&e, "\",\"ph\":\"C\",\"ts\":");
    micros(&e, r->begin);
    LIT(&e, ",\"pid\":");
    number(&e, r->type == RECORD_POOL ? process : pid_of_device(r->device));
    LIT(&e, ",\"args\":{\"used\":");
    number(&e, r->memory.used);
    if (r->type == RECORD_POOL) {
        LIT(&e, ",\"reserved\":");
        number(&e, r->memory.held);
    }
    LIT(&e, "}}");
    put(&e);
}

void json_record(const struct record *r)
{
    switch ((enum record_type)r->type) {
    case RECORD_WORK: put_work(r); break;
    case RECORD_PART: put_part(r); break;
    case RECORD_CALL: put_call(r); break;
    case RECORD_WAIT: put_wait(r); break;
    case RECORD_CODE: put_code(r); break;
    case RECORD_RANGE: put_range(r); break;
    case RECORD_SPAN:
    case RECORD_MARK: put_moment(r); break;
    case RECORD_STREAM: put_stream(r); break;
    case RECORD_NAME: put_name(r); break;
    case RECORD_MEMORY:
    case RECORD_POOL: put_counter(r); break;
    }
}

void json_begin(const char *(*demangle)(const char *name))
{
    char name[300];
    name_for_people = demangle;
    process = (uint64_t)getpid();
    snprintf(name, sizeof name, "%s (%llu)", program_invocation_short_name,
             (unsigned long long)process);
    put_meta("process_name", process, 0, name);
    put_order("process_sort_index", process, 0, process * 100);
}
