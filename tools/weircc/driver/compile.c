/* Carrying out jobs: from a source file to what the phase wants of it. */
#include "weircc/device/gpu/form.h"
#include "weircc/device/llvm/casts.h"
#include "weircc/device/llvm/clusters.h"
#include "weircc/device/llvm/grid_constants.h"
#include "weircc/device/llvm/math_calls.h"
#include "weircc/device/llvm/names.h"
#include "weircc/device/ptx/device_check.h"
#include "weircc/device/ptx/launch_ptx.h"
#include "weircc/driver/compilation.h"
#include "weircc/driver/early_host.h"
#include "weircc/driver/named_constants.h"
#include "weircc/driver/steps.h"
#include "weircc/driver/streams.h"
#include "weircc/files/depfile.h"
#include "weircc/files/files.h"
#include "weircc/objects/elf.h"
#include "weircc/source/mend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_rule(struct compilation *c)
{
    struct driver *dr = c->dr;
    const struct job *job = c->job;
    if (!dr->build.dependencies || dr->work.dryrun)
        return true;
    struct depfile_rule rule = {
        .target = job->target,
        .as_given = dr->options.given[OPT_dependency_target_name],
        .skip_file = streams_name(&dr->build, job->input) != NULL ? job->input : NULL,
        .skip_directories = {dr->tools.support, dr->build.skip_system ? dr->tools.include : NULL},
        .phony_targets = dr->options.given[OPT_generate_dependency_targets],
        .follows = job->joins_rules,
    };
    return depfile_write(job->depfile, &rule, &c->prerequisites, &dr->diag);
}

/* ---- CUDA ---- */

/* What is left to do for the PTX of a file whose kernels have __cluster_dims__: the LLVM text says
 * of each kernel what the PTX must have. */
static int finish_clusters(struct driver *dr, const char *llvm_path, const char *path)
{
    if (dr->build.arch.number < 90) {
        diag_set(&dr->diag, 0, 0, "__cluster_dims__ needs -arch=sm_90 or newer; this is for %s",
                 arch_name(&dr->build.arch));
        return 1;
    }
    char *ptx = file_read(path, NULL, &dr->diag);
    char *llvm = ptx != NULL ? file_read(llvm_path, NULL, &dr->diag) : NULL;
    struct strbuf out = {0};
    bool ok = llvm != NULL && clusters_finish(ptx, llvm, &out, &dr->diag) &&
              file_write(path, out.items, out.count, &dr->diag);
    sb_free(&out);
    free(llvm);
    free(ptx);
    return ok ? 0 : 1;
}

/* What is left to do for the PTX of a file whose kernels launch kernels. */
static int finish_launches(struct compilation *c, const char *path, bool warn)
{
    struct driver *dr = c->dr;
    const struct cmdline *o = &dr->options;
    char *ptx = file_read(path, NULL, &dr->diag);
    struct strbuf out = {0}, warnings = {0};
    bool ok =
        ptx != NULL && launch_ptx_finish(ptx, command_has_lines(o), &out, &warnings, &dr->diag);
    ok = ok && file_write(path, out.items, out.count, &dr->diag);
    if (warn && !o->given[OPT_disable_warnings])
        ok = show_warnings(c, &warnings, ok ? 0 : 1) == 0;
    sb_free(&out);
    sb_free(&warnings);
    free(ptx);
    return ok ? 0 : 1;
}

/* Refuses names that PTX does not allow. */
static int check_names(struct compilation *c, const char *path)
{
    struct driver *dr = c->dr;
    if (dr->work.dryrun)
        return 0;
    struct strbuf errors = {0};
    char *llvm = file_read(path, NULL, &dr->diag);
    bool ok = llvm != NULL && names_check(llvm, c->job->input, &errors) == 0;
    free(llvm);
    show(c, &errors);
    return ok ? 0 : 1;
}

/* Whether there is something in the text of a file. A script must hold for any. */
static bool has(struct driver *dr, const char *path, bool (*found_in)(const char *))
{
    if (dr->work.dryrun)
        return true;
    char *llvm = file_read(path, NULL, &dr->diag);
    bool found = llvm != NULL && found_in(llvm);
    free(llvm);
    return found;
}

