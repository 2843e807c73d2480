/* site: the call that a thread is in, and its words; see site.h. */
#include "driver/error/site.h"

#include <pthread.h>
#include <string.h>

#include "driver/driver.h"
#include "driver/error/symbols.h"
#include "findings/findings.h"

WEIR_THREAD_FAST struct call_announced call_announced;

WEIR_API void weir_announce_call(enum weir_call call, const void *caller)
{
    call_announced.call = call;
    call_announced.caller = caller;
}

struct call_guard call_enter(enum weir_call call, const void *caller)
{
    if (mem_site_now().call != 0)
        return (struct call_guard){.outermost = false};
    call_take_announced(&call, &caller);
    struct mem_site site = {.at = call_place(caller), .call = call};
    mem_site_set(&site);
    return (struct call_guard){.outermost = true};
}

void call_leave(struct call_guard *g)
{
    if (g->outermost)
        mem_site_set(&(struct mem_site){0});
}

/* ---- lines of Python ---- */

/* No address of code has it. */
#define MARK ((uintptr_t)1 << 63)

/* A place in a library that Python calls, and where Python was. */
struct spot {
    struct spot *next;
    const void *at;
    const struct finding_place *python;
};

bool call_lines_marked;

void call_mark_lines(void) { call_lines_marked = true; }

/* One for each place and line, for as long as the process lives. */
const void *call_mark(const void *caller)
{
    static struct spot *spots;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const struct finding_place *python = finding_python_here();
    if (python == NULL || caller == NULL)
        return caller;
    pthread_mutex_lock(&lock);
    struct spot *s = spots;
    while (s != NULL && (s->at != caller || s->python != python))
        s = s->next;
    if (s == NULL) {
        s = xmalloc(sizeof *s);
        *s = (struct spot){spots, caller, python};
        spots = s;
    }
    pthread_mutex_unlock(&lock);
    return (const void *)((uintptr_t)s | MARK);
}

static const struct spot *spot_of(const struct mem_site *site)
{
    uintptr_t at = (uintptr_t)site->at;
    return (at & MARK) != 0 ? (const struct spot *)(at & ~MARK) : NULL;
}

/* What the call returns to. A line of native code says more than one of Python; libraries that
 * Python calls mostly have none. */
static bool find_symbol(const struct mem_site *site, const void **at, struct symbol *s)
{
    const struct spot *spot = spot_of(site);
    *at = spot != NULL ? spot->at : site->at;
    bool known = *at != NULL && symbol_find(*at, s);
    if (spot == NULL || (known && s->file != NULL))
        return known;
    *s = (struct symbol){.file = spot->python->file, .line = spot->python->line};
    return true;
}

/* ---- words ---- */

const char *call_name(uint32_t call)
{
    static const char *const names[] = {NULL,
#define NAME(name) #name,
                                        WEIR_CALLS(NAME)
#undef NAME
    };
    return call < WEIR_COUNT(names) ? names[call] : NULL;
}

void call_words(const struct mem_site *site, struct strbuf *out)
{
    struct symbol s;
    const void *at;
    const char *name = call_name(site->call);
    sb_printf(out, "%s", name != NULL ? name : "a call");
    if (find_symbol(site, &at, &s))
        symbol_words(&s, out);
    if (site->stream == 1)
        sb_printf(out, " on the default stream");
    else if (site->stream != 0)
        sb_printf(out, " on stream %llu", (unsigned long long)site->stream);
}

void call_describe(const struct mem_site *site, struct weir_site *out)
{
    struct symbol s = {0};
    const void *at;
    memset(out, 0, sizeof *out);
    if (site->call == 0)
        return;
    bool known = find_symbol(site, &at, &s);
    out->call = call_name(site->call);
    out->address = at;
    out->stream = site->stream;
    if (!known)
        return;
    out->file = s.file;
    out->line = s.line;
    out->function = s.function;
}
