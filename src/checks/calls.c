/* calls: calls that failed while nobody looked, and calls that work here and that a GPU may refuse.
 *
 * A failing call was looked at when the code that it returned to reads what it returned
 * (returned.c), when cudaGetLastError or cudaPeekAtLastError told of it, or when the program asked
 * for the name or the sentence of its code. What nobody looked at is told when the process ends,
 * once for each place. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/short_name.h"
#include "checks/checks.h"
#include "observe/observe.h"

struct failure {
    pthread_t thread;
    int code;
    bool runtime, launch;
    const char *name;
    char *message;
    uint64_t times;
    struct finding_site site;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct failure *items;
    size_t count, cap;
} failures; /* that nobody has looked at */

static struct {
    struct finding_site *items;
    size_t count, cap;
} tolerated; /* where such calls stand */

static struct calls_names calls_names;
static int fault_seen; /* the sticky code that the program has looked at; 0: none */

enum { NOT_READY = 600 };

/* Faults, which every call returns from then on. */
static bool is_sticky(int code) { return code >= 700 && code < 720 && code != 708 && code != 713; }

static bool same_site(const struct finding_site *a, const struct finding_site *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Those of the calling thread of that code are looked at. The lock is held. */
static void looked_at(int code, size_t from)
{
    size_t kept = from;
    for (size_t i = from; i < failures.count; i++) {
        struct failure *f = &failures.items[i];
        if (pthread_equal(f->thread, pthread_self()) && f->code == code)
            free(f->message);
        else
            failures.items[kept++] = *f;
    }
    failures.count = kept;
    if (is_sticky(code))
        fault_seen = code;
}

static int frames_of(const struct finding_site *site)
{
    int count = 0;
    while (count < FINDING_FRAMES && site->frames[count] != NULL)
        count++;
    return count;
}

/* Of a kernel; not of a graph or a host function. */
static bool is_launch(const char *call)
{
    return strstr(call, "Launch") != NULL && strstr(call, "Graph") == NULL &&
           strstr(call, "Host") == NULL;
}

static void keep(const struct observe_call *c, const struct finding_site *site)
{
    for (size_t i = 0; i < failures.count; i++) {
        struct failure *f = &failures.items[i];
        if (f->code == c->error && pthread_equal(f->thread, pthread_self()) &&
            same_site(&f->site, site)) {
            f->times++;
            return;
        }
    }
    const char *message = calls_names.message();
    vec_push(&failures, (struct failure){.thread = pthread_self(),
                                         .code = c->error,
                                         .runtime = observe_is_runtime(c->name),
                                         .launch = is_launch(c->name),
                                         .name = c->name,
                                         .message = message != NULL ? xstrdup(message) : NULL,
                                         .times = 1,
                                         .site = *site});
}

static void on_call_ended(const struct observe_call *c)
{
    struct finding_site site;
    if (c->error == 0 || c->error == NOT_READY)
        return;
    finding_site_here(&site);
    finding_site_from(&site, c->site);
    pthread_mutex_lock(&lock);
    if (returned_is_read(site.frames, frames_of(&site))) {
        if (is_sticky(c->error))
            looked_at(c->error, 0);
    } else if (c->error != fault_seen) { /* what says a known fault again is no news */
        keep(c, &site);
    }
    pthread_mutex_unlock(&lock);
}

/* A reset ends a fault; a later one is another. */
static void on_context_cleared(uint64_t context)
{
    (void)context;
    pthread_mutex_lock(&lock);
    fault_seen = 0;
    pthread_mutex_unlock(&lock);
}

static void on_error_seen(int code)
{
    if (code == 0)
        return;
    pthread_mutex_lock(&lock);
    size_t last = failures.count;
    while (last > 0 && (!pthread_equal(failures.items[last - 1].thread, pthread_self()) ||
                        failures.items[last - 1].code != code))
        last--;
    if (is_sticky(code))
        looked_at(code, 0);
    else if (last > 0)
        looked_at(code, last - 1);
    pthread_mutex_unlock(&lock);
}

/* ---- telling ---- */

static void put_error(struct strbuf *text, const struct failure *f)
{
    const char *name = "unknown", *words = "";
    calls_names.error(f->code, f->runtime, &name, &words);
    sb_printf(text, " failed with %d (%s: %s)", f->code, name, words);
    if (f->times > 1)
        sb_printf(text, ", %llu times", (unsigned long long)f->times);
    sb_printf(text, ", and nothing looked at the error\n");
    if (f->message != NULL)
        sb_printf(text, "  %s\n", f->message);
}

/* What failed, and where: the same words, the same failure. The caller frees them. */
static char *subject(const struct failure *f, struct finding_place *place)
{
    struct strbuf text = {0}, kernel = {0};
    finding_resolve_from(&f->site, place, &kernel);
    if (f->launch && kernel.count > 0) {
        sb_printf(&text, "kernel ");
        short_name(&text, kernel.items);
        sb_printf(&text, " never ran: its launch");
    } else {
        sb_printf(&text, "%s", f->launch ? "a kernel never ran: its launch" : f->name);
    }
    sb_printf(&text, " at ");
    finding_put_place(&text, place);
    sb_free(&kernel);
    return text.items;
}

static void tell(const struct failure *f, const char *what, const struct finding_place *place)
{
    struct strbuf text = {0}, members = {0};
    sb_printf(&text, "weir: unchecked error: %s", what);
    put_error(&text, f);
    sb_printf(&members,
              "\"what\": \"unchecked error\", \"code\": %d, \"function\": \"%s\", "
              "\"times\": %llu",
              f->code, f->name, (unsigned long long)f->times);
    finding_put_json_place(&members, "at", place);
    findings_tell("calls", text.items, members.items);
    sb_free(&text);
    sb_free(&members);
}

static void on_tolerated(const char *what)
{
    struct finding_site site;
    struct finding_place place;
    const char *call;
    finding_site_here(&site);
    pthread_mutex_lock(&lock);
    bool known = false;
    for (size_t i = 0; i < tolerated.count && !known; i++)
        known = same_site(&tolerated.items[i], &site);
    if (!known)
        vec_push(&tolerated, site);
    pthread_mutex_unlock(&lock);
    if (known)
        return;
    struct strbuf text = {0}, members = {0};
    finding_resolve(&site, &place, &call, NULL);
    sb_printf(&text, "weir: not portable: at ");
    finding_put_place(&text, &place);
    finding_put_call(&text, call);
    sb_printf(&text, ": %s\n", what);
    sb_printf(&members, "\"what\": \"not portable\"");
    finding_put_json_place(&members, "at", &place);
    finding_put_json_call(&members, call);
    findings_tell("calls", text.items, members.items);
    sb_free(&text);
    sb_free(&members);
}

static void calls_end(void)
{
    char **what = xcalloc(failures.count + 1, sizeof *what);
    struct finding_place *places = xcalloc(failures.count + 1, sizeof *places);
    for (size_t i = 0; i < failures.count;
         i++) { /* one line may be several calls: an unrolled loop */
        struct failure *f = &failures.items[i];
        what[i] = subject(f, &places[i]);
        for (size_t k = 0; k < i; k++)
            if (failures.items[k].code == f->code && strcmp(what[k], what[i]) == 0) {
                failures.items[k].times += f->times;
                f->times = 0;
                break;
            }
    }
    for (size_t i = 0; i < failures.count; i++) {
        if (failures.items[i].times > 0)
            tell(&failures.items[i], what[i], &places[i]);
        free(what[i]);
    }
    free(what);
    free(places);
}

static const struct observe_hooks hooks = {
    .call_ended = on_call_ended,
    .error_seen = on_error_seen,
    .context_cleared = on_context_cleared,
    .tolerated = on_tolerated,
};

bool calls_open(const struct calls_names *names, struct diag *d)
{
    calls_names = *names;
    findings_at_end(calls_end);
    return observe_add(&hooks) || diag_set(d, 0, 0, "the check of calls cannot begin");
}
