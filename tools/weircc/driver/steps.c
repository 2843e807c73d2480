/* Steps that are not programs of their own; see steps.h. */
#include "weircc/driver/steps.h"

#include <stdio.h>
#include <string.h>

#include "weircc/ccbin/host_records.h"
#include "weircc/ccbin/host_text.h"
#include "weircc/device/llvm/asm_strings.h"
#include "weircc/device/llvm/bools.h"
#include "weircc/device/llvm/casts.h"
#include "weircc/device/llvm/constant_memory.h"
#include "weircc/device/llvm/debug_data.h"
#include "weircc/device/llvm/flushes.h"
#include "weircc/device/llvm/grid_constants.h"
#include "weircc/device/llvm/math_calls.h"
#include "weircc/device/ptx/modifiers.h"
#include "weircc/files/files.h"
#include "weircc/objects/cplusplus.h"
#include "weircc/objects/device_link.h"
#include "weircc/objects/entities.h"
#include "weircc/objects/fatbin.h"
#include "weircc/objects/rdc_asm.h"

/* The steps, each with the files that it is given. */
static bool fatbin(const char *const *files, struct diag *d)
{
    return fatbin_write(files[0], NULL, files[1], d);
}

static bool fatbin_both(const char *const *files, struct diag *d)
{
    return fatbin_write(files[0], files[1], files[2], d);
}

static bool cubin(const char *const *files, struct diag *d)
{
    return cubin_write(files[0], files[1], d);
}

static bool device_symbols(const char *const *files, struct diag *d)
{
    return rdc_asm_write(files[0], files[1], d);
}

static bool rewrite_bools(const char *const *files, struct diag *d)
{
    return file_rewrite(files[0], bools_rewrite, d);
}

/* Calls of compilers' functions are rewritten in the step of casts. */
static void rewrite_calls(const char *llvm, struct strbuf *out)
{
    (void)math_calls_rewrite(llvm, out);
}

static bool rewrite_casts(const char *const *files, struct diag *d)
{
    return file_rewrite(files[0], casts_rewrite, d) && file_rewrite(files[0], rewrite_calls, d) &&
           file_rewrite(files[0], asm_strings_rewrite, d);
}

static bool rewrite_flushes(const char *const *files, struct diag *d)
{
    return file_rewrite(files[0], flushes_rewrite, d);
}

static bool lower_casts(const char *const *files, struct diag *d)
{
    return file_rewrite(files[0], casts_lower, d);
}

static bool rewrite_constant_memory(const char *const *files, struct diag *d)
{
    return file_rewrite(files[0], constant_memory_rewrite, d);
}

static bool rewrite_grid_constants(const char *const *files, struct diag *d)
{
    return file_rewrite(files[0], grid_constants_rewrite, d);
}

static bool rewrite_debug_data(const char *const *files, struct diag *d)
{
    return file_rewrite(files[0], debug_data_rewrite, d);
}

static bool rewrite_modifiers(const char *const *files, struct diag *d)
{
    return file_rewrite(files[0], modifiers_rewrite, d);
}

static bool rewrite_stack_alignments(const char *const *files, struct diag *d)
{
    return file_rewrite(files[0], stack_alignments_rewrite, d);
}

static bool protect_object(const char *const *files, struct diag *d)
{
    return entities_protect_object(files[0], d);
}

static bool protect_text(const char *const *files, struct diag *d)
{
    return entities_protect_text(files[0], d);
}

static bool cplusplus(const char *const *files, struct diag *d)
{
    return cplusplus_write(files[0], files[1], d);
}

static bool host_text(const char *const *files, struct diag *d)
{
    return host_text_rewrite_file(files[0], files[1], d);
}

static bool host_records(const char *const *files, struct diag *d)
{
    return host_records_add_file(files[0], files[1], false, d);
}

static bool host_records_rdc(const char *const *files, struct diag *d)
{
    return host_records_add_file(files[0], files[1], true, d);
}

static bool keep(const char *const *files, struct diag *d)
{
    return file_copy(files[0], files[1], NULL, d);
}

static bool keep_text(const char *const *files, struct diag *d)
{
    struct strbuf line = {0};
    sb_printf(&line, "# 1 \"");
    for (const char *p = files[0]; *p != '\0'; p++)
        sb_printf(&line, "%s%c", strchr("\"\\", *p) != NULL ? "\\" : "", *p);
    sb_printf(&line, "\"\n");
    bool ok = file_copy(files[0], files[1], line.items, d);
    sb_free(&line);
    return ok;
}

