/* Running clang's front end on a source file, again where the file must be rewritten for it; see
 * compilation.h. */
#include "weircc/driver/compilation.h"

#include <stdlib.h>
#include <string.h>

#include "weircc/device/llvm/clusters.h"
#include "weircc/device/llvm/host_accesses.h"
#include "weircc/driver/early_host.h"
#include "weircc/files/depfile.h"
#include "weircc/files/files.h"
#include "weircc/messages/excerpts.h"
#include "weircc/messages/mended_messages.h"
#include "weircc/messages/severities.h"
#include "weircc/source/kernel_bodies.h"
#include "weircc/source/launches.h"

char *intermediate(struct driver *dr, const char *source, const char *suffix)
{
    return work_file(&dr->work, source, suffix, &dr->diag);
}

/* Asks a compiler for its rule; NULL when none is wanted. */
static char *ask_for_rule(struct compilation *c, struct strlist *argv)
{
    struct driver *dr = c->dr;
    if (!dr->build.dependencies)
        return NULL;
    bool only = dr->build.phase == PHASE_DEPENDENCIES;
    char *file = intermediate(dr, c->job->input, ".dep");
    if (file == NULL)
        return NULL;
    list_add(argv, "-M%s%s", dr->build.skip_system ? "M" : "", only ? "" : "D");
    list_add(argv, "-MF");
    list_add(argv, "%s", file);
    return file;
}

char *complete_command(struct compilation *c, struct strlist *argv, const char *output)
{
    char *rule = ask_for_rule(c, argv);
    list_add(argv, "%s", c->job->input);
    if (output != NULL) {
        list_add(argv, "-o");
        list_add(argv, "%s", output);
    }
    return rule;
}

int run_compiler(struct compilation *c, struct strlist *argv, const char *phase, const char *output,
                 struct strbuf *errors)
{
    struct driver *dr = c->dr;
    char *rule = complete_command(c, argv, output);
    if (dr->diag.text[0] != '\0')
        return 1;
    int status = work_run(&dr->work, argv, phase, errors, &dr->diag);
    if (status == 0 && rule != NULL && !dr->work.dryrun &&
        !depfile_read(rule, &c->prerequisites, &dr->diag))
        status = 1;
    return status;
}

void show(struct compilation *c, struct strbuf *errors)
{
    /* what was learnt from a first try is no news to who has ended the second */
    if (errors->count > 0 && !work_interrupted())
        messages_show(&c->messages, errors->items);
    sb_free(errors);
}

/* The preprocessed source, for what it says of warnings. NULL: it cannot be had. */
static const char *source_text(struct compilation *c)
{
    struct driver *dr = c->dr;
    struct strlist argv = {0};
    struct strbuf ignored = {0};
    struct diag unsaid = {0};
    if (c->preprocessed.text != NULL || dr->work.dryrun)
        return c->preprocessed.text;
    char *path = intermediate(dr, c->job->input, ".pragmas.ii");
    if (path == NULL)
        return NULL;
    command_cuda(&argv, dr, PASS_DEVICE, c->job->input);
    list_add(&argv, "-E");
    list_add(&argv, "-w");
    list_add(&argv, "%s", c->job->input);
    list_add(&argv, "-o");
    list_add(&argv, "%s", path);
    if (work_run(&dr->work, &argv, "clang (preprocess)", &ignored, &unsaid) == 0) {
        c->preprocessed.command = xstrdup("");
        c->preprocessed.text = file_read(path, &c->preprocessed.size, &unsaid);
    }
    sb_free(&ignored);
    return c->preprocessed.text;
}

int show_warnings(struct compilation *c, struct strbuf *errors, int status)
{
    const struct cmdline *options = &c->dr->options;
    if (severities_concern(errors))
        severities_apply(errors, source_text(c), options);
    else if (list_has(&options->list[OPT_Werror], "all-warnings"))
        severities_apply(errors, NULL, options);
    show(c, errors);
    return status == 0 && c->messages.errors > 0 ? STATUS_FRONT_END : status;
}

