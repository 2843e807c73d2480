/* options: what ptxas is asked for. Options about the code of a GPU are known and change nothing.
 */
#include "ptxcompiler/options.h"
#include "container/container.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum value { NONE, NEEDED };
enum meaning {
    IGNORED,
    OUTPUT,
    GPU,
    REGISTERS,
    VERBOSE,
    COMPILE_ONLY,
    HELP,
    VERSION,
    LIST,
    AS_STRING,
};

/* Names without dashes: the long one is given as --name, the short one as -name; either with its
 * value after '=' or as the next word. */
static const struct option {
    const char *name, *shorter;
    enum value value;
    enum meaning meaning;
} known[] = {
    {"output-file", "o", NEEDED, OUTPUT},
    {"gpu-name", "arch", NEEDED, GPU},
    {"verbose", "v", NONE, VERBOSE},
    {"compile-only", "c", NONE, COMPILE_ONLY},
    {"help", "h", NONE, HELP},
    {"version", "V", NONE, VERSION},
    {"list-arch", "arch-ls", NONE, LIST},
    {"input-as-string", "ias", NEEDED, AS_STRING},
    {"abi-compile", "abi", NEEDED, IGNORED},
    {"allow-expensive-optimizations", "allow-expensive-optimizations", NEEDED, IGNORED},
    {"apply-controls", "apply-controls", NEEDED, IGNORED},
    {"astoolspatch", "astoolspatch", NONE, IGNORED},
    {"compiler-annotations", "annotate", NONE, IGNORED},
    {"compiler-stats", "cstats", NEEDED, IGNORED},
    {"compile-as-tools-patch", "astoolspatch", NONE, IGNORED},
    {"def-load-cache", "dlcm", NEEDED, IGNORED},
    {"def-store-cache", "dscm", NEEDED, IGNORED},
    {"device-debug", "g", NONE, IGNORED},
    {"device-function-maxrregcount", "func-maxrregcount", NEEDED, IGNORED},
    {"device-stack-protector", "device-stack-protector", NEEDED, IGNORED},
    {"disable-optimizer-constants", "disable-optimizer-consts", NONE, IGNORED},
    {"disable-warnings", "w", NONE, IGNORED},
    {"dont-merge-basicblocks", "no-bb-merge", NONE, IGNORED},
    {"entry", "e", NEEDED, IGNORED},
    {"extensible-whole-program", "ewp", NONE, IGNORED},
    {"fast-compile", "Ofc", NEEDED, IGNORED},
    {"fmad", "fmad", NEEDED, IGNORED},
    {"force-load-cache", "flcm", NEEDED, IGNORED},
    {"force-store-cache", "fscm", NEEDED, IGNORED},
    {"generate-line-info", "lineinfo", NONE, IGNORED},
    {"g-tensor-memory-access-check", "g-tmem-access-check", NONE, IGNORED},
    {"gno-tensor-memory-access-check", "gno-tmem-access-check", NONE, IGNORED},
    {"jump-table-density", "jtd", NEEDED, IGNORED},
    {"keep", "keep", NONE, IGNORED},
    {"legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", NONE, IGNORED},
    {"machine", "m", NEEDED, IGNORED},
    {"make-errors-visible-at-exit", "make-errors-visible-at-exit", NONE, IGNORED},
    {"maxntid", "maxntid", NEEDED, IGNORED},
    {"maxrregcount", "maxrregcount", NEEDED, REGISTERS},
    {"minnctapersm", "minnctapersm", NEEDED, IGNORED},
    {"no-fastreg", "no-fastreg", NONE, IGNORED},
    {"nv-host", "nv-host", NEEDED, IGNORED},
    {"opt-level", "O", NEEDED, IGNORED},
    {"optimize-float-atomics", "opt-fp-atomics", NONE, IGNORED},
    {"optimize-for-size", "opt-size", NONE, IGNORED},
    {"position-independent-code", "pic", NONE, IGNORED},
    {"preserve-relocs", "preserve-relocs", NONE, IGNORED},
    {"query-controls", "query-controls", NEEDED, IGNORED},
    {"regAllocOptLevel", "regAllocOptLevel", NEEDED, IGNORED},
    {"register-usage-level", "reg-usage", NEEDED, IGNORED},
    {"return-at-end", "ret-end", NONE, IGNORED},
    {"sp-bounds-check", "sp-bounds-check", NONE, IGNORED},
    {"split-compile", "split-compile", NEEDED, IGNORED},
    {"suppress-async-bulk-multicast-advisory-warning",
     "suppress-async-bulk-multicast-advisory-warning", NONE, IGNORED},
    {"suppress-debug-info", "suppress-debug-info", NONE, IGNORED},
    {"suppress-double-demote-warning", "suppress-double-demote-warning", NONE, IGNORED},
    {"suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", NONE, IGNORED},
    {"suppress-stack-size-warning", "suppress-stack-size-warning", NONE, IGNORED},
    {"tool-name", "tool-name", NEEDED, IGNORED},
    {"uumn", "uumn", NONE, IGNORED},
    {"warn-on-double-precision-use", "warn-double-usage", NONE, IGNORED},
    {"warn-on-local-memory-usage", "warn-lmem-usage", NONE, IGNORED},
    {"warn-on-spills", "warn-spills", NONE, IGNORED},
    {"warning-as-error", "Werror", NONE, IGNORED},
};

