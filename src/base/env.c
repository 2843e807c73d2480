/* env: the table of environment variables: see env.h. */
#include "base/env.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

static const struct env_entry entries[ENV_COUNT] = {
    [ENV_WORKERS] = {"WEIR_WORKERS", "the CPUs this process may use",
                     "Number of worker threads that run kernels (1 or more)."},
    [ENV_CACHE_DIR] = {"WEIR_CACHE_DIR", "$XDG_CACHE_HOME/weir, else ~/.cache/weir",
                       "Directory of compiled kernels. Empty or \"off\": keep none."},
    [ENV_DEVICES] = {"WEIR_DEVICES", "1", "Number of devices (1 to 16), all on this machine."},
    [ENV_MEMORY] = {"WEIR_DEVICE_MEMORY", "half of this machine's memory, shared by the devices",
                    "Size of each device's memory, in bytes or with K, M, G or T (\"8G\")."},
    [ENV_COMPUTE_CAPABILITY] = {"WEIR_COMPUTE_CAPABILITY", "9.0",
                                "The compute capability that devices say they have: 8.0, 8.6, 8.7, "
                                "8.9, 9.0, 10.0, 10.3, 12.0 or 12.1."},
    [ENV_CHECK] =
        {"WEIR_CHECK", "off",
         "Run-time checks to make, with commas between: \"memory\" (each access of kernels "
         "exactly, and device memory that the host touches); \"races\" (accesses "
         "that nothing orders), \"races=streams\" (the same without those within a grid); "
         "\"init\" (reads of what nothing has written); \"sync\" (barriers and warp operations "
         "that not all come to); \"leaks\" (what is "
         "alive at the end); \"calls\" (failing calls whose error nobody looks at, and calls "
         "that a GPU may refuse); \"all\"."},
    [ENV_REPORT] = {"WEIR_REPORT", "text on stderr alone",
                    "File that what checks find is written to, as JSON."},
    [ENV_ERROR_EXITCODE] = {"WEIR_ERROR_EXITCODE", "the program's own status",
                            "Exit status of a process in which a check has found something (0 to "
                            "255; 0: its own)."},
    [ENV_SUPPRESS] = {"WEIR_SUPPRESS", "nothing is left out",
                      "File of findings to leave out: lines CHECK:PATTERN (docs/checks.md)."},
    [ENV_CHECK_LOG] = {"WEIR_CHECK_LOG", "stderr",
                       "File that the text of what checks find is appended to."},
    [ENV_CHECK_LIMIT] = {"WEIR_CHECK_LIMIT", "all",
                         "How many findings are written as text (0: all)."},
    [ENV_CHECK_KERNELS] = {"WEIR_CHECK_KERNELS", "all",
                           "Kernels whose findings are told, with commas between: +=NAME, +~PART "
                           "(only these), -=NAME, -~PART (not these)."},
    [ENV_CHECK_PROCESS] = {"WEIR_CHECK_PROCESS", "every process",
                           "Number of the one process that is checked."},
    [ENV_KEYS] = {"WEIR_KEYS", "on",
                  "Whether the CPU's memory protection keys protect one device's memory from the "
                  "others, if it has "
                  "any; \"off\": as on a CPU without them."},
    [ENV_FAULTS] = {"WEIR_FAULTS", "on",
                    "Whether what a kernel's fault has to say is written to stderr; \"off\": not."},
    [ENV_JIT] = {"WEIR_JIT", "baseline code first where optimized code takes long",
                 "How kernels are compiled that are in no cache. \"optimizing\": by the optimizing "
                 "tier, before their first launch. \"both\": by the baseline tier first, however "
                 "small they are. \"baseline\": by the baseline tier only, and not cached; blocks "
                 "leave and enter such code wherever they could go on in optimized code."},
    [ENV_VECTORS] =
        {"WEIR_VECTORS", "the widest that this CPU has",
         "Bits of the widest vectors in compiled kernels: \"512\" (AVX-512, where the CPU "
         "has it) or \"256\" (as on a CPU without AVX-512). And how lanes read from places of "
         "their own: \"gathers\" or \"loads\", a load for each; else what is faster here."},
    [ENV_PERF] = {"WEIR_PERF", "off",
                  "Whether `perf report` is told of kernels, by /tmp/perf-PID.map; \"on\": their "
                  "names; \"lines\": with source lines."},
    [ENV_TRACE] = {"WEIR_TRACE", "no file is written",
                   "File that a process appends a timeline to, as it happens: streams, kernels, "
                   "copies, calls, waits (JSON for Perfetto and chrome://tracing)."},
    [ENV_STATS] =
        {"WEIR_STATS", "off",
         "Whether a process prints to stderr, when it ends, where its time went: by kernel, "
         "copy, call, stream and wait; \"on\": yes."},
    [ENV_SCHEDULE] =
        {"WEIR_SCHEDULE", "as fast as possible, on all workers",
         "The order of work that CUDA leaves open: a number, the seed of an order that "
         "is legal and unkind; \"fixed\": one order always (docs/schedules.md)."},
    [ENV_LIBRARIES] = {"WEIR_LIBRARIES", "off (weir run: on)",
                       "Whether a process tells on stderr, when it ends, which of its libraries "
                       "carry NVIDIA's own CUDA runtime, which cannot run on Weir, and why modules "
                       "were not loaded; \"on\": yes."},
    [ENV_NVRTC_12] = {"WEIR_NVRTC_12", "looked for on this machine",
                      "NVIDIA's libnvrtc.so.12, which compiles for Weir's (docs/python.md): an "
                      "absolute path."},
    [ENV_NVRTC_13] = {"WEIR_NVRTC_13", "looked for on this machine",
                      "NVIDIA's libnvrtc.so.13, which compiles for Weir's (docs/python.md): an "
                      "absolute path."},
    [ENV_DEBUGGER] =
        {"WEIR_DEBUGGER", "kernels that are loaded while a debugger is at the process",
         "Whether all kernels are shown to debuggers (docs/debugging.md), to those that "
         "come later, too; \"on\": yes."},
    [ENV_POOLS_FILE] = {"WEIR_POOLS_FILE", "no file is written",
                        "File that a process writes the statistics of its memory pools to when "
                        "it ends (weir info --pools FILE)."},
    [ENV_POOLS_TRACE] = {"WEIR_POOLS_TRACE", "no file is written",
                         "File that a process writes to, as it happens, what memory pools do: "
                         "allocations and how they came to their memory, frees, chunks "
                         "(JSON for chrome://tracing and Perfetto)."},
    [ENV_CCCL] =
        {"WEIR_CCCL", "looked for on this machine",
         "Directory in which weircc finds Thrust, CUB and libcu++ (docs/weircc.md); \"off\": "
         "none."},
    [ENV_DRIVER] = {"WEIR_DRIVER", "the libcuda.so.1 that is found first",
                    "Driver that the runtime uses: \"cpu\", Weir's; \"gpu\", that of a GPU; "
                    "\"auto\", that of a GPU if it has a device, else Weir's; or the path of a "
                    "library."},
    [ENV_POOLS] = {"WEIR_POOLS", "driver on the CPU, own on a GPU",
                   "Who serves stream-ordered memory (cudaMallocAsync): \"own\", the runtime's "
                   "pools, over any driver; \"driver\", the driver's (docs/gpu.md)."},
    [ENV_VISIBLE_DEVICES] = {"CUDA_VISIBLE_DEVICES", "every device",
                             "Devices that programs see, by number, in this order."},
};