static bool rewrite(struct compilation *c, enum pass pass, const char *text)
{
    struct diag *d = &c->dr->diag;
    if (c->dr->work.dryrun)
        return true;
    struct mend_plan plan = c->plan;
    if (pass == PASS_HOST)
        plan.host_calls = (struct host_calls){0};
    /* the host pass may have nothing to mend of what the device pass had */
    if (c->mend && !mend_file(text, &plan, d) && (pass == PASS_DEVICE || d->text[0] != '\0'))
        return false;
    if (c->launches &&
        !launches_rewrite_file(text, pass == PASS_DEVICE ? LAUNCH_DEVICE : LAUNCH_HOST, d))
        return false;
    return !(c->bodies && pass == PASS_HOST) || file_rewrite(text, kernel_bodies_empty, d);
}

void add_launch_options(struct strlist *argv, const struct cmdline *options)
{
    list_add(argv, "-mllvm");
    list_add(argv, "-funcspec-max-clones=0");
    if (!command_has_lines(options))
        list_add(argv, "-gline-directives-only");
}

/* Whether the user has chosen how many errors clang shows. */
static bool has_error_limit(const struct cmdline *options)
{
    const struct strlist *lists[] = {&options->list[OPT_compiler_options],
                                     &options->unknown_compiler};
    for (size_t k = 0; k < WEIR_COUNT(lists); k++)
        for (size_t i = 0; i < lists[k]->count; i++)
            if (strncmp(lists[k]->items[i], "-ferror-limit=", 14) == 0)
                return true;
    return false;
}

void add_error_limit(const struct compilation *c, struct strlist *argv)
{
    if (c->mend || !has_error_limit(&c->dr->options))
        list_add(argv, "-ferror-limit=0");
}

/* Preprocesses the source into a file. Each try needs the text anew, but clang reads it only once
 * for the same command. */
static int preprocess(struct compilation *c, const struct strlist *command, const char *text,
                      struct strbuf *errors)
{
    struct driver *dr = c->dr;
    struct preprocessed *p = &c->preprocessed;
    char *key = work_quoted(command);
    int status = 0;
    if (p->text != NULL && strcmp(key, p->command) == 0) {
        free(key);
        status = file_write(text, p->text, p->size, &dr->diag) ? 0 : 1;
    } else {
        struct strlist argv = {0};
        free(p->command);
        free(p->text);
        sb_free(&p->messages);
        *p = (struct preprocessed){.command = key};
        list_add_all(&argv, NULL, command);
        list_add(&argv, "-E");
        status = run_compiler(c, &argv, "clang (preprocess)", text, &p->messages);
        if (status == 0 && !dr->work.dryrun &&
            (p->text = file_read(text, &p->size, &dr->diag)) == NULL)
            status = 1;
    }
    if (p->messages.count > 0)
        sb_append(errors, p->messages.items, p->messages.count);
    return status;
}

/* Runs a pass on preprocessed text that is rewritten. */
static int run_rewritten(struct compilation *c, enum pass pass, const struct strlist *command,
                         const struct run *run, struct strbuf *errors)
{
    struct driver *dr = c->dr;
    char *text = intermediate(dr, c->job->input, ".rewritten.cu");
    if (text == NULL)
        return 1;
    int status = preprocess(c, command, text, errors);
    if (status != 0 || !rewrite(c, pass, text))
        return status != 0 ? status : 1;
    struct strlist rest = {0};
    command_preprocessed(&rest, command);
    list_add(&rest, "%s", run->mode);
    list_add(&rest, "-Wno-parentheses-equality"); /* those of macros are the program's now */
    add_error_limit(c, &rest);
    if (c->mend && c->plan.host_calls.warnings.count > 0 && pass == PASS_DEVICE)
        list_add(&rest,
                 "-Wno-unused-parameter"); /* those of overloads; the host pass has the rest */
    if (c->mend && c->plan.delayed && pass == PASS_DEVICE)
        list_add(&rest, "-fdelayed-template-parsing");
    if (c->mend && c->plan.specifiers.count > 0 && pass == PASS_HOST)
        list_add(&rest, "-Wno-undefined-inline"); /* specializations that the device alone has */
    unsigned side = pass == PASS_DEVICE ? MEND_DEFERS_DEVICE : MEND_DEFERS_HOST;
    if (c->mend && (c->plan.deferred & side) != 0)
        list_add(&rest, "-fgpu-defer-diag");
    /* what only launches or bodies use that the host does not have seems unused there; about that
     * the device pass has said all */
    if ((c->launches || c->bodies) && pass == PASS_HOST)
        list_add(&rest, "-Wno-unused");
    if (c->launches && pass == PASS_DEVICE)
        add_launch_options(&rest, &dr->options);
    list_add(&rest, "%s", text);
    if (run->output != NULL) {
        list_add(&rest, "-o");
        list_add(&rest, "%s", run->output);
    }
    return work_run(&dr->work, &rest, run->phase, errors, &dr->diag);
}

