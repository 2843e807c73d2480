/* weir dump: shows the stages that a kernel goes through, from PTX to assembly. */
#include "base/demangle.h"
#include "input.h"
#include "loader/loader.h"
#include "weir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: weir dump [stages] [--kernel NAME] [--block X[,Y[,Z]]] file\n"
    "\n"
    "Shows how the kernels of a file are compiled. The file is PTX, a fat binary, or a program,\n"
    "library or object that nvcc, clang or weircc made. Without a stage: lists the kernels.\n"
    "\n"
    "  --ptx         the module as it was understood\n"
    "  --uniformity  which registers are uniform, affine or divergent across a warp, and which\n"
    "                branches diverge\n"
    "  --ir-raw      LLVM IR as generated\n"
    "  --ir          LLVM IR after optimization\n"
    "  --asm         assembly for this CPU\n"
    "  --times       how large the kernel is, and how long each stage takes (nothing else is "
    "shown)\n"
    "  --kernel NAME only this kernel (as named in PTX or in C++, with its parameters or without;\n"
    "                default: all)\n"
    "  --block X,Y,Z the block's shape to compile for (default: the kernel's own, else 256,1,1)\n"
    "  --any-block   compile for any shape of block\n"
    "  --lineinfo    keep source lines\n"
    "  --tier TIER   optimizing (default), baseline, or what a first launch gets, which is\n"
    "                baseline only where optimizing would take long: first, or first-of-many for\n"
    "                many blocks\n";

struct request {
    bool ptx;
    unsigned stages; /* set of enum jit_stage */
    const char *kernel, *file;
    struct jit_options options;
    bool block_given;
};

/* ---- the command line ---- */

static bool parse_tier(const char *text, uint32_t *tier)
{
    static const char *const names[] = {[JIT_TIER_OPTIMIZING] = "optimizing",
                                        [JIT_TIER_FIRST] = "first",
                                        [JIT_TIER_FIRST_OF_MANY] = "first-of-many",
                                        [JIT_TIER_BASELINE] = "baseline"};
    for (uint32_t k = 0; text != NULL && k < WEIR_COUNT(names); k++)
        if (strcmp(text, names[k]) == 0) {
            *tier = k;
            return true;
        }
    return false;
}

/* What a word of the command line is called now; NULL when it never had another name. */
static const char *renamed(const char *word)
{
    static const char *const names[][2] = {
        {"--shapes", "--uniformity"}, {"best", "optimizing"}, {"quick", "baseline"}};
    for (size_t i = 0; word != NULL && i < WEIR_COUNT(names); i++)
        if (strcmp(word, names[i][0]) == 0)
            return names[i][1];
    return NULL;
}

static int refuse_tier(const char *tier)
{
    if (renamed(tier) != NULL)
        return weir_misused("dump", "--tier %s is called %s now", tier, renamed(tier));
    return weir_misused("dump", "--tier is optimizing, baseline, first or first-of-many");
}

static int refuse_option(const char *option)
{
    if (renamed(option) != NULL)
        return weir_misused("dump", "%s is called %s now", option, renamed(option));
    return weir_misused("dump", "unknown option '%s'", option);
}

static bool parse_stage(const char *arg, struct request *r)
{
    static const struct {
        const char *name;
        unsigned stage;
    } stages[] = {{"--uniformity", JIT_STAGE_UNIFORMITY},
                  {"--ir", JIT_STAGE_IR},
                  {"--ir-raw", JIT_STAGE_IR_RAW},
                  {"--asm", JIT_STAGE_ASM},
                  {"--times", JIT_STAGE_TIMES}};
    for (size_t i = 0; i < WEIR_COUNT(stages); i++)
        if (strcmp(arg, stages[i].name) == 0) {
            r->stages |= stages[i].stage;
            return true;
        }
    if (strcmp(arg, "--ptx") == 0)
        return r->ptx = true;
    if (strcmp(arg, "--lineinfo") == 0)
        return r->options.lineinfo = true;
    if (strcmp(arg, "--any-block") == 0) {
        memset(r->options.ntid, 0, sizeof r->options.ntid);
        return r->block_given = true;
    }
    return false;
}

static int parse(int argc, char **argv, struct request *r)
{
    for (int i = 0; i < argc;) {
        char *value;
        if (parse_stage(argv[i], r)) {
            i++;
        } else if (weir_option(argc, argv, &i, "--kernel", &value)) {
            if (value == NULL)
                return weir_misused("dump", "--kernel needs a name");
            r->kernel = value;
        } else if (weir_option(argc, argv, &i, "--block", &value)) {
            if (value == NULL || !weir_block(value, r->options.ntid))
                return weir_misused("dump", "--block needs a shape such as 256 or 16,16,1, of at "
                                            "most 1024 threads");
            r->block_given = true;
        } else if (weir_option(argc, argv, &i, "--tier", &value)) {
            if (!parse_tier(value, &r->options.tier))
                return refuse_tier(value);
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return refuse_option(argv[i]);
        } else if (r->file != NULL) {
            return weir_misused("dump", "more than one file: '%s' and '%s'", r->file, argv[i]);
        } else {
            r->file = argv[i++];
        }
    }
    return r->file != NULL ? EXIT_OK : weir_misused("dump", "no file given");
}