/* Runs the part of clang that comes after its front end. */
static int run_llvm(struct compilation *c, struct strlist *argv, const char *phase,
                    const char *input, const char *output)
{
    struct driver *dr = c->dr;
    struct strbuf errors = {0};
    /* a process of its own: in clang's, the compiler dies where the output cannot be written */
    list_add(argv, "-fno-integrated-cc1");
    list_add(argv, "-S");
    list_add(argv, "%s", input);
    list_add(argv, "-o");
    list_add(argv, "%s", output);
    int status = work_run(&dr->work, argv, phase, &errors, &dr->diag);
    if (status != 0 && !work_interrupted() && has(dr, input, grid_constants_found) &&
        file_rewrite(input, grid_constants_drop, &dr->diag)) {
        sb_free(&errors);
        status = work_run(&dr->work, argv, phase, &errors, &dr->diag);
    }
    show(c, &errors);
    return status;
}

static void command_passes(struct compilation *c, struct strlist *argv, const char *library)
{
    command_llvm(argv, c->dr);
    if (c->launches)
        add_launch_options(argv, &c->dr->options);
    if (library != NULL) {
        list_add(argv, "-Xclang");
        list_add(argv, "-mlink-builtin-bitcode");
        list_add(argv, "-Xclang");
        list_add(argv, "%s", library);
    }
}

/* LLVM's passes and the PTX backend, on the text that the front end made. `library`: bitcode for
 * functions that the text leaves open, or NULL. */
static int make_ptx(struct compilation *c, const char *llvm, const char *library, const char *ptx)
{
    struct driver *dr = c->dr;
    struct strlist argv = {0}, rest = {0};
    command_passes(c, &argv, library);
    if (has(dr, llvm, casts_found_wide) || has(dr, llvm, math_calls_found_library))
        command_device_library(&argv, dr);
    /* casts that are looked at between LLVM's passes and the backend */
    if (!has(dr, llvm, casts_found))
        return run_llvm(c, &argv, "clang (PTX)", llvm, ptx);
    char *optimized =
        intermediate(dr, c->job->input, ptx == c->gpu_ptx ? ".gpu.opt.ll" : ".opt.ll");
    if (optimized == NULL)
        return 1;
    list_add(&argv, "-emit-llvm");
    /* names that a library of bitcode has are written, once each only if all are kept */
    list_add(&argv, "-fno-discard-value-names");
    int status = run_llvm(c, &argv, "clang (passes)", llvm, optimized);
    if (status == 0)
        status = step_run(dr, STEP_CASTS_LOWER, optimized, NULL, NULL);
    if (status != 0)
        return status;
    command_passes(c, &rest, NULL);
    list_add(&rest, "-Xclang");
    list_add(&rest, "-disable-llvm-passes");
    return run_llvm(c, &rest, "clang (PTX)", optimized, ptx);
}

/* What is left to do for the PTX that was made of a file's LLVM text. */
static int finish_ptx(struct compilation *c, const char *llvm, const char *ptx, bool warn)
{
    struct driver *dr = c->dr;
    int status = step_run(dr, STEP_STACK_ALIGNMENTS, ptx, NULL, NULL);
    if (status == 0 && command_flushes_denormals(&dr->options))
        status = step_run(dr, STEP_MODIFIERS, ptx, NULL, NULL);
    if (status == 0 && c->clusters && !dr->work.dryrun)
        status = finish_clusters(dr, llvm, ptx);
    if (status == 0 && c->launches && !dr->work.dryrun)
        status = finish_launches(c, ptx, warn);
    return status;
}

/* Whether the output is one that a driver of GPUs may be given. What the first generation of
 * launches from the device has, GPUs have no more. */
static bool wants_gpu_form(const struct compilation *c)
{
    const struct build *b = &c->dr->build;
    return !c->dr->work.dryrun && b->phase != PHASE_PTX && b->phase != PHASE_CUBIN &&
           !(c->launches && b->arch.old);
}

