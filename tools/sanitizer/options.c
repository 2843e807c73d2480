/* options: reads the command line as the documentation of NVIDIA's program describes it. What has
 * no meaning here is refused by name, but for what only changes how a GPU is driven. */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"

enum meaning {
    TOOL,
    ERROR_EXITCODE,
    LEAK_CHECK,
    LOG_FILE,
    TARGET_PROCESSES,
    KERNEL_NAME,
    KERNEL_NAME_EXCLUDE,
    PRINT_LIMIT,
    PREFIX,
    REPORT_API_ERRORS,
    QUIET,
    HELP,
    VERSION,
    IGNORED, /* with a value, and nothing to do here */
    IGNORED_WORD
};

static const struct option {
    const char *name, *shorter; /* without dashes */
    enum meaning meaning;
} known[] = {
    {"tool", NULL, TOOL},
    {"error-exitcode", NULL, ERROR_EXITCODE},
    {"leak-check", NULL, LEAK_CHECK},
    {"log-file", NULL, LOG_FILE},
    {"target-processes", NULL, TARGET_PROCESSES},
    {"kernel-name", NULL, KERNEL_NAME},
    {"kernel-regex", NULL, KERNEL_NAME},
    {"kernel-name-exclude", NULL, KERNEL_NAME_EXCLUDE},
    {"kernel-regex-exclude", NULL, KERNEL_NAME_EXCLUDE},
    {"print-limit", NULL, PRINT_LIMIT},
    {"prefix", NULL, PREFIX},
    {"report-api-errors", NULL, REPORT_API_ERRORS},
    {"quiet", "q", QUIET},
    {"help", "h", HELP},
    {"version", "V", VERSION},
    {"check-device-heap", NULL, IGNORED}, /* memory of the heap is checked always */
    {"destroy-on-device-error", NULL, IGNORED},
    {"force-blocking-launches", NULL, IGNORED},
    {"generate-coredump", NULL, IGNORED_WORD},
    {"demangle", NULL, IGNORED}, /* names are whole */
    {"print-level", NULL, IGNORED},
    {"show-backtrace", NULL, IGNORED}, /* calls are named by file and line */
    {"racecheck-report", NULL, IGNORED},
    {"require-cuda-init", NULL, IGNORED},
    {"check-exit-code", NULL, IGNORED},
    {"mode", NULL, IGNORED},
    {"language", NULL, IGNORED},
    {"injection-path", NULL, IGNORED},
    {"num-callers-device", NULL, IGNORED},
    {"num-callers-host", NULL, IGNORED},
};

static bool has_check(const char *word)
{
    for (int i = 0; env_checks[i] != NULL; i++)
        if (strcmp(env_checks[i], word) == 0)
            return true;
    return false;
}

static bool set_tool(struct sanitizer_options *o, const char *value, struct diag *d)
{
    static const struct {
        const char *tool, *check;
    } tools[] = {{"memcheck", "memory"},
                 {"racecheck", "races"},
                 {"initcheck", "init"},
                 {"synccheck", "sync"}};
    for (size_t i = 0; i < WEIR_COUNT(tools); i++)
        if (strcmp(value, tools[i].tool) == 0) {
            o->check = tools[i].check;
            return has_check(o->check) ||
                   diag_set(d, 0, 0, "--tool %s: this build of Weir has no such check", value);
        }
    return diag_set(d, 0, 0,
                    "--tool %s: the tools are memcheck, racecheck, initcheck and synccheck", value);
}

static bool set_number(long *out, long max, const char *name, const char *value, struct diag *d)
{
    char *end;
    errno = 0;
    *out = strtol(value, &end, 10);
    if (errno != 0 || end == value || *end != '\0' || *out < 0 || *out > max)
        return diag_set(d, 0, 0, "--%s %s: must be a whole number from 0 to %ld", name, value, max);
    return true;
}

/* One of two words. */
static bool set_word(bool *out, const char *name, const char *value, const char *yes,
                     const char *no, struct diag *d)
{
    *out = strcmp(value, yes) == 0;
    return *out || strcmp(value, no) == 0 ||
           diag_set(d, 0, 0, "--%s %s: must be %s or %s", name, value, yes, no);
}

