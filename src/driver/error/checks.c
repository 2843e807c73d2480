/* checks: begins the checks that the environment asks for. */
#include "driver/error/checks.h"

#include "base/env.h"
#include "checks/checks.h"
#include "driver/driver.h"
#include "driver/error/error.h"
#include "driver/error/races.h"
#include "driver/error/symbols.h"

bool check_kernel_place(const void *kernel, const void *pc, struct finding_place *out)
{
    const struct grid_kernel *k = kernel;
    const char *file;
    int line;
    if (k->user == NULL || !variant_find_line(k->user, (const char *)pc - 1, &file, &line))
        return false;
    *out = (struct finding_place){.file = symbol_demangle(file), .line = line};
    return true;
}

bool check_host_place(const void *pc, struct finding_place *out)
{
    struct symbol s = {0};
    if (!symbol_find(pc, &s))
        return false;
    *out = (struct finding_place){.file = s.file, .function = s.function, .line = s.line};
    return true;
}

static bool open_findings(struct diag *d)
{
    int64_t exit_code, limit;
    if (!env_int(ENV_ERROR_EXITCODE, 0, 255, 0, &exit_code, d) ||
        !env_int(ENV_CHECK_LIMIT, 0, INT64_MAX, 0, &limit, d))
        return false;
    struct findings_options options = {.report = env_get(ENV_REPORT),
                                       .log = env_get(ENV_CHECK_LOG),
                                       .suppress = env_get(ENV_SUPPRESS),
                                       .limit = limit,
                                       .exit_code = (int)exit_code,
                                       .host = check_host_place};
    return findings_open(&options, d);
}

static bool begin(struct diag *d)
{
    static const struct calls_names words = {error_words, message_of_call};
    const char *wanted = env_get(ENV_CHECK);
    if (wanted == NULL || *wanted == '\0' || env_lists(ENV_CHECK, "off"))
        return true;
    if (!env_words(ENV_CHECK, env_checks, d))
        return false;
    return open_findings(d) && races_begin(d) && (!env_check("leaks") || leaks_open(d)) &&
           (!env_check("calls") || calls_open(&words, d));
}

static struct {
    bool ok;
    struct diag d;
} begun;

static void begin_once(void) { begun.ok = begin(&begun.d); }

bool checks_begin(struct diag *d)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin_once);
    return begun.ok || diag_set(d, 0, 0, "%s", begun.d.text);
}