/* Writes the PTX with managed variables reached through pointers. */
static bool write_gpu_ptx(const char *path, const char *llvm, struct diag *d)
{
    char *ptx = file_read(path, NULL, d);
    struct strbuf out = {0};
    if (ptx != NULL)
        gpu_form_ptx(ptx, llvm, &out);
    bool ok = ptx != NULL && file_write(path, out.items, out.count, d);
    sb_free(&out);
    free(ptx);
    return ok;
}

/* Makes the second form of device code that needs one (gpu/form.h). */
static int make_gpu_form(struct compilation *c, const char *llvm_path)
{
    struct driver *dr = c->dr;
    struct strbuf out = {0};
    char *llvm = file_read(llvm_path, NULL, &dr->diag);
    if (llvm == NULL)
        return 1;
    struct gpu_needs needs = gpu_form_needs(llvm);
    int status = 0;
    if (needs.math || needs.launches || needs.managed || needs.statics) {
        char *changed = intermediate(dr, c->job->input, ".gpu.ll");
        c->gpu_ptx = intermediate(dr, c->job->input, ".gpu.ptx");
        bool ok = changed != NULL && c->gpu_ptx != NULL && gpu_form_llvm(llvm, &out, &dr->diag) &&
                  file_write(changed, out.items, out.count, &dr->diag);
        status = ok ? make_ptx(c, changed, needs.math ? dr->tools.gpu_math : NULL, c->gpu_ptx) : 1;
        if (status == 0)
            status = finish_ptx(c, llvm_path, c->gpu_ptx, false);
        if (status == 0 && needs.managed && !write_gpu_ptx(c->gpu_ptx, llvm, &dr->diag))
            status = 1;
    }
    sb_free(&out);
    free(llvm);
    return status;
}

/* The front end makes LLVM text, in which what only it could know is rewritten. */
static int make_llvm(struct compilation *c, const struct strlist *command, const char *llvm)
{
    struct driver *dr = c->dr;
    int status = run_pass(c, PASS_DEVICE, command, &(struct run){"-S", "clang (device)", llvm});
    if (status == 0)
        status = check_names(c, llvm);
    if (status == 0)
        status = step_run(dr, STEP_BOOLS, llvm, NULL, NULL);
    if (status == 0)
        status = step_run(dr, STEP_CASTS, llvm, NULL, NULL);
    if (status == 0 && command_flushes_denormals(&dr->options))
        status = step_run(dr, STEP_FLUSHES, llvm, NULL, NULL);
    if (status == 0)
        status = named_constants_keep(c, llvm);
    if (status == 0)
        status = step_run(dr, STEP_CONSTANT_MEMORY, llvm, NULL, NULL);
    if (status == 0)
        status = step_run(dr, STEP_GRID_CONSTANTS, llvm, NULL, NULL);
    if (status == 0 && command_has_variables(&dr->options))
        status = step_run(dr, STEP_DEBUG_DATA, llvm, NULL, NULL);
    return status;
}

/* The PTX of the file once more, with the lines that it came from, for messages about it. NULL: it
 * cannot be had. */
static char *make_lined_ptx(struct compilation *c, const struct strlist *command)
{
    struct driver *dr = c->dr;
    char *llvm = intermediate(dr, c->job->input, ".lines.ll");
    char *ptx = intermediate(dr, c->job->input, ".lines.ptx");
    struct strlist lined = {0};
    struct diag ignored = {0};
    list_add_all(&lined, NULL, command);
    list_add(&lined, "-gline-directives-only");
    bool made = llvm != NULL && ptx != NULL && make_llvm(c, &lined, llvm) == 0 &&
                make_ptx(c, llvm, NULL, ptx) == 0 && finish_ptx(c, llvm, ptx, false) == 0;
    return made ? file_read(ptx, NULL, &ignored) : NULL;
}