/* kernel_name=NAME or kne=NAME, kernel_substring=TEXT or kns=TEXT; several with commas between. */
static bool add_kernels(struct strbuf *out, char sign, const char *name, const char *value,
                        struct diag *d)
{
    static const struct {
        const char *key;
        char how;
    } keys[] = {{"kernel_name=", '='}, {"kne=", '='}, {"kernel_substring=", '~'}, {"kns=", '~'}};
    for (const char *at = value; *at != '\0';) {
        size_t length = strcspn(at, ",");
        bool found = false;
        for (size_t i = 0; i < WEIR_COUNT(keys) && !found; i++) {
            size_t key = strlen(keys[i].key);
            if (length <= key || strncmp(at, keys[i].key, key) != 0)
                continue;
            sb_printf(out, "%s%c%c%.*s", out->count > 0 ? "," : "", sign, keys[i].how,
                      (int)(length - key), at + key);
            found = true;
        }
        if (!found)
            return diag_set(d, 0, 0,
                            "--%s %s: a filter is kernel_name=NAME (kne=) or kernel_substring=TEXT "
                            "(kns=); regular expressions are not supported",
                            name, value);
        at += length + (at[length] == ',');
    }
    return true;
}

static bool take(struct sanitizer_options *o, const struct option *k, const char *value,
                 struct diag *d)
{
    long number;
    switch (k->meaning) {
    case TOOL: return set_tool(o, value, d);
    case ERROR_EXITCODE:
        if (!set_number(&number, 255, k->name, value, d))
            return false;
        o->error_exitcode = (int)number;
        return true;
    case LEAK_CHECK: return set_word(&o->leaks, k->name, value, "full", "no", d);
    case LOG_FILE: o->log = value; return true;
    case TARGET_PROCESSES:
        return set_word(&o->only_first, k->name, value, "application-only", "all", d);
    case KERNEL_NAME: return add_kernels(&o->kernels, '+', k->name, value, d);
    case KERNEL_NAME_EXCLUDE: return add_kernels(&o->kernels, '-', k->name, value, d);
    case PRINT_LIMIT: return set_number(&o->limit, 1000000000, k->name, value, d);
    case PREFIX: o->prefix = value; return true;
    case REPORT_API_ERRORS:
        o->api_errors = strcmp(value, "no") != 0;
        return !o->api_errors || strcmp(value, "all") == 0 || strcmp(value, "explicit") == 0 ||
               diag_set(d, 0, 0, "--%s %s: must be all, explicit or no", k->name, value);
    case QUIET: o->quiet = true; return true;
    case HELP: o->help = true; return true;
    case VERSION: o->version = true; return true;
    default: return true;
    }
}

static bool has_value(enum meaning m)
{
    return m != QUIET && m != HELP && m != VERSION && m != IGNORED_WORD;
}

static const struct option *find(const char *text, size_t length, bool whole)
{
    for (size_t i = 0; i < WEIR_COUNT(known); i++) {
        const char *name = whole ? known[i].name : known[i].shorter;
        if (name != NULL && strlen(name) == length && strncmp(name, text, length) == 0)
            return &known[i];
    }
    return NULL;
}

bool sanitizer_read(int argc, char **argv, struct sanitizer_options *o, struct diag *d)
{
    *o = (struct sanitizer_options){.check = "memory", .limit = 100, .prefix = "========="};
    for (o->first = 1; o->first < argc && argv[o->first][0] == '-'; o->first++) {
        const char *word = argv[o->first];
        if (strcmp(word, "--") == 0) {
            o->first++;
            break;
        }
        bool whole = word[1] == '-';
        const char *name = word + 1 + whole, *equals = strchr(name, '=');
        size_t length = equals != NULL ? (size_t)(equals - name) : strlen(name);
        const struct option *k = find(name, length, whole);
        if (k == NULL)
            return diag_set(d, 0, 0, "option %.*s is not known, or not supported",
                            (int)(length + 1 + whole), word);
        const char *value = equals != NULL ? equals + 1 : NULL;
        if (has_value(k->meaning) && value == NULL) {
            if (o->first + 1 == argc)
                return diag_set(d, 0, 0, "--%s needs a value", k->name);
            value = argv[++o->first];
        }
        if (!take(o, k, value, d))
            return false;
    }
    return true;
}