const char *const env_checks[] = {"memory", "races", "races=streams", "init", "sync",
                                  "leaks",  "calls", "all",           "off",  NULL};

bool env_check(const char *word)
{
    return env_lists(ENV_CHECK, word) || env_lists(ENV_CHECK, "all");
}

const struct env_entry *env_entry(enum env_variable v) { return &entries[v]; }

const char *env_get(enum env_variable v) { return secure_getenv(entries[v].name); }

bool env_int(enum env_variable v, int64_t min, int64_t max, int64_t fallback, int64_t *out,
             struct diag *d)
{
    const char *text = env_get(v);
    if (text == NULL || *text == '\0') {
        *out = fallback;
        return true;
    }
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max)
        return diag_set(d, 0, 0, "%s=%s: must be a whole number from %lld to %lld", entries[v].name,
                        text, (long long)min, (long long)max);
    *out = value;
    return true;
}

/* The power of two that a size's suffix stands for, -1 when it is none. */
static int suffix_shift(const char *s)
{
    static const char letters[] = "KMGT";
    int shift = 0;
    if (*s != '\0' && strchr("kmgt", *s) != NULL)
        shift = 10 * (int)(strchr("kmgt", *s++) - "kmgt" + 1);
    else if (*s != '\0' && strchr(letters, *s) != NULL)
        shift = 10 * (int)(strchr(letters, *s++) - letters + 1);
    if (shift > 0 && s[0] == 'i' && s[1] == 'B')
        s += 2;
    else if (*s == 'B')
        s++;
    return *s == '\0' ? shift : -1;
}