/* Refuses what could not be launched (device_check.h): appends messages about it. */
static int check_device(struct compilation *c, const struct strlist *command, const char *path,
                        struct strbuf *messages, struct device_findings *found)
{
    struct driver *dr = c->dr;
    bool lines = command_has_lines(&dr->options);
    *found = (struct device_findings){0};
    if (dr->work.dryrun)
        return 0;
    char *ptx = file_read(path, NULL, &dr->diag);
    if (ptx == NULL)
        return 1;
    bool fine = device_check(ptx, lines ? ptx : NULL, c->job->name, dr->build.rdc, messages, found);
    bool said = dr->build.phase != PHASE_PTX;
    char *lined = said && found->needs_lines && !lines ? make_lined_ptx(c, command) : NULL;
    if (lined != NULL) {
        sb_free(messages);
        fine = device_check(ptx, lined, c->job->name, dr->build.rdc, messages, found);
    }
    if (!said)
        sb_free(messages);
    free(lined);
    free(ptx);
    return fine || !said ? 0 : STATUS_DEVICE_CODE;
}

/* One run of the device pass, from the source to checked PTX. */
static int make_device_code(struct compilation *c, const struct strlist *command, const char *llvm,
                            const char *ptx, struct strbuf *messages, struct device_findings *found)
{
    int status = make_llvm(c, command, llvm);
    *found = (struct device_findings){0};
    if (status == 0)
        status = make_ptx(c, llvm, NULL, ptx);
    if (status == 0)
        status = finish_ptx(c, llvm, ptx, true);
    return status == 0 ? check_device(c, command, ptx, messages, found) : status;
}

/* What is defined nowhere may be so only for clang: the file is compiled once more as nvcc reads it
 * (declarations.h, externs.h). Where there is nothing to mend all stays as it was. */
static int define_device_code(struct compilation *c, const struct strlist *command,
                              const char *llvm, const char *ptx, int status,
                              struct strbuf *messages, struct device_findings *found)
{
    const struct compilation before = *c;
    struct device_findings now;
    struct strbuf mended = {0};
    if ((!found->functions || c->plan.declarations) &&
        (found->variables.count == 0 || c->plan.variables.count > 0))
        return status;
    c->plan.declarations |= found->functions;
    list_add_all(&c->plan.variables, NULL, &found->variables);
    c->plan.any = c->mend = true;
    int again = make_device_code(c, command, llvm, ptx, &mended, &now);
    if (again == 0) {
        sb_free(messages);
        *messages = mended;
        if (now.variables.count == 0 && c->dr->build.phase != PHASE_PTX)
            sb_append(messages, found->definitions.items, found->definitions.count);
        return 0;
    }
    c->plan = before.plan;
    c->mend = before.mend;
    sb_free(&mended);
    return status != 0 ? status : make_device_code(c, command, llvm, ptx, &mended, &now);
}

/* The device pass: the front end makes LLVM text, and the rest of clang makes PTX of it. */
static int device_pass(struct compilation *c, const char *ptx)
{
    struct driver *dr = c->dr;
    struct strlist command = {0};
    struct strbuf messages = {0};
    struct device_findings found;
    command_cuda(&command, dr, PASS_DEVICE, c->job->input);
    if (dr->build.phase == PHASE_SYNTAX)
        return run_pass(c, PASS_DEVICE, &command,
                        &(struct run){"-fsyntax-only", "clang (device)", NULL});
    char *llvm = intermediate(dr, c->job->input, ".ll");
    if (llvm == NULL)
        return 1;
    c->device_llvm = llvm;
    list_add(&command, "-emit-llvm");
    list_add(&command, "-Xclang");
    list_add(&command, "-disable-llvm-passes");
    if (c->constants.count > 0)
        list_add(&command, "-fkeep-static-consts");
    int status = make_device_code(c, &command, llvm, ptx, &messages, &found);
    if (found.functions || found.variables.count > 0)
        status = define_device_code(c, &command, llvm, ptx, status, &messages, &found);
    if (show_warnings(c, &messages, status) != status)
        status = 1; /* as nvcc's */
    sb_free(&found.definitions);
    if (status == 0 && wants_gpu_form(c))
        status = make_gpu_form(c, llvm);
    return status;
}

/* `gpu_ptx`: the second form, or NULL. */
static int make_fatbin(struct driver *dr, const char *ptx, const char *gpu_ptx, const char *fatbin)
{
    return gpu_ptx != NULL ? step_run(dr, STEP_FATBIN_BOTH, ptx, gpu_ptx, fatbin)
                           : step_run(dr, STEP_FATBIN, ptx, fatbin, NULL);
}

