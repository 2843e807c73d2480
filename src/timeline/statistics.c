/* statistics: sums over the records of a process, as tables for people: where the time went. All
 * here belongs to the thread that takes records. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/short_name.h"
#include "timeline/internal.h"

enum table { TABLE_KERNELS, TABLE_TRANSFERS, TABLE_CALLS, TABLE_STREAMS, TABLE_WAITS, TABLES };
enum { BUCKETS = 1024, WAITS_SHOWN = 10 };

/* A line of a table. */
struct line {
    struct line *next;
    enum table table;
    const char *name; /* compared by address; a stream's is NULL */
    uint64_t a, b;    /* what else distinguishes lines */
    uint64_t count, ns, longest, bytes;
    uint64_t first, last; /* of streams: when its first work began and its last one ended */
};
static struct line *lines[BUCKETS];
static uint64_t begun;
static uint64_t errors; /* calls that did not succeed */
static const char *(*name_for_people)(const char *name);

static struct line *line_of(enum table table, const char *name, uint64_t a, uint64_t b)
{
    uint64_t hash = (uintptr_t)name / 16 + a * 31 + b * 1023 + (uint64_t)table * 7;
    struct line **bucket = &lines[hash % BUCKETS];
    for (struct line *l = *bucket; l != NULL; l = l->next)
        if (l->table == table && l->name == name && l->a == a && l->b == b)
            return l;
    struct line *l = xcalloc(1, sizeof *l);
    *l = (struct line){.next = *bucket, .table = table, .name = name, .a = a, .b = b};
    return *bucket = l;
}

static struct line *count(enum table table, const char *name, uint64_t a, uint64_t b,
                          const struct record *r)
{
    struct line *l = line_of(table, name, a, b);
    uint64_t ns = r->end > r->begin ? r->end - r->begin : 0;
    l->count++;
    l->ns += ns;
    l->longest = ns > l->longest ? ns : l->longest;
    return l;
}

static void count_work(const struct record *r)
{
    bool waits = r->kind == OBSERVE_WAIT || r->kind == OBSERVE_FOREIGN ||
                 r->kind == OBSERVE_WAIT_VALUE || r->kind == OBSERVE_RECORD;
    if (r->kind == OBSERVE_KERNEL)
        count(TABLE_KERNELS, r->name, 0, 0, r);
    if (r->kind == OBSERVE_COPY)
        count(TABLE_TRANSFERS, NULL, r->from, r->to, r)->bytes += r->bytes;
    if (r->kind == OBSERVE_SET)
        count(TABLE_TRANSFERS, r->name, 0, 0, r)->bytes += r->bytes;
    if (r->lane != 0 || waits) /* beneath other work, or none */
        return;
    struct line *l = count(TABLE_STREAMS, NULL, r->id.stream, r->device, r);
    l->first = l->first == 0 || r->begin < l->first ? r->begin : l->first;
    l->last = r->end > l->last ? r->end : l->last;
}

void statistics_record(const struct record *r)
{
    switch ((enum record_type)r->type) {
    case RECORD_WORK: count_work(r); break;
    case RECORD_CALL:
        count(TABLE_CALLS, r->name, 0, 0, r);
        errors += r->error != 0;
        break;
    case RECORD_WAIT:
        count(TABLE_WAITS, r->name, r->kind,
              r->event.number != 0 ? r->event.number : r->event.on.stream, r);
        break;
    default: break;
    }
}

void statistics_begin(const char *(*demangle)(const char *name))
{
    name_for_people = demangle;
    begun = clock_ns();
}

/* ---- printing ---- */

static int by_time(const void *a, const void *b)
{
    const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* The lines of a table, those that took longest first; to be freed. */
static struct line **sorted(enum table table, size_t *count_out, uint64_t *ns)
{
    struct {
        struct line **items;
        size_t count, cap;
    } v = {0};
    *ns = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct line *l = lines[i]; l != NULL; l = l->next)
            if (l->table == table) {
                vec_push(&v, l);
                *ns += l->ns;
            }
    if (v.count > 0)
        qsort(v.items, v.count, sizeof *v.items, by_time);
    *count_out = v.count;
    return v.items;
}

