/* Steps that are not programs of their own; see steps.h. */
#include "steps.h"

#include <stdio.h>
#include <string.h>

#include "bools.h"
#include "casts.h"
#include "fatbin.h"
#include "modifiers.h"
#include "rdc_asm.h"

static bool rewrite_bools(const char *llvm, const char *none, struct diag *d)
{
    (void)none;
    return bools_rewrite_file(llvm, d);
}

static bool rewrite_casts(const char *llvm, const char *none, struct diag *d)
{
    (void)none;
    return casts_rewrite_file(llvm, d);
}

static bool rewrite_modifiers(const char *ptx, const char *none, struct diag *d)
{
    (void)none;
    return modifiers_rewrite_file(ptx, d);
}

static const struct {
    const char *name;
    int files;
    bool (*run)(const char *first, const char *second, struct diag *d);
} steps[] = {
    [STEP_FATBIN] = {"fatbin", 2, fatbin_write},
    [STEP_CUBIN] = {"cubin", 2, cubin_write},
    [STEP_DEVICE_SYMBOLS] = {"device-symbols", 2, rdc_asm_write},
    [STEP_BOOLS] = {"bools", 1, rewrite_bools},
    [STEP_CASTS] = {"casts", 1, rewrite_casts},
    [STEP_MODIFIERS] = {"modifiers", 1, rewrite_modifiers},
};

static const char option[] = "--step=";

int step_run(struct driver *dr, enum step step, const char *first, const char *second)
{
    struct strlist argv = {0};
    list_add(&argv, "%s", dr->tools.self);
    list_add(&argv, "%s%s", option, steps[step].name);
    list_add(&argv, "%s", first);
    if (second != NULL)
        list_add(&argv, "%s", second);
    if (!work_show(&dr->work, &argv))
        return 0;
    return steps[step].run(first, second, &dr->diag) ? 0 : 1;
}

int step_command(int argc, char **argv)
{
    if (argc < 2 || strncmp(argv[1], option, strlen(option)) != 0)
        return -1;
    for (size_t i = 0; i < WEIR_COUNT(steps); i++) {
        struct diag d = {0};
        if (strcmp(argv[1] + strlen(option), steps[i].name) != 0 || argc - 2 != steps[i].files)
            continue;
        if (steps[i].run(argv[2], argc > 3 ? argv[3] : NULL, &d))
            return 0;
        fprintf(stderr, "weircc fatal   : %s\n", d.text);
        return 1;
    }
    fprintf(stderr, "weircc fatal   : '%s': no such step, or not its number of files\n", argv[1]);
    return 1;
}