char *rdc_text(struct driver *dr, const char *fatbin)
{
    char *text = intermediate(dr, fatbin, ".rdc.s");
    return text != NULL && step_run(dr, STEP_DEVICE_SYMBOLS, fatbin, text, NULL) == 0 ? text : NULL;
}

/* The host pass by clang, with the device code of the file given. */
static int host_pass_clang(struct compilation *c, const char *fatbin, const char *object)
{
    struct driver *dr = c->dr;
    struct strlist argv = {0};
    if (dr->build.rdc) {
        char *text = rdc_text(dr, fatbin);
        if (text == NULL)
            return 1;
        command_cuda(&argv, dr, PASS_HOST, c->job->input);
        command_define_string(&argv, "__WEIR_RDC_ASM__", text, READER_ASSEMBLER);
    } else {
        command_host_half(&argv, dr, c->job->input, fatbin);
    }
    bool text = dr->build.phase == PHASE_CPLUSPLUS;
    if (text) {
        list_add(&argv, "-g0"); /* the host compiler numbers files of its own */
        list_add(&argv, "-fno-addrsig");
        list_add(&argv, "-fno-integrated-as"); /* what any assembler reads */
    }
    c->early.fatbin = fatbin;
    return run_pass(c, PASS_HOST, &argv, &(struct run){text ? "-S" : "-c", "clang (host)", object});
}

/* Runs the host compiler on a file that is made of the input. */
static int run_host_compiler(struct compilation *c, struct strlist *argv, const char *phase,
                             const char *input, const char *output)
{
    list_add(argv, "%s", input);
    list_add(argv, "-o");
    list_add(argv, "%s", output);
    return work_run(&c->dr->work, argv, phase, c->host_messages, &c->dr->diag);
}

/* The preprocessed source as a compiler takes it that knows no CUDA. */
static int make_host_text(struct compilation *c, const char *rdc, const char *text)
{
    struct driver *dr = c->dr;
    struct strlist argv = {0};
    char *source = intermediate(dr, c->job->input, ".host.ii");
    if (source == NULL)
        return 1;
    command_host_preprocess(&argv, dr, rdc);
    /* shared variables are not among what is made of it */
    struct mend_plan host = {
        .any = true,
        .members = c->plan.members,
        .variables = c->plan.variables,
        .uses = {.members = c->plan.uses.members, .types = c->plan.uses.types}};
    int status = run_compiler(c, &argv, "host compiler (preprocess)", source, c->host_messages);
    if (status == 0 && c->mend && !dr->work.dryrun && !mend_file(source, &host, &dr->diag) &&
        dr->diag.text[0] != '\0')
        status = 1;
    return status != 0 ? status : step_run(dr, STEP_HOST_TEXT, source, text, NULL);
}

/* The host pass by the host compiler. */
static int host_pass_ccbin(struct compilation *c, const char *fatbin, const char *object)
{
    struct driver *dr = c->dr;
    bool text_wanted = dr->build.phase == PHASE_CPLUSPLUS;
    char *rdc = dr->build.rdc ? rdc_text(dr, fatbin) : NULL;
    char *text = intermediate(dr, c->job->input, ".stubs.ii");
    char *assembler = text_wanted ? xstrdup(object) : intermediate(dr, c->job->input, ".host.s");
    if (text == NULL || assembler == NULL || (dr->build.rdc && rdc == NULL))
        return 1;
    int status = make_host_text(c, rdc, text);
    struct strlist compile = {0}, assemble = {0};
    command_host_assembler(&compile, dr);
    if (text_wanted)
        list_add(&compile, "-g0");
    if (status == 0)
        status = run_host_compiler(c, &compile, "host compiler", text, assembler);
    if (status == 0)
        status = step_run(dr, dr->build.rdc ? STEP_HOST_RECORDS_RDC : STEP_HOST_RECORDS, fatbin,
                          assembler, NULL);
    if (status != 0 || text_wanted)
        return status;
    list_add(&assemble, "%s", dr->tools.cc);
    list_add(&assemble, "-x");
    list_add(&assemble, "assembler");
    list_add(&assemble, "-c");
    return run_host_compiler(c, &assemble, "assembler", assembler, object);
}