static const char *stream_words(uint64_t id, char text[64])
{
    if (id >> 63 != 0)
        snprintf(text, 64, "a stream of device code");
    else if ((uint32_t)id == 1)
        snprintf(text, 64, "default stream");
    else
        snprintf(text, 64, "stream %llu", (unsigned long long)id);
    return text;
}

static const char *side_words(uint64_t kind)
{
    switch (kind) {
    case OBSERVE_PAGEABLE: return "pageable";
    case OBSERVE_PINNED:
    case OBSERVE_REGISTERED: return "page-locked";
    case OBSERVE_MANAGED: return "managed";
    default: return "device";
    }
}

static void words_of(const struct line *l, char text[200])
{
    char stream[64];
    switch (l->table) {
    case TABLE_KERNELS: {
        char *name = short_name_of(name_for_people(l->name));
        snprintf(text, 200, "%s", name);
        free(name);
        break;
    }
    case TABLE_TRANSFERS:
        if (l->name != NULL)
            snprintf(text, 200, "%s", l->name);
        else
            snprintf(text, 200, "memcpy %s to %s", side_words(l->a), side_words(l->b));
        break;
    case TABLE_CALLS: snprintf(text, 200, "%s", l->name); break;
    case TABLE_STREAMS:
        snprintf(text, 200, "%s of device %llu", stream_words(l->a, stream),
                 (unsigned long long)l->b);
        break;
    default: {
        const char *call = l->name != NULL ? l->name : "the driver";
        if (l->a == OBSERVE_EVENT)
            snprintf(text, 200, "%s: event %llu", call, (unsigned long long)l->b);
        else if (l->a == OBSERVE_CONTEXT || l->b == 0)
            snprintf(text, 200, "%s: the device", call);
        else
            snprintf(text, 200, "%s: %s", call, stream_words(l->b, stream));
    }
    }
}

static double ms(uint64_t ns) { return (double)ns / 1e6; }
static double us(uint64_t ns) { return (double)ns / 1e3; }

static void print_line(FILE *f, const struct line *l, uint64_t all)
{
    char text[200];
    double share = all > 0 ? 100.0 * (double)l->ns / (double)all : 0;
    words_of(l, text);
    fprintf(f, "%10llu %12.3f ", (unsigned long long)l->count, ms(l->ns));
    switch (l->table) {
    case TABLE_STREAMS: {
        uint64_t span = l->last - l->first, idle = span > l->ns ? span - l->ns : 0;
        fprintf(f, "%12.3f %6.1f%%", ms(idle), span > 0 ? 100.0 * (double)idle / (double)span : 0);
        break;
    }
    case TABLE_TRANSFERS:
        fprintf(f, "%12.3f %7.2f", (double)l->bytes / 1048576,
                l->ns > 0 ? (double)l->bytes / (double)l->ns : 0);
        break;
    default: fprintf(f, "%12.3f %6.1f%%", us(l->longest), share); break;
    }
    fprintf(f, "  %s\n", text);
}

void statistics_print(FILE *f)
{
    static const struct {
        const char *title, *third, *fourth;
    } tables[TABLES] = {{"Kernels", "longest us", "share"},
                        {"Copies and sets", "MiB", "GB/s"},
                        {"Calls of the API", "longest us", "share"},
                        {"Streams", "idle ms", "idle"},
                        {"Waited for longest, by the host", "longest us", "share"}};
    fprintf(f, "weir: statistics of %s (%d) after %.3f s", program_invocation_short_name,
            (int)getpid(), (double)(clock_ns() - begun) / 1e9);
    if (errors > 0)
        fprintf(f, "; %llu calls did not return success", (unsigned long long)errors);
    fputc('\n', f);
    for (enum table t = 0; t < TABLES; t++) {
        size_t n;
        uint64_t all;
        struct line **of = sorted(t, &n, &all);
        if (n > 0)
            fprintf(f, "\n%s\n%10s %12s %12s %7s\n", tables[t].title, "count",
                    t == TABLE_STREAMS ? "busy ms" : "ms", tables[t].third, tables[t].fourth);
        for (size_t i = 0; i < n && (t != TABLE_WAITS || i < WAITS_SHOWN); i++)
            print_line(f, of[i], all);
        free(of);
    }
}