bool env_bytes(enum env_variable v, uint64_t fallback, uint64_t *out, struct diag *d)
{
    const char *text = env_get(v);
    if (text == NULL || *text == '\0') {
        *out = fallback;
        return true;
    }
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    int shift = end == text ? -1 : suffix_shift(end);
    if (errno != 0 || text[0] < '0' || text[0] > '9' || shift < 0 ||
        (shift > 0 && value >> (64 - shift) != 0))
        return diag_set(d, 0, 0, "%s=%s: must be a size such as 1073741824, 512M or 8G",
                        entries[v].name, text);
    *out = value << shift;
    return true;
}

/* The next word of a list, and how long it is; NULL at its end. Moves *at past it. */
static const char *next_word(const char **at, size_t *length)
{
    const char *word = *at;
    if (word == NULL || *word == '\0')
        return NULL;
    *length = strcspn(word, ",");
    *at = word + *length + (word[*length] == ',');
    return word;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

bool env_lists(enum env_variable v, const char *word)
{
    const char *at = env_get(v), *found;
    size_t length;
    while ((found = next_word(&at, &length)) != NULL)
        if (is_word(found, length, word))
            return true;
    return false;
}

/* The message: what the words are. */
static bool refuse_words(enum env_variable v, const char *const *words, struct diag *d)
{
    struct strbuf list = {0};
    for (size_t i = 0; words[i] != NULL; i++)
        sb_printf(&list, "%s\"%s\"", i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ", words[i]);
    diag_set(d, 0, 0, "%s=%s: must be %s", entries[v].name, env_get(v), list.items);
    sb_free(&list);
    return false;
}

bool env_words(enum env_variable v, const char *const *words, struct diag *d)
{
    const char *at = env_get(v), *found;
    size_t length;
    while ((found = next_word(&at, &length)) != NULL) {
        size_t i = 0;
        while (words[i] != NULL && !is_word(found, length, words[i]))
            i++;
        if (words[i] == NULL)
            return refuse_words(v, words, d);
    }
    return true;
}

bool env_word(enum env_variable v, const char *const *words, struct diag *d)
{
    const char *at = env_get(v);
    size_t length;
    bool several = next_word(&at, &length) != NULL && next_word(&at, &length) != NULL;
    return several ? refuse_words(v, words, d) : env_words(v, words, d);
}

/* ---- names that are in no table ---- */

enum { NAME_MAX_LENGTH = 64 }; /* of a name that is compared and shown */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* How many letters must be added, left out or replaced to turn one name into the other. */
static size_t distance(const char *a, size_t a_length, const char *b)
{
    size_t row[NAME_MAX_LENGTH + 1];
    size_t b_length = least(strlen(b), NAME_MAX_LENGTH);
    for (size_t k = 0; k <= b_length; k++)
        row[k] = k;
    for (size_t i = 0; i < a_length; i++) {
        size_t diagonal = row[0]++;
        for (size_t k = 0; k < b_length; k++) {
            size_t replaced = diagonal + (toupper((unsigned char)a[i]) != b[k]);
            diagonal = row[k + 1];
            row[k + 1] = least(replaced, least(diagonal, row[k]) + 1);
        }
    }
    return row[b_length];
}

/* The name of the table that is meant, NULL when none is near. */
static const char *nearest(const char *name, size_t length)
{
    const char *found = NULL;
    size_t nearest_by = length / 3;
    for (int v = 0; v < ENV_COUNT; v++) {
        size_t by = distance(name, length, entries[v].name);
        if (by < nearest_by) {
            nearest_by = by;
            found = entries[v].name;
        }
    }
    return found;
}

static bool is_known(const char *name, size_t length)
{
    for (int v = 0; v < ENV_COUNT; v++)
        if (is_word(name, length, entries[v].name))
            return true;
    return strncmp(name, ENV_TEST_PREFIX, strlen(ENV_TEST_PREFIX)) == 0;
}

void env_unknown(void (*tell)(void *self, const char *line), void *self)
{
    if (getauxval(AT_SECURE) != 0 || environ == NULL)
        return;
    for (char **e = environ; *e != NULL; e++) {
        size_t length = strcspn(*e, "=");
        if (strncasecmp(*e, "WEIR_", 5) != 0 || is_known(*e, length))
            continue;
        char name[NAME_MAX_LENGTH + 1];
        length = least(length, NAME_MAX_LENGTH);
        for (size_t i = 0; i < length; i++)
            name[i] = isprint((unsigned char)(*e)[i]) ? (*e)[i] : '?';
        name[length] = '\0';
        const char *meant = nearest(name, length);
        char *line = meant != NULL ? xprintf("%s is no setting: is %s meant?", name, meant)
                                   : xprintf("%s is no setting (weir info lists them)", name);
        tell(self, line);
        free(line);
    }
}