/* The host pass by the host compiler for its OpenMP. What that refuses, or cannot be given, is
 * clang's, as without OpenMP. */
static int host_pass_openmp(struct compilation *c, const char *fatbin, const char *object)
{
    struct driver *dr = c->dr;
    struct strbuf messages = {0};
    c->host_messages = &messages;
    int status = host_pass_ccbin(c, fatbin, object);
    c->host_messages = NULL;
    if (status == 0 && messages.count > 0)
        fputs(messages.items, stderr);
    if (status != 0 && !work_interrupted()) {
        dr->diag = (struct diag){0};
        status = host_pass_clang(c, fatbin, object);
        if (status == 0 && !dr->options.given[OPT_disable_warnings])
            fprintf(
                stderr,
                "weircc warning : '%s' does not compile the host code of '%s', which is clang's "
                "therefore, with clang's OpenMP: link it by 'weircc -Xcompiler -fopenmp', or "
                "with '%s/libomp.so' (--host-frontend=ccbin shows why)\n",
                dr->tools.cxx, c->job->name, dr->tools.clang_lib);
    }
    sb_free(&messages);
    return status;
}

/* The host pass, with the device code of the file given. */
static int host_pass(struct compilation *c, const char *ptx, const char *object)
{
    struct driver *dr = c->dr;
    char *fatbin = intermediate(dr, c->job->input, ".fatbin");
    int status = fatbin != NULL ? make_fatbin(dr, ptx, c->gpu_ptx, fatbin) : 1;
    if (status != 0)
        return status;
    switch (dr->build.host_frontend) {
    case HOST_CLANG: break;
    case HOST_CCBIN: return host_pass_ccbin(c, fatbin, object);
    case HOST_CCBIN_OPENMP: return host_pass_openmp(c, fatbin, object);
    }
    return host_pass_clang(c, fatbin, object);
}

static void command_move(struct strlist *argv, const char *from, const char *to)
{
    list_add(argv, "mv");
    list_add(argv, "%s", from);
    list_add(argv, "%s", to);
}

static void command_join(struct strlist *argv, const struct driver *dr, const char *bare,
                         const char *object)
{
    list_add(argv, "%s", dr->tools.cxx);
    list_add(argv, "-r");
    list_add(argv, "-nostdlib");
    list_add(argv, "%s", bare);
    list_add(argv, "%s/weir-managed.o", dr->tools.support);
    list_add(argv, "-o");
    list_add(argv, "%s", object);
}

/* With --dryrun there is no object to look into: the script does that. */
static void list_managed(const struct driver *dr, const struct strlist *move,
                         const struct strlist *join, const char *object)
{
    struct strlist file = {0};
    list_add(&file, "%s", object);
    char *lines[] = {work_quoted(&file), work_quoted(move), work_quoted(join)};
    char *line = xprintf("if readelf -SW %s | grep -q ' weir_managed '; then %s; %s; fi", lines[0],
                         lines[1], lines[2]);
    fprintf(stderr, "#$ %s\n", line);
    work_script(&dr->work, line);
    for (size_t i = 0; i < WEIR_COUNT(lines); i++)
        free(lines[i]);
    free(line);
}

/* An object with __managed__ variables must say where they are; only now it is known whether it has
 * any. */
static int join_managed(struct compilation *c, const char *object)
{
    struct driver *dr = c->dr;
    if (!dr->work.dryrun && !elf_has_section(object, "weir_managed"))
        return 0;
    char *bare = intermediate(dr, c->job->input, ".bare.o");
    if (bare == NULL)
        return 1;
    struct strlist move = {0}, join = {0};
    command_move(&move, object, bare);
    command_join(&join, dr, bare, object);
    if (dr->work.dryrun) {
        list_managed(dr, &move, &join, object);
        return 0;
    }
    int status = work_run(&dr->work, &move, "move", NULL, &dr->diag);
    return status != 0 ? status : work_run(&dr->work, &join, "join", NULL, &dr->diag);
}

static int both_halves(struct compilation *c, const char *ptx, const char *object)
{
    int status = device_pass(c, ptx);
    return status == 0 ? host_pass(c, ptx, object) : status;
}

