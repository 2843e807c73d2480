/* From the command line to a build; see driver.h. */
#include "weircc/driver/driver.h"
#include "weircc/driver/streams.h"
#include "weircc/files/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a file is, by its suffix. */
static const struct {
    const char *suffix;
    enum input_kind kind;
} suffixes[] = {
    {".cu", INPUT_CUDA},
    {".cpp", INPUT_CXX},
    {".cc", INPUT_CXX},
    {".cxx", INPUT_CXX},
    {".C", INPUT_CXX},
    {".c++", INPUT_CXX},
    {".c", INPUT_C},
    {".ii", INPUT_CXX_PREPROCESSED},
    {".i", INPUT_C_PREPROCESSED},
    {".ptx", INPUT_PTX},
    {".fatbin", INPUT_FATBIN},
    {".cubin", INPUT_CUBIN},
    {".o", INPUT_OBJECT},
    {".obj", INPUT_OBJECT},
    {".a", INPUT_OBJECT},
    {".lib", INPUT_OBJECT},
    {".so", INPUT_OBJECT},
    {".lo", INPUT_OBJECT},
};

static const char *suffix_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot != NULL ? dot : "";
}

static bool is_source(enum input_kind kind) { return kind <= INPUT_C_PREPROCESSED; }

static bool input_kind(const struct driver *dr, const char *path, enum input_kind *kind,
                       struct diag *d)
{
    const char *suffix = suffix_of(path);
    const char *language = dr->options.value[OPT_x];
    bool known = false;
    if (language == NULL && strcmp(path, "-") == 0)
        return diag_set(d, 0, 0,
                        "Standard input ('-') needs an option that says its language: -x cu, "
                        "-x c++ or -x c");
    for (size_t i = 0; i < WEIR_COUNT(suffixes); i++)
        if (strcmp(suffix, suffixes[i].suffix) == 0) {
            *kind = suffixes[i].kind;
            known = true;
        }
    if (!known && strstr(path, ".so.") != NULL) {
        *kind = INPUT_OBJECT;
        known = true;
    }
    if (language != NULL && (!known || is_source(*kind))) {
        *kind = strcmp(language, "cu") == 0  ? INPUT_CUDA
                : strcmp(language, "c") == 0 ? INPUT_C
                                             : INPUT_CXX;
        return true;
    }
    if (strcmp(suffix, ".cubin") == 0 && dr->build.linked_as == PHASE_DLINK)
        return diag_set(
            d, 0, 0,
            "'%s' holds machine code of a GPU, which cannot run here: build PTX instead "
            "(-ptx or -fatbin); what weircc -cubin writes is an input of -dlink -cubin alone",
            path);
    return known || diag_set(d, 0, 0, "Don't know what to do with '%s'", path);
}

static bool check_readable(const char *path, struct diag *d)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return diag_set(d, 0, 0, "Cannot read '%s': %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return diag_set(d, 0, 0, "Cannot read '%s': it is a directory", path);
    if (access(path, R_OK) != 0)
        return diag_set(d, 0, 0, "Cannot read '%s': %s", path, strerror(errno));
    return true;
}

/* Whether an option for the host compiler makes it answer instead of compiling. Build files ask
 * nvcc so which compiler it has, of a file that need not be there: `nvcc .c -Xcompiler --version`.
 */
static bool asks_host_compiler(const struct cmdline *c)
{
    static const char *const questions[] = {"--version", "--help", "-dumpversion",
                                            "-dumpfullversion", "-dumpmachine"};
    for (size_t i = 0; i < WEIR_COUNT(questions); i++)
        if (list_has(&c->list[OPT_compiler_options], questions[i]))
            return true;
    return false;
}

/* ---- the phase ---- */

static enum phase choose_phase(const struct cmdline *c)
{
    static const struct {
        enum option_id id;
        enum phase phase;
    } order[] = {
        {OPT_generate_dependencies, PHASE_DEPENDENCIES},
        {OPT_generate_nonsystem_dependencies, PHASE_DEPENDENCIES},
        {OPT_preprocess, PHASE_PREPROCESS},
        {OPT_fdevice_syntax_only, PHASE_SYNTAX},
        {OPT_fatbin, PHASE_FATBIN},
        {OPT_cubin, PHASE_CUBIN},
        {OPT_ptx, PHASE_PTX},
        {OPT_cuda, PHASE_CPLUSPLUS},
        {OPT_device_link, PHASE_DLINK},
        {OPT_device_c, PHASE_COMPILE},
        {OPT_device_w, PHASE_COMPILE},
        {OPT_compile, PHASE_COMPILE},
        {OPT_lib, PHASE_LIB},
    };
    for (size_t i = 0; i < WEIR_COUNT(order); i++)
        if (c->given[order[i].id])
            return order[i].phase;
    return PHASE_LINK;
}

