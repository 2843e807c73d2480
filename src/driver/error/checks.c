/* checks: begins the checks that the environment asks for. */
#include "driver/error/checks.h"

#include <stdio.h>
#include <unistd.h>

#include "base/env.h"
#include "checks/checks.h"
#include "driver/driver.h"
#include "driver/error/error.h"
#include "driver/error/races.h"
#include "driver/error/site.h"
#include "driver/error/symbols.h"
#include "exec/found.h"
#include "memory/defined.h"
#include "memory/view.h"

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
    *out = (struct finding_place){.file = s.file,
                                  .function = s.function,
                                  .line = s.line,
                                  .kernel = s.kernel,
                                  .stub = s.stub,
                                  .inlined = s.inlined,
                                  .inlined_file = s.inlined_file,
                                  .inlined_line = s.inlined_line};
    return true;
}

void check_invalid_free(const void *address)
{
    struct strbuf text = {0}, members = {0};
    struct finding_site site;
    struct finding_place place;
    const char *call;
    if (!mem_checked() || !findings_opened())
        return;
    finding_site_here(&site);
    finding_resolve(&site, &place, &call, NULL);
    const char *name = observe_call_now().name;
    sb_printf(&text, "weir: invalid free: %s at ", name != NULL ? name : "a call");
    finding_put_place(&text, &place);
    sb_printf(&text, ": %p is ", address);
    mem_describe(address, &text);
    sb_printf(&text, "\n");
    sb_printf(&members, "\"what\": \"invalid free\", \"address\": \"%p\"", address);
    finding_put_json_place(&members, "at", &place);
    finding_put_json_call(&members, call);
    findings_tell("memory", text.items, members.items);
    sb_free(&text);
    sb_free(&members);
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
                                       .kernels = env_get(ENV_CHECK_KERNELS),
                                       .demangle = symbol_demangle,
                                       .host = check_host_place};
    return findings_open(&options, d);
}

/* What checked mode needs to know of the order of streams. */
static bool open_lives(struct diag *d)
{
    static const struct mem_ordered alive = {lives_alive, lives_too_early};
    if (!lives_open(d))
        return false;
    mem_set_ordered(&alive);
    return true;
}

static bool sync_on;

bool sync_checked(void) { return sync_on; }

/* What looks into kernels. */
static bool open_kernels(struct diag *d)
{
    static const struct kernel_names names = {check_kernel_place, symbol_demangle, mem_describe};
    sync_on = found_looked_for = env_check("sync");
    return (!sync_on && !env_check("init")) || kernels_open(&names, env_check("init"), d);
}

bool checks_opened(struct diag *d)
{
    return !findings_opened() || !env_check("init") || defined_on || defined_open(d);
}

/* What these say is not heard while nothing is checked. */
static void tell_unheard(void)
{
    static const enum env_variable of_checks[] = {
        ENV_REPORT,      ENV_ERROR_EXITCODE, ENV_SUPPRESS,     ENV_CHECK_LOG,
        ENV_CHECK_LIMIT, ENV_CHECK_KERNELS,  ENV_CHECK_PROCESS};
    for (size_t i = 0; i < WEIR_COUNT(of_checks); i++)
        if (env_get(of_checks[i]) != NULL && *env_get(of_checks[i]) != '\0')
            fprintf(stderr, "weir: %s means nothing without WEIR_CHECK\n",
                    env_entry(of_checks[i])->name);
}

static bool begin(struct diag *d)
{
    static const struct calls_names words = {error_words, message_of_call};
    const char *wanted = env_get(ENV_CHECK);
    if (wanted == NULL || *wanted == '\0')
        tell_unheard();
    if (wanted == NULL || *wanted == '\0' || env_lists(ENV_CHECK, "off"))
        return true;
    int64_t process;
    if (!env_words(ENV_CHECK, env_checks, d) ||
        !env_int(ENV_CHECK_PROCESS, 0, INT32_MAX, getpid(), &process, d))
        return false;
    if (process != getpid())
        return true;
    if (!open_findings(d))
        return false;
    if (env_check("memory") && finding_knows_python())
        call_mark_lines();
    return races_begin(d) && (!env_check("memory") || open_lives(d)) &&
           (!env_check("leaks") || leaks_open(driver_faulted, d)) &&
           (!env_check("calls") || calls_open(&words, d)) && open_kernels(d);
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
