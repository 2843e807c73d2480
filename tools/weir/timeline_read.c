/* timeline_read: reads a trace that weir run --trace has written: an event on each line. Not a
 * reader of JSON in general: it knows how these lines are written. */
#include "timeline_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUSH(items, count, cap, ...)                                                               \
    do {                                                                                           \
        if ((count) == (cap))                                                                      \
            (items) = vec_grow((items), &(cap), sizeof *(items));                                  \
        (items)[(count)++] = (__VA_ARGS__);                                                        \
    } while (0)

/* Where the value of a key of the event begins, or NULL. Keys of arguments come after all others.
 */
static const char *value_of(const char *line, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    return at != NULL ? at + strlen(quoted) : NULL;
}

/* The text of a string that begins there, without its escapes; "" if there is none. */
static char *text_at(const char *at)
{
    char *text = xmalloc(at != NULL ? strlen(at) + 1 : 1), *to = text;
    if (at != NULL && *at == '"')
        for (at++; *at != '\0' && *at != '"'; at++) {
            if (*at == '\\' && at[1] == 'u') {
                *to++ = ' ';
                at += strlen(at) > 5 ? 5 : 0;
            } else if (*at == '\\' && at[1] != '\0') {
                *to++ = *++at;
            } else {
                *to++ = *at;
            }
        }
    *to = '\0';
    return text;
}

static double double_of(const char *line, const char *key)
{
    const char *at = value_of(line, key);
    return at != NULL ? strtod(at, NULL) : 0;
}

static uint64_t number_of(const char *line, const char *key)
{
    const char *at = value_of(line, key);
    return at != NULL ? strtoull(at, NULL, 10) : 0;
}

struct track *trace_track(const struct trace *t, uint64_t pid, uint64_t tid)
{
    for (size_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].pid == pid && t->tracks[i].tid == tid)
            return &t->tracks[i];
    return NULL;
}

static struct track *track_of(struct trace *t, uint64_t pid, uint64_t tid)
{
    static size_t last; /* mostly the same again */
    if (last < t->track_count && t->tracks[last].pid == pid && t->tracks[last].tid == tid)
        return &t->tracks[last];
    struct track *found = trace_track(t, pid, tid);
    if (found == NULL) {
        PUSH(t->tracks, t->track_count, t->track_cap,
             (struct track){.pid = pid, .tid = tid, .order = tid, .name = xstrdup("")});
        found = &t->tracks[t->track_count - 1];
    }
    last = (size_t)(found - t->tracks);
    return found;
}

static struct process *process_of(struct trace *t, uint64_t pid)
{
    for (size_t i = 0; i < t->process_count; i++)
        if (t->processes[i].pid == pid)
            return &t->processes[i];
    PUSH(t->processes, t->process_count, t->process_cap,
         (struct process){.pid = pid, .name = xstrdup("")});
    return &t->processes[t->process_count - 1];
}

static void replace(char **text, char *by)
{
    free(*text);
    *text = by;
}

/* Names and orders of processes and tracks. */
static void read_meta(struct trace *t, const char *line, const char *name)
{
    uint64_t pid = number_of(line, "pid"), tid = number_of(line, "tid");
    const char *arguments = value_of(line, "args");
    if (arguments == NULL || pid == 0)
        return;
    if (strcmp(name, "process_name") == 0) {
        struct process *p = process_of(t, pid);
        replace(&p->name, text_at(value_of(arguments, "name")));
        p->device = strstr(p->name, ": device ") != NULL;
    } else if (strcmp(name, "process_sort_index") == 0) {
        process_of(t, pid)->order = number_of(arguments, "sort_index");
    } else if (strcmp(name, "thread_name") == 0) {
        replace(&track_of(t, pid, tid)->name, text_at(value_of(arguments, "name")));
    } else if (strcmp(name, "thread_sort_index") == 0) {
        track_of(t, pid, tid)->order = number_of(arguments, "sort_index");
    }
}