static bool choose(struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    struct build *p = &dr->build;
    p->phase = choose_phase(c);
    p->rdc = c->given[OPT_device_c] ||
             (cmdline_bool(c, OPT_relocatable_device_code, false) && !c->given[OPT_device_w]);
    bool with_compile = c->given[OPT_generate_dependencies_with_compile] ||
                        c->given[OPT_generate_nonsystem_dependencies_with_compile];
    p->skip_system = c->given[OPT_generate_nonsystem_dependencies] ||
                     c->given[OPT_generate_nonsystem_dependencies_with_compile];
    p->dependencies = with_compile || p->phase == PHASE_DEPENDENCIES;
    if (p->phase == PHASE_CPLUSPLUS && p->rdc)
        return diag_set(&dr->diag, 0, 0, "-cuda is not supported with -rdc=true: compile with -dc");
    p->linked_as = PHASE_DLINK;
    if ((p->phase == PHASE_CUBIN || p->phase == PHASE_FATBIN) && c->given[OPT_device_link]) {
        p->linked_as = p->phase;
        p->phase = PHASE_DLINK;
    }
    p->run_after = c->given[OPT_run] && p->phase == PHASE_LINK;
    if (with_compile && p->phase == PHASE_PREPROCESS)
        return diag_set(&dr->diag, 0, 0,
                        "'-MD'/'-MMD' is not supported when '-E' is also specified");
    return true;
}

/* ---- names of outputs ---- */

static bool is_linking(enum phase phase)
{
    return phase == PHASE_LINK || phase == PHASE_LIB || phase == PHASE_DLINK;
}

static char *in_output_directory(const struct driver *dr, const char *stem, const char *suffix)
{
    const char *dir = dr->options.value[OPT_output_directory];
    return dir != NULL ? xprintf("%s/%s%s", dir, stem, suffix) : xprintf("%s%s", stem, suffix);
}

/* "dir/a.o" with its suffix, if it has one, replaced. */
static char *with_suffix(const char *path, const char *suffix)
{
    const char *old = suffix_of(path);
    return xprintf("%.*s%s", (int)(strlen(path) - strlen(old)), path, suffix);
}

/* A path without its directory. */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void name_outputs(struct driver *dr, struct job *job)
{
    const struct cmdline *c = &dr->options;
    struct build *p = &dr->build;
    const char *wish = c->value[OPT_output_file];
    const char *suffix = p->phase == PHASE_PTX      ? ".ptx"
                         : p->phase == PHASE_FATBIN ? ".fatbin"
                         : p->phase == PHASE_CUBIN  ? ".cubin"
                                                    : ".o";
    char *by_input = p->phase == PHASE_CPLUSPLUS
                         ? in_output_directory(dr, base_of(job->name), ".cpp.ii")
                         : in_output_directory(dr, stem_of(job->name), suffix);
    bool one_each = p->phase == PHASE_COMPILE || p->phase == PHASE_PTX ||
                    p->phase == PHASE_FATBIN || p->phase == PHASE_CUBIN ||
                    p->phase == PHASE_CPLUSPLUS;
    if (one_each)
        job->output = wish != NULL ? xstrdup(wish) : by_input;
    else if (p->phase == PHASE_PREPROCESS && wish != NULL)
        job->output = xstrdup(wish);
    if (!p->dependencies)
        return;
    const char *object = p->phase == PHASE_DEPENDENCIES || wish == NULL ? by_input : wish;
    const char *target = c->value[OPT_dependency_target_name];
    job->target = xstrdup(target != NULL ? target : object);
    const char *file = c->value[OPT_dependency_output];
    if (file == NULL && p->phase == PHASE_DEPENDENCIES)
        file = wish; /* NULL: standard output */
    else if (file == NULL)
        file = with_suffix(object, ".d");
    job->depfile = file != NULL ? xstrdup(file) : NULL;
    job->joins_rules = c->given[OPT_dependency_output] && job > p->jobs.items;
}

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

