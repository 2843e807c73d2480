/* observers: who observes this process, as the environment asks; and what layers above tell: their
 * calls. */
#include <stdio.h>

#include "base/env.h"
#include "driver/driver.h"
#include "driver/error/checks.h"
#include "driver/error/symbols.h"
#include "driver/observers.h"
#include "observe/observe.h"
#include "timeline/timeline.h"
#include "weir/fault.h"

static void begin_once(void)
{
    const char *path = env_get(ENV_TRACE);
    bool trace = path != NULL && *path != '\0', statistics = env_lists(ENV_STATS, "on");
    struct diag d = {0};
    if ((trace || statistics) &&
        !timeline_begin(trace ? path : NULL, statistics, symbol_demangle, &d))
        fprintf(stderr, "weir: %s: %s\n", env_entry(trace ? ENV_TRACE : ENV_STATS)->name, d.text);
    checks_begin(NULL); /* cuInit tells what is wrong with them */
}

void observers_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_once);
}

WEIR_API int weir_observing(void)
{
    observers_begin();
    return observed();
}

WEIR_API void weir_call_begins(const char *name, const void *caller)
{
    if (!observed())
        return;
    message_begin_call();
    observe_call_begins(name, caller);
}

WEIR_API void weir_error_seen(int code)
{
    if (observed())
        observe_error_seen(code);
}

WEIR_API void weir_call_ends(int error)
{
    if (observed())
        observe_call_ends(error);
}