enum { MAX_FILES = 3, ANY_FILES = -1, /* two or more */ };

static const struct {
    const char *name;
    int files;
    bool (*run)(const char *const *files, struct diag *d);
} steps[] = {
    [STEP_FATBIN] = {"fatbin", 2, fatbin},
    [STEP_FATBIN_BOTH] = {"fatbin-both", 3, fatbin_both},
    [STEP_CUBIN] = {"cubin", 2, cubin},
    [STEP_DEVICE_LINK] = {"device-link", ANY_FILES, device_link_write},
    [STEP_DEVICE_SYMBOLS] = {"device-symbols", 2, device_symbols},
    [STEP_BOOLS] = {"bools", 1, rewrite_bools},
    [STEP_CASTS] = {"casts", 1, rewrite_casts},
    [STEP_FLUSHES] = {"flushes", 1, rewrite_flushes},
    [STEP_CASTS_LOWER] = {"casts-lower", 1, lower_casts},
    [STEP_CONSTANT_MEMORY] = {"constant-memory", 1, rewrite_constant_memory},
    [STEP_GRID_CONSTANTS] = {"grid-constants", 1, rewrite_grid_constants},
    [STEP_DEBUG_DATA] = {"debug-data", 1, rewrite_debug_data},
    [STEP_MODIFIERS] = {"modifiers", 1, rewrite_modifiers},
    [STEP_STACK_ALIGNMENTS] = {"stack-alignments", 1, rewrite_stack_alignments},
    [STEP_HOST_TEXT] = {"host-text", 2, host_text},
    [STEP_HOST_RECORDS] = {"host-records", 2, host_records},
    [STEP_HOST_RECORDS_RDC] = {"host-records-rdc", 2, host_records_rdc},
    [STEP_PROTECT] = {"protect", 1, protect_object},
    [STEP_PROTECT_TEXT] = {"protect-text", 1, protect_text},
    [STEP_CPLUSPLUS] = {"cplusplus", 2, cplusplus},
    [STEP_KEEP] = {"keep", 2, keep},
    [STEP_KEEP_TEXT] = {"keep-text", 2, keep_text},
};

static const char option[] = "--step=";

int step_run(struct driver *dr, enum step step, const char *first, const char *second,
             const char *third)
{
    const char *const files[MAX_FILES] = {first, second, third};
    struct strlist list = {0};
    for (int i = 0; i < steps[step].files; i++)
        list_add(&list, "%s", files[i]);
    return step_run_all(dr, step, &list);
}

void step_add_command(struct strlist *argv, const struct driver *dr, enum step step)
{
    list_add(argv, "%s", dr->tools.self);
    list_add(argv, "%s%s", option, steps[step].name);
}

int step_run_child(struct driver *dr, enum step step, const char *phase, const char *first,
                   const char *second)
{
    struct strlist argv = {0};
    step_add_command(&argv, dr, step);
    list_add(&argv, "%s", first);
    list_add(&argv, "%s", second);
    return work_run(&dr->work, &argv, phase, NULL, &dr->diag);
}

int step_run_all(struct driver *dr, enum step step, const struct strlist *files)
{
    struct strlist argv = {0};
    step_add_command(&argv, dr, step);
    list_add_all(&argv, NULL, files);
    if (!work_show(&dr->work, &argv))
        return 0;
    vec_push(&argv, NULL); /* ends them */
    return steps[step].run((const char *const *)argv.items + 2, &dr->diag) ? 0 : 1;
}

int step_command(int argc, char **argv)
{
    if (argc < 2 || strncmp(argv[1], option, strlen(option)) != 0)
        return -1;
    for (size_t i = 0; i < WEIR_COUNT(steps); i++) {
        struct diag d = {0};
        bool fits = steps[i].files == ANY_FILES ? argc - 2 >= 2 : argc - 2 == steps[i].files;
        if (strcmp(argv[1] + strlen(option), steps[i].name) != 0 || !fits)
            continue;
        if (steps[i].run((const char *const *)argv + 2, &d))
            return 0;
        fprintf(stderr, "weircc fatal   : %s\n", d.text);
        return 1;
    }
    fprintf(stderr, "weircc fatal   : '%s': no such step, or not its number of files\n", argv[1]);
    return 1;
}