/* Runs both passes and makes an object, or part of one. */
static int make_object(struct compilation *c, const char *object)
{
    char *ptx = intermediate(c->dr, c->job->input, ".ptx");
    if (ptx == NULL)
        return 1;
    early_host_begin(c, object);
    int status = both_halves(c, ptx, object);
    early_host_drop(c);
    if (status == 0 && named_constants_find(c, ptx, object))
        status = both_halves(c, ptx, object);
    if (status == 0)
        status = warn_host_accesses(c);
    if (status == 0)
        status = step_run(c->dr, STEP_PROTECT, object, NULL, NULL);
    return status != 0 ? status : join_managed(c, object);
}

/* The host half may be done with its object when the device half fails. */
static int cuda_object(struct compilation *c, const char *object)
{
    int status = make_object(c, object);
    if (status != 0)
        file_remove(object);
    return status;
}

/* Runs both passes and makes C++ of what they give. */
static int cuda_cplusplus(struct compilation *c)
{
    char *ptx = intermediate(c->dr, c->job->input, ".ptx");
    char *assembler = ptx != NULL ? intermediate(c->dr, c->job->input, ".s") : NULL;
    if (assembler == NULL)
        return 1;
    int status = both_halves(c, ptx, assembler);
    if (status == 0)
        status = step_run(c->dr, STEP_PROTECT_TEXT, assembler, NULL, NULL);
    return status != 0 ? status : step_run(c->dr, STEP_CPLUSPLUS, assembler, c->job->output, NULL);
}

/* Device code in the container that the phase asks for. */
static int make_output(struct compilation *c, const char *ptx)
{
    return c->dr->build.phase == PHASE_CUBIN
               ? step_run(c->dr, STEP_CUBIN, ptx, c->job->output, NULL)
               : make_fatbin(c->dr, ptx, c->gpu_ptx, c->job->output);
}

static int cuda_container(struct compilation *c)
{
    char *ptx = intermediate(c->dr, c->job->input, ".ptx");
    if (ptx == NULL)
        return 1;
    int status = device_pass(c, ptx);
    return status != 0 ? status : make_output(c, ptx);
}

/* The preprocessed source as the device pass reads it. */
static int cuda_preprocess(struct compilation *c)
{
    struct strlist argv = {0};
    command_cuda(&argv, c->dr, PASS_DEVICE, c->job->input);
    list_add(&argv, "-E");
    struct strbuf errors = {0};
    int status = run_compiler(c, &argv, "clang (preprocess)", c->job->output, &errors);
    return show_warnings(c, &errors, status) != status ? 1 : status;
}

/* Both passes may include files that the other does not. */
static int cuda_dependencies(struct compilation *c)
{
    static const enum pass passes[] = {PASS_DEVICE, PASS_HOST};
    int status = 0;
    for (size_t i = 0; i < WEIR_COUNT(passes) && status == 0; i++) {
        struct strlist argv = {0};
        command_cuda(&argv, c->dr, passes[i], c->job->input);
        struct strbuf errors = {0};
        status = run_compiler(c, &argv, "clang (dependencies)", NULL, &errors);
        status = show_warnings(c, &errors, status) != status ? 1 : status;
    }
    return status;
}

/* PTX as the job's output: "-" is standard output, as with nvcc. */
static int cuda_ptx(struct compilation *c)
{
    if (strcmp(c->job->output, "-") != 0)
        return device_pass(c, c->job->output);
    char *path = intermediate(c->dr, c->job->input, ".ptx");
    int status = path != NULL ? device_pass(c, path) : 1;
    if (status != 0 || c->dr->work.dryrun)
        return status;
    size_t size;
    char *ptx = file_read(path, &size, &c->dr->diag);
    if (ptx == NULL)
        return 1;
    bool written = fwrite(ptx, 1, size, stdout) == size && fflush(stdout) == 0;
    if (!written)
        diag_set(&c->dr->diag, 0, 0, "cannot write to standard output: %s", strerror(errno));
    free(ptx);
    return written ? 0 : 1;
}