/* Runs a pass on the text as it is, or as it must be rewritten by what is known so far. */
static int run_once(struct compilation *c, enum pass pass, const struct strlist *command,
                    const struct run *run, struct strbuf *errors)
{
    struct strlist argv = {0};
    list_add_all(&argv, NULL, command);
    int status;
    if (pass == PASS_HOST && early_host_take(c, run->phase, errors, &status))
        return status;
    if (c->atomics)
        list_add(&argv, "-D__WEIR_CUDA_ATOMIC__=1");
    if (c->clusters && pass == PASS_DEVICE)
        list_add(&argv, "-D" CLUSTERS_MARK "=1");
    if (c->mend || c->launches || (c->bodies && pass == PASS_HOST))
        return run_rewritten(c, pass, &argv, run, errors);
    add_error_limit(c, &argv);
    list_add(&argv, "%s", run->mode);
    return run_compiler(c, &argv, run->phase, run->output, errors);
}

/* What the messages say, however they are coloured. */
static bool say(const struct strbuf *messages, bool (*what)(const char *messages))
{
    char *plain = excerpts_plain(messages->items, messages->count);
    bool said = what(plain);
    free(plain);
    return said;
}

/* Whether the namespace `cuda` lacks a name: with CUDA, cooperative_groups.h brings cuda::atomic.
 */
static bool atomics_may_be_why(const char *messages)
{
    return strstr(messages, "use of undeclared identifier 'cuda'") != NULL ||
           strstr(messages, " in namespace 'cuda'") != NULL;
}

/* Learns from the messages of a pass that failed what else must be done for the file. */
static bool learn(struct compilation *c, enum pass pass, const struct strbuf *errors)
{
    bool clusters = errors->count > 0 && !c->clusters && say(errors, clusters_are_why);
    bool launches =
        errors->count > 0 && !c->launches && c->dr->build.rdc && say(errors, launches_are_why);
    bool atomics = errors->count > 0 && !c->atomics && say(errors, atomics_may_be_why);
    c->clusters = c->clusters || clusters;
    c->atomics = c->atomics || atomics;
    bool bodies = pass == PASS_HOST && errors->count > 0 && !c->bodies &&
                  say(errors, kernel_bodies_may_be_why);
    c->launches = c->launches || launches;
    c->bodies = c->bodies || bodies;
    return clusters || launches || bodies || atomics;
}

/* The host pass once more, without what kernels do. Where it fails all stays as it was. */
static int run_without_bodies(struct compilation *c, const struct strlist *command,
                              const struct run *run, struct strbuf *errors)
{
    struct strbuf now = {0};
    c->bodies = true;
    int status = run_once(c, PASS_HOST, command, run, &now);
    c->bodies = status == 0;
    if (status == 0) {
        sb_free(errors);
        *errors = now;
    } else {
        sb_free(&now);
    }
    return status;
}

/* Runs a pass until nothing more is learnt from what it says. */
static int run_learning(struct compilation *c, enum pass pass, const struct strlist *command,
                        const struct run *run, struct strbuf *errors)
{
    int status;
    while ((status = run_once(c, pass, command, run, errors)) != 0 && learn(c, pass, errors))
        sb_free(errors);
    if (status != 0 && pass == PASS_HOST && !c->bodies && errors->count > 0 &&
        say(errors, kernel_bodies_may_use_more))
        status = run_without_bodies(c, command, run, errors);
    return status;
}

/* The same of slips in the text. */
static bool learn_slips(struct compilation *c, const struct strbuf *errors)
{
    char *plain = excerpts_plain(errors->items, errors->count);
    c->plan.host_calls.kernels = c->launches;
    bool more = mend_learn(plain, &c->plan);
    free(plain);
    return more;
}

/* The exit status for source that clang has refused, or whose output it could not write. nvcc
 * preprocesses it by the host compiler, and has another front end where device code is all that is
 * made. */
