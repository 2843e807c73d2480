/* site: the call that a thread is in, and who knows its words; see site.h. */
#include "memory/site.h"

static _Thread_local struct mem_site now;
static mem_site_words_fn words;

struct mem_site mem_site_now(void) { return now; }

void mem_site_set(const struct mem_site *site) { now = *site; }

void mem_site_set_words(mem_site_words_fn fn) { words = fn; }

bool mem_site_words(const struct mem_site *site, struct strbuf *out)
{
    if (words == NULL || site->call == 0)
        return false;
    words(site, out);
    return true;
}