static int compile_cuda(struct compilation *c, const char *object)
{
    switch (c->dr->build.phase) {
    case PHASE_PREPROCESS: return cuda_preprocess(c);
    case PHASE_DEPENDENCIES: return cuda_dependencies(c);
    case PHASE_SYNTAX: return device_pass(c, NULL);
    case PHASE_PTX: return cuda_ptx(c);
    case PHASE_CPLUSPLUS: return cuda_cplusplus(c);
    case PHASE_FATBIN:
    case PHASE_CUBIN: return cuda_container(c);
    case PHASE_COMPILE:
    case PHASE_LINK:
    case PHASE_LIB:
    case PHASE_DLINK: return cuda_object(c, object);
    }
    return 1;
}

/* ---- C and C++ ---- */

static int compile_host(struct compilation *c, const char *object)
{
    enum phase phase = c->dr->build.phase;
    struct strlist argv = {0};
    command_host(&argv, c->dr, c->job->kind);
    if (phase == PHASE_DEPENDENCIES)
        return run_compiler(c, &argv, "host compiler (dependencies)", NULL, NULL);
    if (phase == PHASE_PREPROCESS) {
        list_add(&argv, "-E");
        return run_compiler(c, &argv, "host compiler (preprocess)", c->job->output, NULL);
    }
    list_add(&argv, "-c");
    int status = run_compiler(c, &argv, "host compiler", object, NULL);
    if (status == 0 && !c->dr->work.dryrun &&
        access(object, F_OK) != 0) { /* -Xcompiler --version */
        diag_set(&c->dr->diag, 0, 0, "The host compiler made no object of '%s'", c->job->input);
        status = 1;
    }
    return status;
}

/* ---- PTX and fat binaries ---- */

/* Refuses a PTX file that is none. */
static int check_ptx_file(struct compilation *c)
{
    struct driver *dr = c->dr;
    struct strbuf messages = {0};
    if (c->job->kind != INPUT_PTX || dr->work.dryrun)
        return 0;
    char *ptx = file_read(c->job->input, NULL, &dr->diag);
    bool fine = ptx != NULL && device_check_file(ptx, c->job->name, &messages);
    int status = fine ? 0 : ptx != NULL ? STATUS_DEVICE_CODE : 1;
    free(ptx);
    show(c, &messages);
    return status;
}

static int compile_device_code(struct compilation *c, const char *object)
{
    struct driver *dr = c->dr;
    const char *input = c->job->input;
    int checked = check_ptx_file(c);
    if (checked != 0)
        return checked;
    if (dr->build.phase == PHASE_FATBIN || dr->build.phase == PHASE_CUBIN)
        return make_output(c, input);
    if (c->job->kind == INPUT_FATBIN)
        return wrap_device_code(dr, input, object);
    char *fatbin = intermediate(dr, input, ".fatbin");
    if (fatbin == NULL)
        return 1;
    int status = make_fatbin(dr, input, NULL, fatbin);
    return status != 0 ? status : wrap_device_code(dr, fatbin, object);
}

int compile_job(struct driver *dr, const struct job *job, char **object)
{
    struct compilation c = {
        .dr = dr,
        .job = job,
        .messages = {.arch = dr->build.arch, .legacy = command_has_legacy_api(dr)}};
    *object = NULL;
    bool makes_object = dr->build.phase == PHASE_COMPILE || dr->build.phase == PHASE_LINK ||
                        dr->build.phase == PHASE_LIB || dr->build.phase == PHASE_DLINK;
    if (makes_object) {
        *object = job->output != NULL ? job->output : intermediate(dr, job->input, ".o");
        if (*object == NULL)
            return 1;
    }
    int status;
    if (job->kind == INPUT_CUDA)
        status = compile_cuda(&c, *object);
    else if (job->kind == INPUT_PTX || job->kind == INPUT_FATBIN)
        status = compile_device_code(&c, *object);
    else
        status = compile_host(&c, *object);
    if (status == 0 && !write_rule(&c))
        status = 1;
    if (status != 0 && c.messages.errors > 0)
        fprintf(stderr, "\n%d error%s detected in the compilation of \"%s\".\n", c.messages.errors,
                c.messages.errors == 1 ? "" : "s", job->name);
    return status;
}