unsigned options_sm(const char *name)
{
    size_t prefix = strncmp(name, "sm_", 3) == 0 ? 3 : strncmp(name, "compute_", 8) == 0 ? 8 : 0;
    char *end;
    if (prefix == 0 || !isdigit((unsigned char)name[prefix]))
        return 0;
    unsigned long sm = strtoul(name + prefix, &end, 10);
    bool fine = *end == '\0' || ((*end == 'a' || *end == 'f') && end[1] == '\0');
    return fine && sm <= 999 ? (unsigned)sm : 0;
}

static const struct option *find(const char *word, size_t length)
{
    for (size_t n = 0; n < WEIR_COUNT(known); n++)
        if ((strlen(known[n].name) == length && strncmp(known[n].name, word, length) == 0) ||
            (strlen(known[n].shorter) == length && strncmp(known[n].shorter, word, length) == 0))
            return &known[n];
    return NULL;
}

static bool apply(struct options *o, const struct option *option, const char *value, struct diag *d)
{
    switch (option->meaning) {
    case OUTPUT: o->output = value; break;
    case GPU:
        o->gpu = value;
        o->sm = options_sm(value);
        if (o->sm == 0)
            return diag_set(d, 0, 0, "Value '%s' is not defined for option 'gpu-name'", value);
        break;
    case REGISTERS: {
        char *end;
        o->most_registers = (uint32_t)strtoul(value, &end, 10);
        if (end == value || *end != '\0')
            return diag_set(d, 0, 0, "Value '%s' is not a number for option 'maxrregcount'", value);
        break;
    }
    case VERBOSE: o->verbose = true; break;
    case COMPILE_ONLY: o->relocatable = true; break;
    case HELP: o->help = true; break;
    case VERSION: o->version = true; break;
    case LIST: o->list = true; break;
    case AS_STRING: o->text = value; break;
    case IGNORED: break;
    }
    return true;
}

/* The option at argv[*n], and its value, which may be the next word. */
static bool read_option(struct options *o, int argc, char **argv, int *n, struct diag *d)
{
    const char *word = argv[*n] + (argv[*n][1] == '-' ? 2 : 1);
    const char *equals = strchr(word, '='), *value = equals != NULL ? equals + 1 : NULL;
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const struct option *option = find(word, length);
    if (option == NULL && word[0] == 'O' && isdigit((unsigned char)word[1]))
        return true; /* -O3 */
    if (option == NULL)
        return diag_set(d, 0, 0, "Unknown option '%s'", argv[*n]);
    if (option->value == NEEDED && value == NULL) {
        if (*n + 1 == argc)
            return diag_set(d, 0, 0, "Option '%s' needs a value", argv[*n]);
        value = argv[++*n];
    }
    return apply(o, option, value, d);
}

bool options_read(struct options *out, int argc, char **argv, struct diag *d)
{
    *out = (struct options){0};
    for (int n = 1; n < argc; n++) {
        if (argv[n][0] == '-' && argv[n][1] != '\0') {
            if (!read_option(out, argc, argv, &n, d))
                return false;
        } else if (out->input != NULL) {
            return diag_set(d, 0, 0, "'%s': one input file at a time", argv[n]);
        } else {
            out->input = argv[n];
        }
    }
    if (!out->help && !out->version && !out->list && out->input == NULL && out->text == NULL)
        return diag_set(d, 0, 0,
                        "No input files specified; use option --help for more information");
    return true;
}

bool options_write(const struct options *o, struct ptx_module *m, const char *text, size_t size,
                   struct strbuf *out, struct diag *d)
{
    unsigned sm = o->sm != 0 ? o->sm : (unsigned)m->target_sm;
    if (m->target_sm > (int)sm)
        return diag_set(d, 0, 0, "SM version specified by .target is higher than '%s'", o->gpu);
    struct strbuf limited = {0}; /* the text with what the options add */
    if (o->most_registers > 0) {
        ptx_limit_registers(m, o->most_registers);
        ptx_print(m, &limited);
        text = limited.items;
        size = limited.count;
    }
    container_write(text, size, sm, o->relocatable, out);
    sb_free(&limited);
    return true;
}