/* ---- output ---- */

static void list_kernel(const struct ptx_func *f)
{
    struct jit_kernel_info info;
    struct diag d = {0};
    printf("  %s", f->name);
    if (jit_kernel_info(f, &info, &d))
        printf(": %llu bytes of parameters, %llu shared, %llu local, about %u registers%s\n",
               (unsigned long long)info.param_bytes, (unsigned long long)info.static_shared,
               (unsigned long long)info.local_bytes, info.num_regs,
               info.uses_barriers ? ", barriers" : "");
    else
        printf(": %s\n", d.text);
}

/* Does what was asked for one kernel; false when it failed (and has been said). */
static bool dump_kernel(const struct request *r, const struct ptx_func *f)
{
    if (!r->ptx && r->stages == 0) {
        list_kernel(f);
        return true;
    }
    if (r->stages == 0)
        return true;
    struct jit_options options = r->options;
    if (!r->block_given)
        for (int k = 0; k < 3; k++) {
            uint32_t own = f->reqntid[0] != 0 ? f->reqntid[k] : k == 0 ? 256 : 1;
            options.ntid[k] = own != 0 ? own : 1;
        }
    struct strbuf out = {0};
    struct diag d = {0};
    bool ok = jit_dump(f, &options, r->stages, &out, &d);
    if (options.ntid[0] != 0)
        printf("// kernel %s, block %u x %u x %u\n", f->name, options.ntid[0], options.ntid[1],
               options.ntid[2]);
    else
        printf("// kernel %s, any block\n", f->name);
    if (out.count > 0)
        fwrite(out.items, 1, out.count, stdout);
    sb_free(&out);
    if (!ok)
        weir_failed("dump", "kernel %s: %s", f->name, d.text);
    return ok;
}

/* Whether people call it that: by its whole name, or that without what it returns and takes. */
static bool is_called(const char *name, const char *wanted)
{
    if (strcmp(name, wanted) == 0)
        return true;
    char *whole = demangle(name);
    size_t length = strlen(wanted);
    const char *at = strstr(whole, wanted);
    bool is = at != NULL && (at == whole || at[-1] == ' ') &&
              (at[length] == '\0' || at[length] == '(' || at[length] == '<');
    free(whole);
    return is;
}

static int refuse_kernel(const struct request *r, const struct input *in)
{
    struct strbuf names = {0};
    for (size_t i = 0; i < in->count; i++) {
        const struct ptx_module *m = in->items[i].module;
        for (int32_t k = 0; k < m->nfuncs; k++) {
            if (!m->funcs[k]->is_entry || names.count > 500)
                continue;
            char *whole = demangle(m->funcs[k]->name);
            sb_printf(&names, "%s%s", names.count > 0 ? ", " : "", whole);
            free(whole);
        }
    }
    int status =
        weir_failed("dump", "%s has no kernel named %s%s%s", r->file, r->kernel,
                    names.count > 0 ? "; it has " : "", names.count > 0 ? names.items : "");
    sb_free(&names);
    return status;
}

static bool dump_module(const struct request *r, const struct input_module *in, bool *found)
{
    bool ok = true, wanted = r->kernel == NULL;
    const struct ptx_module *m = in->module;
    for (int32_t i = 0; i < m->nfuncs; i++)
        wanted = wanted || (m->funcs[i]->is_entry && is_called(m->funcs[i]->name, r->kernel));
    if (!wanted)
        return true;
    if (!r->ptx && r->stages == 0)
        printf("%s: PTX %d.%d for sm_%d\n", in->from, m->version_major, m->version_minor,
               m->target_sm);
    if (r->ptx) {
        struct strbuf out = {0};
        ptx_print(m, &out);
        printf("// %s\n", in->from);
        fwrite(out.items, 1, out.count, stdout);
        sb_free(&out);
        *found = true;
    }
    for (int32_t i = 0; i < m->nfuncs; i++) {
        const struct ptx_func *f = m->funcs[i];
        if (!f->is_entry || !f->has_body || (r->kernel != NULL && !is_called(f->name, r->kernel)))
            continue;
        *found = true;
        ok = dump_kernel(r, f) && ok;
    }
    return ok;
}

int weir_dump(int argc, char **argv)
{
    if (weir_help(argc, argv, help))
        return EXIT_OK;
    struct request r = {.options = {.grid_small = 1}};
    int status = parse(argc, argv, &r);
    if (status != EXIT_OK)
        return status;
    struct input in = {0};
    struct diag d = {0};
    if (!input_read(&in, r.file, &d))
        return weir_failed("dump", "%s", d.text);
    bool ok = true, found = false;
    for (size_t i = 0; i < in.count; i++)
        ok = dump_module(&r, &in.items[i], &found) && ok;
    status = ok ? EXIT_OK : EXIT_FAILED;
    if (!found && r.kernel != NULL)
        status = refuse_kernel(&r, &in);
    else if (!found && ok)
        status = weir_failed("dump", "%s has no kernels", r.file);
    input_free(&in);
    return status;
}