static void read_slice(struct trace *t, const char *line, char *name)
{
    struct slice s = {name, text_at(value_of(line, "cat")), double_of(line, "ts"),
                      double_of(line, "dur")};
    struct track *track = track_of(t, number_of(line, "pid"), number_of(line, "tid"));
    PUSH(track->slices, track->count, track->cap, s);
    t->first = t->first == 0 || s.at < t->first ? s.at : t->first;
    t->last = s.at + s.us > t->last ? s.at + s.us : t->last;
    bool work = strcmp(s.category, "kernel") == 0 || strncmp(s.category, "mem", 3) == 0;
    if (work && (t->first_work == 0 || s.at < t->first_work))
        t->first_work = s.at;
    if (work && s.at + s.us > t->last_work)
        t->last_work = s.at + s.us;
}

static void read_flow(struct trace *t, const char *line, bool begins)
{
    uint64_t id = number_of(line, "id"), pid = number_of(line, "pid"), tid = number_of(line, "tid");
    double at = double_of(line, "ts");
    if (begins) {
        struct arrow a = {.id = id, .from_pid = pid, .from_tid = tid, .begin = at};
        PUSH(t->arrows, t->arrow_count, t->arrow_cap, a);
    } else if (t->arrow_count > 0 && t->arrows[t->arrow_count - 1].id == id) { /* as written */
        struct arrow *a = &t->arrows[t->arrow_count - 1];
        a->to_pid = pid;
        a->to_tid = tid;
        a->end = at;
    }
}

static void read_line(struct trace *t, const char *line)
{
    const char *phase = value_of(line, "ph");
    if (phase == NULL || *phase != '"')
        return;
    char *name = text_at(value_of(line, "name"));
    switch (phase[1]) {
    case 'M': read_meta(t, line, name); break;
    case 'X': read_slice(t, line, name); return; /* which keeps the name */
    case 's': read_flow(t, line, true); break;
    case 'f': read_flow(t, line, false); break;
    default: break;
    }
    free(name);
}

static int by_begin(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->us > y->us ? -1 : x->us < y->us ? 1 : 0;
}

static int by_track(const void *a, const void *b)
{
    const struct track *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_process(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_all(struct trace *t)
{
    for (size_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].count > 0)
            qsort(t->tracks[i].slices, t->tracks[i].count, sizeof *t->tracks[i].slices, by_begin);
    if (t->track_count > 0)
        qsort(t->tracks, t->track_count, sizeof *t->tracks, by_track);
    if (t->process_count > 0)
        qsort(t->processes, t->process_count, sizeof *t->processes, by_process);
}

bool trace_read(const char *path, struct trace *out, struct diag *d)
{
    *out = (struct trace){0};
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t space = 0;
    bool ours = false;
    if (f == NULL)
        return diag_set(d, 0, 0, "%s", strerror(errno));
    for (int n = 0; getline(&line, &space, f) > 0; n++) {
        ours = ours || (n == 1 && strncmp(line, "{\"name\":\"weir\"", 14) == 0);
        if (n > 0 && !ours)
            break;
        read_line(out, line);
    }
    bool fine = ferror(f) == 0;
    int reason = errno;
    free(line);
    fclose(f);
    if (!fine)
        return diag_set(d, 0, 0, "%s", strerror(reason));
    if (!ours)
        return diag_set(d, 0, 0, "not a trace of weir run --trace");
    if (out->last <= out->first)
        return diag_set(d, 0, 0, "the trace has no events");
    sort_all(out);
    return true;
}

void trace_free(struct trace *t)
{
    for (size_t i = 0; i < t->track_count; i++) {
        for (size_t n = 0; n < t->tracks[i].count; n++) {
            free(t->tracks[i].slices[n].name);
            free(t->tracks[i].slices[n].category);
        }
        free(t->tracks[i].slices);
        free(t->tracks[i].name);
    }
    for (size_t i = 0; i < t->process_count; i++)
        free(t->processes[i].name);
    free(t->tracks);
    free(t->processes);
    free(t->arrows);
}
