/* site: the call that a thread is in, and its words; see site.h. */
#include "driver/error/site.h"

#include <string.h>

#include "driver/driver.h"
#include "driver/error/symbols.h"

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
    struct mem_site site = {.at = caller, .call = call};
    mem_site_set(&site);
    return (struct call_guard){.outermost = true};
}

void call_leave(struct call_guard *g)
{
    if (g->outermost)
        mem_site_set(&(struct mem_site){0});
}

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
    const char *name = call_name(site->call);
    sb_printf(out, "%s", name != NULL ? name : "a call");
    if (site->at != NULL && symbol_find(site->at, &s))
        symbol_words(&s, out);
    if (site->stream == 1)
        sb_printf(out, " on the default stream");
    else if (site->stream != 0)
        sb_printf(out, " on stream %llu", (unsigned long long)site->stream);
}

void call_describe(const struct mem_site *site, struct weir_site *out)
{
    struct symbol s = {0};
    memset(out, 0, sizeof *out);
    if (site->call == 0)
        return;
    out->call = call_name(site->call);
    out->address = site->at;
    out->stream = site->stream;
    if (site->at == NULL || !symbol_find(site->at, &s))
        return;
    out->file = s.file;
    out->line = s.line;
    out->function = s.function;
}