static bool check_single_output(const struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    const struct build *p = &dr->build;
    bool named = c->given[OPT_output_file] && !is_linking(p->phase);
    /* whose name the output's makes; one that -MF names holds the rules of all inputs */
    bool named_rule =
        p->dependencies && c->given[OPT_output_file] && !c->given[OPT_dependency_output];
    if (p->jobs.count > 1 && (named || named_rule))
        return diag_set(
            (struct diag *)&dr->diag, 0, 0,
            "A single input file is required for a non-link phase when an outputfile is "
            "specified");
    return true;
}

/* Outputs are named after inputs without their directories, so two inputs may name one output. nvcc
 * keeps what is written last. */
static bool check_distinct(const struct driver *dr, const struct job *job, struct diag *d)
{
    for (const struct job *other = dr->build.jobs.items; other < job; other++) {
        const char *both = same(job->output, other->output)                          ? job->output
                           : !job->joins_rules && same(job->depfile, other->depfile) ? job->depfile
                                                                                     : NULL;
        if (both != NULL)
            return diag_set(d, 0, 0,
                            "'%s' and '%s' would both be written to '%s': compile them one by one, "
                            "with -o or -odir",
                            other->name, job->name, both);
    }
    return true;
}

static char *linked_name(const struct driver *dr)
{
    if (dr->options.value[OPT_output_file] != NULL)
        return xstrdup(dr->options.value[OPT_output_file]);
    static const char *const names[] = {
        [PHASE_LINK] = "a.out",
        [PHASE_LIB] = "a.a",
        [PHASE_DLINK] = "a_dlink.o",
        [PHASE_CUBIN] = "a_dlink.cubin",
        [PHASE_FATBIN] = "a_dlink.fatbin",
    };
    enum phase as = dr->build.phase == PHASE_DLINK ? dr->build.linked_as : dr->build.phase;
    return in_output_directory(dr, names[as], "");
}

/* An output must not overwrite an input: `weircc -o a.cu a.cu` is a slip that costs the source. */
static bool check_not_input(const struct driver *dr, const char *output, struct diag *d)
{
    struct stat out, in;
    if (output == NULL || stat(output, &out) != 0 || !S_ISREG(out.st_mode))
        return true;
    for (size_t i = 0; i < dr->options.order.count; i++) {
        const struct link_item *item = &dr->options.order.items[i];
        if (item->kind == ITEM_INPUT && stat(item->text, &in) == 0 && in.st_dev == out.st_dev &&
            in.st_ino == out.st_ino)
            return diag_set(d, 0, 0, "Output file '%s' is the input file '%s'", output, item->text);
    }
    return true;
}

/* ---- inputs ---- */

/* Whether the phase does anything with inputs of this kind, and whether that is a job. */
static bool takes(const struct build *p, enum input_kind kind, bool *job)
{
    const enum phase phase = p->phase;
    bool linked = phase == PHASE_DLINK && p->linked_as == PHASE_DLINK; /* into an object */
    *job = false;
    if (phase == PHASE_DLINK && !linked && (kind == INPUT_FATBIN || kind == INPUT_PTX))
        return true; /* as they are */
    switch (kind) {
    case INPUT_CUBIN:
    case INPUT_OBJECT: return true; /* nothing is left to do for it before linking, as with nvcc */
    case INPUT_FATBIN: return *job = linked || (phase == PHASE_COMPILE && p->rdc);
    case INPUT_PTX:
        return *job = linked || phase == PHASE_FATBIN || phase == PHASE_CUBIN ||
                      (phase == PHASE_COMPILE && p->rdc);
    case INPUT_CUDA: *job = true; return true;
    case INPUT_C_PREPROCESSED:
    case INPUT_CXX_PREPROCESSED: *job = is_linking(phase) || phase == PHASE_COMPILE; return true;
    case INPUT_C:
    case INPUT_CXX: /* device-only phases have nothing to take from them */
        *job = phase != PHASE_PTX && phase != PHASE_FATBIN && phase != PHASE_CUBIN &&
               phase != PHASE_CPLUSPLUS && phase != PHASE_SYNTAX;
        return true;
    }
    return false;
}