static int refused_status(struct compilation *c, const struct strlist *command, bool written)
{
    struct driver *dr = c->dr;
    enum phase phase = dr->build.phase;
    if (!written || dr->diag.text[0] != '\0' || phase == PHASE_PTX || phase == PHASE_CUBIN ||
        phase == PHASE_FATBIN)
        return 1;
    struct strlist argv = {0};
    struct strbuf ignored = {0};
    list_add_all(&argv, NULL, command);
    list_add(&argv, "-E");
    list_add(&argv, "%s", c->job->input);
    list_add(&argv, "-o");
    list_add(&argv, "/dev/null");
    int status = work_run(&dr->work, &argv, "clang (preprocess)", &ignored, &dr->diag);
    sb_free(&ignored);
    return status == 0 ? STATUS_FRONT_END : status;
}

int run_pass(struct compilation *c, enum pass pass, const struct strlist *command,
             const struct run *run)
{
    struct strbuf errors = {0};
    int status = run_learning(c, pass, command, run, &errors);
    bool mending = c->mend;
    bool more = status != 0 && errors.count > 0 && learn_slips(c, &errors);
    struct strbuf refused = {0}; /* what is said of mended text */
    while (more) {
        struct strbuf mended = {0};
        c->mend = true;
        int again = run_learning(c, pass, command, run, &mended);
        more = again != 0 && mended.count > 0 && learn_slips(c, &mended);
        struct strbuf *keep = again == 0 ? &errors : &refused;
        if (again == 0 || mended_messages_any(&mended)) {
            struct strbuf old = *keep;
            *keep = mended;
            mended = old;
        }
        status = again == 0 ? 0 : status;
        sb_free(&mended);
    }
    if (status != 0 && mending) { /* the device pass has mended it, and there is no other text */
        sb_free(&refused);
        refused = errors;
        errors = (struct strbuf){0};
    }
    bool mended = refused.count > 0;
    if (status != 0 && mended)
        mended_messages_choose(&refused, &errors);
    sb_free(&refused);
    c->mend = status == 0 ? c->mend : mending;
    if (status == 0 && pass == PASS_DEVICE && !c->dr->options.given[OPT_disable_warnings])
        for (size_t i = 0; i < c->plan.host_calls.warnings.count; i++)
            sb_printf(&errors, "%s", c->plan.host_calls.warnings.items[i]);
    if (status != 0 && !mended && !has_error_limit(&c->dr->options))
        messages_limit(&errors, 20);
    bool said = errors.count > 0;
    bool written = !said || strstr(errors.items, "unable to open output file") == NULL;
    if (show_warnings(c, &errors, status) != status) { /* some are errors */
        file_remove(run->output);
        status = 1;
    }
    return status == 1 && said ? refused_status(c, command, written) : status;
}

/* The LLVM text of the host half, as clang's front end makes it, with lines. NULL: it cannot be
 * had. */
static char *host_llvm(struct compilation *c)
{
    struct driver *dr = c->dr;
    struct strlist argv = {0};
    struct strbuf ignored = {0};
    struct diag unsaid = {0};
    char *path = intermediate(dr, c->job->input, ".host.ll");
    if (path == NULL)
        return NULL;
    command_cuda(&argv, dr, PASS_HOST, c->job->input);
    static const char *const options[] = {
        "-w", "-S", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-gline-directives-only"};
    for (size_t i = 0; i < WEIR_COUNT(options); i++)
        list_add(&argv, "%s", options[i]);
    list_add(&argv, "%s", c->job->input);
    list_add(&argv, "-o");
    list_add(&argv, "%s", path);
    int status = work_run(&dr->work, &argv, "clang (host variables)", &ignored, &unsaid);
    sb_free(&ignored);
    return status == 0 ? file_read(path, NULL, &unsaid) : NULL;
}

int warn_host_accesses(struct compilation *c)
{
    struct driver *dr = c->dr;
    struct strbuf messages = {0};
    struct diag unsaid = {0};
    if (dr->work.dryrun || dr->options.given[OPT_disable_warnings] || c->device_llvm == NULL ||
        c->mend || c->launches || c->bodies)
        return 0;
    char *device = file_read(c->device_llvm, NULL, &unsaid);
    char *host = device != NULL && host_accesses_possible(device) ? host_llvm(c) : NULL;
    if (host != NULL)
        host_accesses_find(host, device, dr->tools.include, &messages);
    free(host);
    free(device);
    return show_warnings(c, &messages, 0);
}