static bool add_input(struct driver *dr, const char *path)
{
    struct build *p = &dr->build;
    struct diag *d = &dr->diag;
    enum input_kind kind;
    bool is_job;
    if (p->run_after && suffix_of(path)[0] == '\0' && access(path, X_OK) == 0) {
        p->program = path; /* `-run program`: there is nothing to link */
        return true;
    } else if (!input_kind(dr, path, &kind, d)) {
        return false;
    }
    bool is_stdin = strcmp(path, "-") == 0;
    bool asks = (kind == INPUT_C || kind == INPUT_CXX) && asks_host_compiler(&dr->options);
    if (!is_stdin && !asks && !check_readable(path, d))
        return false;
    if (!takes(p, kind, &is_job))
        return diag_set(d, 0, 0,
                        "'%s': %s files are only allowed with '--device-c (-dc)', '--device-link "
                        "(-dlink)'%s",
                        path, kind == INPUT_PTX ? ".ptx" : ".fatbin",
                        kind == INPUT_PTX ? " or '--fatbin (-fatbin)'" : "");
    if (is_job) {
        struct job job = {
            .input = path, .name = is_stdin ? STANDARD_INPUT_NAME : path, .kind = kind};
        vec_push(&p->jobs, job);
        vec_push(&p->link_job, p->link_inputs.count);
    }
    for (size_t i = 0; is_stdin && i < p->link_inputs.count; i++)
        if (strcmp(p->link_inputs.items[i], "-") == 0)
            return diag_set(d, 0, 0, "Standard input ('-') is named twice");
    list_add(&p->link_inputs, "%s", path);
    return true;
}

/* An option by which the host compiler's assembler text would hold no code; NULL: there is none. */
static const char *link_time_option(const struct cmdline *c)
{
    const struct strlist *lists[] = {&c->list[OPT_compiler_options], &c->unknown_compiler};
    for (size_t i = 0; i < WEIR_COUNT(lists); i++)
        for (size_t k = 0; k < lists[i]->count; k++)
            if (strncmp(lists[i]->items[k], "-flto", 5) == 0)
                return lists[i]->items[k];
    return NULL;
}

/* Whether host code must be the host compiler's for its OpenMP: gcc and clang call different
 * libraries, and objects may be linked by gcc (CMake does that), which brings its own alone. The
 * link that weircc does brings clang's where that is there. */
static bool needs_host_openmp(const struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    if (!command_has_host_option(c, "-fopenmp") || strstr(base_of(dr->tools.cxx), "clang") != NULL)
        return false;
    char *library = xprintf("%s/libomp.so", dr->tools.clang_lib);
    bool clang_has = access(library, R_OK) == 0;
    free(library);
    return dr->build.phase != PHASE_LINK || !clang_has;
}

static bool choose_host_frontend(struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    const char *wish = c->value[OPT_host_frontend];
    const char *link_time = link_time_option(c);
    if (wish == NULL) {
        bool other = link_time == NULL && needs_host_openmp(dr);
        dr->build.host_frontend = other ? HOST_CCBIN_OPENMP : HOST_CLANG;
        return true;
    }
    dr->build.host_frontend = strcmp(wish, "ccbin") == 0 ? HOST_CCBIN : HOST_CLANG;
    if (dr->build.host_frontend == HOST_CCBIN && link_time != NULL)
        return diag_set(&dr->diag, 0, 0,
                        "--host-frontend=ccbin is not supported with '%s': the host compiler's "
                        "assembler text would hold no code",
                        link_time);
    return true;
}

bool build_decide(struct driver *dr)
{
    struct build *p = &dr->build;
    struct cmdline *c = &dr->options;
    if (!choose(dr) || !arch_choose(c, &p->arch, &dr->diag) || !choose_host_frontend(dr))
        return false;
    bool any = false;
    for (size_t i = 0; i < c->order.count; i++) {
        const struct link_item *item = &c->order.items[i];
        if (item->kind == ITEM_INPUT) {
            any = true;
            if (!add_input(dr, item->text))
                return false;
        } else if (item->kind == ITEM_LIBRARY) {
            list_add(&p->link_inputs, "-l%s", item->text);
        } else {
            list_add(&p->link_inputs, "-Xlinker");
            list_add(&p->link_inputs, "%s", item->text);
        }
    }
    if (!any)
        return diag_set(&dr->diag, 0, 0,
                        "No input files specified; use option --help for more information");
    if (!check_single_output(dr))
        return false;
    for (size_t i = 0; i < p->jobs.count; i++) {
        name_outputs(dr, &p->jobs.items[i]);
        if (!check_not_input(dr, p->jobs.items[i].output, &dr->diag) ||
            !check_distinct(dr, &p->jobs.items[i], &dr->diag))
            return false;
    }
    if (is_linking(p->phase) && p->program == NULL) {
        p->output = linked_name(dr);
        return check_not_input(dr, p->output, &dr->diag);
    }
    return true;
}

void build_clean(const struct build *build)
{
    for (size_t i = 0; i < build->jobs.count; i++) {
        file_remove(build->jobs.items[i].output);
        file_remove(build->jobs.items[i].depfile);
    }
    file_remove(build->output);
}
