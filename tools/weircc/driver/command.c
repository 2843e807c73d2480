/* The command lines of the compilers that weircc drives.
 *
 * CUDA sources are compiled by clang twice: the device pass makes PTX, the host pass an object in
 * which the PTX is embedded. Both take the toolkit from our headers, by a header that is included
 * before the source. C and C++ sources go to the host compiler, as nvcc sends them. */
#include "weircc/driver/driver.h"
#include "weircc/driver/streams.h"
#include "weircc/toolkit/own_headers.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The toolkit that clang is told it has: the newest it knows, which settles how kernels are
 * launched and registered; and the PTX version that goes with it. */
static const char sdk_version[] = "-target-sdk-version=12.5";
static const char ptx_version[] = "--cuda-feature=+ptx85";

/* ---- what several commands share ---- */

/* The toolkit's own directory of CCCL, by any name, which CMake's CUDA::cudart asks to search. What
 * it holds was chosen when Weir was built; where CCCL was found now (WEIR_CCCL, a package installed
 * since), that is searched instead, in the place that add_cuda_namespace gives it. */
static bool is_replaced(const struct toolchain *t, const char *directory)
{
    if (t->cccl.count == 0)
        return false;
    char *own = xprintf("%s/cccl", t->include);
    struct stat ours, theirs;
    bool same = stat(own, &ours) == 0 && stat(directory, &theirs) == 0 &&
                ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
    free(own);
    return same;
}

static void add_directories(struct strlist *argv, const char *option, const struct strlist *list,
                            const struct toolchain *t)
{
    for (size_t i = 0; i < list->count; i++)
        if (!is_replaced(t, list->items[i])) {
            list_add(argv, "%s", option);
            list_add(argv, "%s", list->items[i]);
        }
}

/* Our headers come first of all search paths, since another toolkit's do not fit our prelude; but
 * for directories of the program's with headers of its own by such names (own_headers.h). */
static void add_include(struct strlist *argv, const struct driver *dr)
{
    const struct strlist *paths = &dr->options.list[OPT_include_path];
    for (size_t i = 0; i < paths->count; i++)
        if (own_headers_in(dr->tools.include, paths->items[i])) {
            list_add(argv, "-I");
            list_add(argv, "%s", paths->items[i]);
        }
    list_add(argv, "-I");
    list_add(argv, "%s", dr->tools.include);
}

static void add_search_and_macros(struct strlist *argv, const struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    const struct build *p = &dr->build;
    list_add_all(argv, NULL, &c->macros);
    add_directories(argv, "-I", &c->list[OPT_include_path], &dr->tools);
    add_directories(argv, "-isystem", &c->list[OPT_system_include], &dr->tools);
    list_add_all(argv, "-include", &c->list[OPT_pre_include]);
    for (size_t i = 0; i < p->streams.count; i++) { /* they are elsewhere than their includes */
        list_add(argv, "-iquote");
        list_add(argv, "%s", p->streams.items[i].directory);
    }
}

/* Warnings as nvcc's own options ask for them. */
static void add_warnings(struct strlist *argv, const struct cmdline *c)
{
    const struct strlist *kinds = &c->list[OPT_Werror];
    if (c->given[OPT_disable_warnings])
        list_add(argv, "-w");
    if (c->given[OPT_Wreorder])
        list_add(argv, "-Wreorder");
    if (c->given[OPT_Wno_deprecated_declarations])
        list_add(argv, "-Wno-deprecated-declarations");
    if (list_has(kinds, "reorder"))
        list_add(argv, "-Werror=reorder");
    if (list_has(kinds, "deprecated-declarations"))
        list_add(argv, "-Werror=deprecated-declarations");
}

/* -Werror all-warnings, for a compiler whose messages are shown as they come. clang's of CUDA files
 * go by what the source says of nvcc's numbers first (severities.h). */
static void add_all_errors(struct strlist *argv, const struct cmdline *c)
{
    if (list_has(&c->list[OPT_Werror], "all-warnings"))
        list_add(argv, "-Werror");
}

static void add_templates(struct strlist *argv, const struct cmdline *c)
{
    if (c->value[OPT_ftemplate_depth] != NULL)
        list_add(argv, "-ftemplate-depth=%s", c->value[OPT_ftemplate_depth]);
    if (c->value[OPT_ftemplate_backtrace_limit] != NULL)
        list_add(argv, "-ftemplate-backtrace-limit=%s", c->value[OPT_ftemplate_backtrace_limit]);
}

/* -fno-NAME and -mno-NAME. */
static bool is_negative(const char *option)
{
    return strncmp(option, "-fno-", 5) == 0 || strncmp(option, "-mno-", 5) == 0;
}

/* gcc's warnings as errors: clang warns of other things, of device code, too, which gcc does not
 * see. A build that is clean by nvcc does not fail here; nvcc's own -Werror stays. */
static bool is_error_option(const char *option)
{
    return strcmp(option, "-Werror") == 0 || strncmp(option, "-Werror=", 8) == 0;
}

/* gcc's own options that tune or label its output and that clang refuses: a CUDA file does without.
 */
static bool is_gcc_only(const char *option)
{
    static const char *const prefixes[] = {"-fabi-version=",
                                           "-fabi-compat-version=",
                                           "-fgnu-unique",
                                           "-fipa-",
                                           "-fira-",
                                           "-fsched-",
                                           "-fssa-",
                                           "-fcse-",
                                           "-floop-",
                                           "-fgraphite",
                                           "-fconserve-stack",
                                           "-fvar-tracking",
                                           "-fext-numeric-literals",
                                           "-fconcepts",
                                           "-fcrossjumping",
                                           "-fcode-hoisting",
                                           "-fguess-branch-probability",
                                           "-fisolate-erroneous-paths",
                                           "-flifetime-dse",
                                           "-flive-patching",
                                           "-fpartial-inlining",
                                           "-fsplit-loops",
                                           "-fsplit-paths",
                                           "-fsplit-wide-types",
                                           "-ftoplevel-reorder",
                                           "-ftrack-macro-expansion",
                                           "-ftree-",
                                           "-fvect-cost-model",
                                           "-fsimd-cost-model",
                                           "-mpreferred-stack-boundary=",
                                           "-mavx256-split-unaligned-",
                                           "-malign-stringops",
                                           "-export-dynamic",
                                           "--param="};
    static const char *const common[] = {"-ftree-vectorize", "-ftree-slp-vectorize"};
    char *positive = is_negative(option) ? xprintf("%.2s%s", option, option + 5) : xstrdup(option);
    bool found = false;
    for (size_t i = 0; i < WEIR_COUNT(prefixes); i++)
        found |= strncmp(positive, prefixes[i], strlen(prefixes[i])) == 0;
    for (size_t i = 0; i < WEIR_COUNT(common); i++)
        found &= strcmp(positive, common[i]) != 0;
    free(positive);
    return found;
}

static void add_compiler_options(struct strlist *argv, const struct strlist *options,
                                 bool for_clang)
{
    for (size_t i = 0; i < options->count; i++)
        if (!for_clang || !(is_gcc_only(options->items[i]) || is_error_option(options->items[i])))
            list_add(argv, "%s", options->items[i]);
}

/* Options for host code. */
static void add_host_code(struct strlist *argv, const struct cmdline *c, bool for_clang)
{
    if (c->value[OPT_optimize] != NULL)
        list_add(argv, "-O%s", c->value[OPT_optimize]);
    if (c->given[OPT_debug])
        list_add(argv, for_clang ? "-gdwarf-4" : "-g"); /* valgrind ends at newer forms */
    if (c->given[OPT_profile])
        list_add(argv, "-pg");
    if (c->given[OPT_no_exceptions])
        list_add(argv, "-fno-exceptions");
    add_compiler_options(argv, &c->list[OPT_compiler_options], for_clang);
    add_compiler_options(argv, &c->unknown_compiler, for_clang);
}

static bool per_thread_stream(const struct cmdline *c)
{
    const char *v = c->value[OPT_default_stream];
    return v != NULL && strcmp(v, "per-thread") == 0;
}

/* ---- clang ---- */

/* Host compiler options change what the source says, too: macros, search paths, the dialect. The
 * device pass must see the same source, so it takes these (and the choice of warnings), but not
 * what concerns code generation for the host. */
static void add_source_options(struct strlist *argv, const struct strlist *options)
{
    static const char *const prefixes[] = {"-D",
                                           "-U",
                                           "-I",
                                           "-std=",
                                           "--std=",
                                           "-W",
                                           "-w",
                                           "-iquote",
                                           "-isystem",
                                           "-idirafter",
                                           "-include",
                                           "-imacros",
                                           "-funsigned-char",
                                           "-fsigned-char",
                                           "-fshort-enums",
                                           "-fpack-struct",
                                           "-fno-exceptions",
                                           "-fms-extensions"};
    static const char *const followed[] = {"-D",       "-U",         "-I",       "-iquote",
                                           "-isystem", "-idirafter", "-include", "-imacros"};
    for (size_t i = 0; i < options->count; i++) {
        const char *o = options->items[i];
        bool takes_next = false, match = false;
        for (size_t k = 0; k < WEIR_COUNT(prefixes); k++)
            match = match || strncmp(o, prefixes[k], strlen(prefixes[k])) == 0;
        /* -Wl, -Wa, -Wp hand things on to other programs */
        if (!match || strncmp(o, "-Wl,", 4) == 0 || strncmp(o, "-Wa,", 4) == 0 ||
            is_error_option(o))
            continue;
        for (size_t k = 0; k < WEIR_COUNT(followed); k++)
            takes_next = takes_next || strcmp(o, followed[k]) == 0;
        list_add(argv, "%s", o);
        if (takes_next && i + 1 < options->count)
            list_add(argv, "%s", options->items[++i]);
    }
}

bool command_flushes_denormals(const struct cmdline *c)
{
    return cmdline_bool(c, OPT_ftz, c->given[OPT_use_fast_math]);
}

/* The floating-point choices of nvcc in clang's and its PTX backend's terms. */
static void add_device_math(struct strlist *argv, const struct cmdline *c)
{
    bool fast = c->given[OPT_use_fast_math];
    if (fast)
        list_add(argv, "-fgpu-approx-transcendentals");
    if (command_flushes_denormals(c))
        list_add(argv, "-fgpu-flush-denormals-to-zero");
    if (!cmdline_bool(c, OPT_prec_div, !fast)) { /* 0: div.approx, 1: div.full */
        list_add(argv, "-mllvm");
        list_add(argv, "-nvptx-prec-divf32=%d", fast ? 0 : 1);
    }
    if (!cmdline_bool(c, OPT_prec_sqrt, !fast)) {
        list_add(argv, "-mllvm");
        list_add(argv, "-nvptx-prec-sqrtf32=0");
    }
    if (!cmdline_bool(c, OPT_fmad, true))
        list_add(argv, "-ffp-contract=off");
}

bool command_has_lines(const struct cmdline *c)
{
    return c->given[OPT_device_debug] || c->given[OPT_generate_line_info];
}

bool command_has_variables(const struct cmdline *c)
{
    return c->given[OPT_device_debug] && !c->given[OPT_dopt];
}

/* The level of LLVM's passes, and that of the front end, which runs none: below -O1 it would leave
 * out what it knows of bytes of bool (bools.h). */
static const char *device_level(const struct cmdline *c, bool front_end)
{
    if (!command_has_variables(c))
        return "-O2";
    return front_end ? "-O1" : "-O0";
}

/* What the front end and LLVM's passes must both be told. */
static void add_device_optimization(struct strlist *argv, const struct cmdline *c, bool front_end)
{
    list_add(argv, "%s", device_level(c, front_end));
    /* Small loops over arrays of a thread's own (fragments of matrices, say) must be unrolled: only
     * then do the arrays become registers, as they do with nvcc. */
    list_add(argv, "-mllvm");
    list_add(argv, "-unroll-threshold=1000");
    /* What is left over of an unrolled loop comes after it, as with nvcc. Lanes that go through the
     * loop once more than others would do so at its beginning else, and be at different places in
     * all of it. */
    list_add(argv, "-mllvm");
    list_add(argv, "-unroll-runtime-epilog=true");
    /* The same goes for arrays that are handed to functions. The compiler of kernels inlines all
     * calls in the end, but only here do arrays become registers thereby. */
    list_add(argv, "-mllvm");
    list_add(argv, "-inline-threshold=2000");
    /* Kernels are made into vectors across threads later on. What one thread does side by side
     * stays as it is: a vector of bytes that are not aligned would be loaded as if they were. */
    list_add(argv, "-fno-slp-vectorize");
    if (list_has(&c->list[OPT_optimization_info], "inline"))
        list_add(argv, "-Rpass=inline");
}

void command_device_library(struct strlist *argv, const struct driver *dr)
{
    char *library = xprintf("%s/weir-device.bc", dr->tools.support);
    if (access(library, R_OK) == 0) {
        list_add(argv, "-Xclang");
        list_add(argv, "-mlink-builtin-bitcode");
        list_add(argv, "-Xclang");
        list_add(argv, "%s", library);
    }
    free(library);
}

static void add_device_pass(struct strlist *argv, const struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    list_add(argv, "--cuda-device-only");
    /* A function that ends without the return it should have goes on, as nvcc's do, instead of
     * being taken for one that is never called. (Of references clang keeps thinking so.) */
    list_add(argv, "-fno-strict-return");
    /* An access by a null pointer is a fault, which a program may wait for. */
    list_add(argv, "-fno-delete-null-pointer-checks");
    /* Every cast to an integer is a call by which casts.h knows it. */
    list_add(argv, "-fno-strict-float-cast-overflow");
    list_add(argv, "%s", ptx_version);
    list_add(argv, "-DCUDA_DOUBLE_MATH_FUNCTIONS=1");
    if (dr->build.arch.accelerated) {
        list_add(argv, "-D__CUDA_ARCH_SPECIFIC__=%d0", dr->build.arch.number);
        list_add(argv, "-D__CUDA_ARCH_FAMILY_SPECIFIC__=%d0", dr->build.arch.number);
    }
    add_device_optimization(argv, c, true);
    /* Kernels read words as vectors and halves as words, by casts of pointers. nvcc compiles what
     * they say; by the letter of C++ such accesses do not concern each other. */
    list_add(argv, "-fno-strict-aliasing");
    if (command_has_variables(c)) {
        /* -g would be taken back by clang, which sees an optimization level */
        list_add(argv, "-Xclang");
        list_add(argv, "-debug-info-kind=limited");
        list_add(argv, "-Xclang");
        list_add(argv, "-dwarf-version=2");
        /* types are shown by their members: functions that nobody calls only make the PTX larger */
        list_add(argv, "-Xclang");
        list_add(argv, "-gomit-unreferenced-methods");
    } else if (command_has_lines(c)) {
        list_add(argv, "-gline-directives-only");
    }
    add_device_math(argv, c);
    command_device_library(argv, dr);
    const char *trace = c->value[OPT_fdevice_time_trace];
    if (trace != NULL) { /* clang's driver has it for hosts alone */
        list_add(argv, "-Xclang");
        list_add(argv, "-ftime-trace=%s.json", strcmp(trace, "-") != 0 ? trace : "trace");
    }
    add_source_options(argv, &c->list[OPT_compiler_options]);
    add_source_options(argv, &c->unknown_compiler);
}

/* The id by which static device symbols of this file get names of their own: the same in both
 * passes and in every build, different for files that may meet in one program. */
static void add_compilation_id(struct strlist *argv, const struct driver *dr, const char *input)
{
    const struct cmdline *c = &dr->options;
    struct hash128 h;
    char hex[33];
    hash_init(&h);
    if (c->value[OPT_frandom_seed] != NULL) {
        hash_add(&h, c->value[OPT_frandom_seed], strlen(c->value[OPT_frandom_seed]));
    } else {
        char *path = realpath(input, NULL);
        const char *stream = streams_name(&dr->build, input);
        const char *name = stream != NULL ? stream : path != NULL ? path : input;
        hash_add(&h, name, strlen(name));
        free(path);
        const struct strlist *macros = &c->macros;
        for (size_t i = 0; i < macros->count; i++)
            hash_add(&h, macros->items[i], strlen(macros->items[i]) + 1);
        const char *output = c->value[OPT_output_file] != NULL ? c->value[OPT_output_file] : "";
        hash_add(&h, output, strlen(output) + 1);
    }
    hash_hex(&h, hex);
    list_add(argv, "-fgpu-rdc");
    list_add(argv, "-fuse-cuid=none");
    list_add(argv, "-Xclang");
    list_add(argv, "-cuid=%.16s", hex);
}

/* Headers, and directories of headers. */
static int is_header_name(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL ? strncmp(dot, ".h", 2) == 0 : strcmp(entry->d_name, "CMakeFiles") != 0;
}

/* Though our headers come first they are system headers, about which a user wants no warnings.
 * clang has no option that says both of a directory, so they are named one by one. */
static void add_our_headers(struct strlist *argv, const struct driver *dr)
{
    const struct toolchain *t = &dr->tools;
    struct dirent **names;
    int count = scandir(t->include, &names, is_header_name, alphasort);
    add_include(argv, dr);
    for (int i = 0; i < count; i++) {
        bool header = strchr(names[i]->d_name, '.') != NULL;
        list_add(argv, "--system-header-prefix=%s%s", names[i]->d_name, header ? "" : "/");
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

/* What a toolkit has in its directory "cccl": NVIDIA's own libraries where the machine has them,
 * and our part of libcu++ (<cuda/...>). They come after all directories that the command line
 * names, so that a program gets those that it brings, and before those of the system. */
static void add_cuda_namespace(struct strlist *argv, const struct toolchain *t)
{
    list_add_all(argv, "-isystem", &t->wrapped);
    list_add_all(argv, "-isystem", &t->cccl);
    list_add(argv, "-isystem");
    list_add(argv, "%s/weir/cccl", t->include);
}

/* How messages look. */
static void add_message_options(struct strlist *argv, const struct cmdline *c)
{
    list_add(argv, "-Qunused-arguments");
    list_add(argv, "-fno-crash-diagnostics"); /* files in /tmp, also where it is mended */
    list_add(argv, "-Wno-unknown-warning-option");
    list_add(argv, "-Wno-ignored-optimization-argument");
    list_add(argv, "-Wno-unknown-pragmas"); /* nvcc's pragmas are everywhere */
    list_add(argv, "-Wno-pass-failed");     /* #pragma unroll is a wish */
    list_add(argv, "-Wno-register");        /* nvcc takes the word in C++17, too */
    /* constexpr functions that call log and its kin, which gcc takes for constants */
    list_add(argv, "-Wno-invalid-constexpr");
    /* "a"NAME, where NAME is a macro: of a time when literals had no suffixes */
    list_add(argv, "-Wno-reserved-user-defined-literal");
    list_add(argv, "-Wno-error=c++11-narrowing"); /* int x[] = {0.0}: nvcc warns */
    /* static_cast<E>(-1) as a constant, as in Boost's MPL before 1.81 */
    list_add(argv, "-Wno-enum-constexpr-conversion");
    list_add(argv, "-Wno-constant-logical-operand"); /* n && FLAG: nvcc and gcc say nothing */
    list_add(argv, "-Wno-missing-template-arg-list-after-template-kw"); /* T::template f(x) */
    if (isatty(STDERR_FILENO))
        list_add(argv, "-fcolor-diagnostics");
    if (cmdline_bool(c, OPT_brief_diagnostics, false))
        list_add(argv, "-fno-caret-diagnostics");
}

/* Appends text as it stands between the quotes of a string. */
static void add_escaped(struct strbuf *out, const char *text)
{
    sb_append(out, "", 0);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            sb_append(out, "\\", 1);
        sb_append(out, text, 1);
    }
}

void command_define_string(struct strlist *argv, const char *macro, const char *text,
                           enum reader reader)
{
    struct strbuf inner = {0}, outer = {0};
    add_escaped(&inner, text);
    add_escaped(&outer, reader == READER_ASSEMBLER ? inner.items : text);
    list_add(argv, "-D%s=\"%s\"", macro, outer.items);
    sb_free(&inner);
    sb_free(&outer);
}

bool command_has_legacy_api(const struct driver *dr)
{
    return dr->options.given[OPT_legacy_api] || dr->build.arch.old;
}

/* What CUDA has dropped, for programs of that time. */
static void add_legacy_api(struct strlist *argv, const struct driver *dr)
{
    if (command_has_legacy_api(dr))
        list_add(argv, "-DWEIR_LEGACY_API=1");
}

/* The macros of CUDA files that follow from options. */
static void add_nvcc_macros(struct strlist *argv, const struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    list_add(argv, "-D__CUDA_ARCH_LIST__=%d0", dr->build.arch.number);
    add_legacy_api(argv, dr);
    if (dr->build.arch.old)
        list_add(argv, "-DCUDA_FORCE_CDP1_IF_SUPPORTED=1");
    if (c->given[OPT_use_fast_math])
        list_add(argv, "-D__USE_FAST_MATH__=1");
    if (c->given[OPT_device_debug])
        list_add(argv, "-D__CUDACC_DEBUG__=1");
    if (c->given[OPT_extended_lambda] || c->given[OPT_expt_extended_lambda])
        list_add(argv, "-D__CUDACC_EXTENDED_LAMBDA__=1");
    if (c->given[OPT_expt_relaxed_constexpr])
        list_add(argv, "-D__CUDACC_RELAXED_CONSTEXPR__=1");
    if (c->given[OPT_extensible_whole_program])
        list_add(argv, "-D__CUDACC_EWP__=1");
    if (per_thread_stream(c))
        list_add(argv, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
}

void command_cuda(struct strlist *argv, const struct driver *dr, enum pass pass, const char *input)
{
    const struct cmdline *c = &dr->options;
    const struct toolchain *t = &dr->tools;
    list_add(argv, "%s", t->clang);
    list_add(argv, "-x");
    list_add(argv, "cuda");
    list_add(argv, "--cuda-path=/nonexistent"); /* no SDK of others, wherever one is */
    list_add(argv, "-nocudainc");
    list_add(argv, "-nocudalib");
    list_add(argv, "--cuda-gpu-arch=%s", arch_name(&dr->build.arch));
    list_add(argv, "-Xclang");
    list_add(argv, "%s", sdk_version);
    list_add(argv, "-Xclang"); /* declared, as overloads to choose from, they may be */
    list_add(argv, "-fcuda-allow-variadic-functions");
    if (t->older_names) /* what both instantiate has one name */
        list_add(argv, "-fclang-abi-compat=17");
    add_message_options(argv, c);
    add_our_headers(argv, dr);
    list_add(argv, "-include");
    list_add(argv, "weir/prelude.h");
    add_nvcc_macros(argv, dr);
    if (per_thread_stream(c)) {
        list_add(argv, "-Xclang"); /* the driver keeps it from single passes */
        list_add(argv, "-fgpu-default-stream=per-thread");
    }
    if (c->value[OPT_std] != NULL)
        list_add(argv, "-std=%s", c->value[OPT_std]);
    list_add(argv, "-fgnu-keywords"); /* typeof, which nvcc takes with -std=c++17, too */
    add_warnings(argv, c);
    add_templates(argv, c);
    add_search_and_macros(argv, dr);
    add_cuda_namespace(argv, t);
    if (dr->build.rdc)
        add_compilation_id(argv, dr, input);
    if (pass == PASS_DEVICE) {
        /* lanes pass what they have not set to shuffles that read another lane's */
        list_add(argv, "-Xclang");
        list_add(argv, "-no-enable-noundef-analysis");
        add_device_pass(argv, dr);
        return;
    }
    list_add(argv, "--cuda-host-only");
    /* Host code of CUDA programs is commonly written for, and only tested with, a compiler that
     * lets signed integers wrap in practice. */
    list_add(argv, "-fwrapv");
    list_add(argv, "-include");
    list_add(argv, "%s/host.h", t->support);
    command_define_string(argv, "__WEIR_TOOLKIT_LIB__", t->lib, READER_C);
    if (dr->build.rdc) {
        list_add(argv, "--offload-new-driver");
        list_add(argv, "-include");
        list_add(argv, "%s/rdc.h", t->support);
    }
    add_host_code(argv, c, true);
}

void command_host_half(struct strlist *argv, const struct driver *dr, const char *input,
                       const char *fatbin)
{
    command_cuda(argv, dr, PASS_HOST, input);
    list_add(argv, "-Xclang");
    list_add(argv, "-fcuda-include-gpubinary");
    list_add(argv, "-Xclang");
    list_add(argv, "%s", fatbin);
}

void command_llvm(struct strlist *argv, const struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    list_add(argv, "%s", dr->tools.clang);
    list_add(argv, "-x");
    list_add(argv, "ir");
    list_add(argv, "--target=nvptx64-nvidia-cuda");
    list_add(argv, "--cuda-path=/nonexistent");
    list_add(argv, "-nocudalib");
    list_add(argv, "-march=%s", arch_name(&dr->build.arch));
    list_add(argv, "-Xclang");
    list_add(argv, "-target-feature");
    list_add(argv, "-Xclang");
    list_add(argv, "%s", strchr(ptx_version, '=') + 1);
    add_message_options(argv, c);
    add_warnings(argv, c);
    add_all_errors(argv, c);
    add_device_optimization(argv, c, false);
    if (cmdline_bool(c, OPT_fmad, true)) { /* -ffp-contract is for sources */
        list_add(argv, "-mllvm");
        list_add(argv, "-nvptx-fma-level=2");
    }
    add_device_math(argv, c);
    if (c->given[OPT_source_in_ptx])
        list_add(argv, "-fverbose-asm");
    else if (command_has_variables(c)) /* else each byte for debuggers has a line's comment */
        list_add(argv, "-fno-verbose-asm");
}

void command_preprocessed(struct strlist *argv, const struct strlist *command)
{
    static const char *const joined[] = {"-D", "-U", "-I"};
    static const char *const separate[] = {"-D",       "-U",       "-I",         "-include",
                                           "-imacros", "-isystem", "-idirafter", "-iquote"};
    for (size_t i = 0; i < command->count; i++) {
        const char *arg = command->items[i];
        bool drop = false;
        for (size_t k = 0; k < WEIR_COUNT(separate); k++)
            if (strcmp(arg, separate[k]) == 0)
                drop = true;
        if (drop) {
            i++;
            continue;
        }
        for (size_t k = 0; k < WEIR_COUNT(joined); k++)
            drop = drop || strncmp(arg, joined[k], strlen(joined[k])) == 0;
        if (!drop)
            list_add(argv, "%s", arg);
    }
}

/* ---- the host compiler ---- */

void command_host(struct strlist *argv, const struct driver *dr, enum input_kind kind)
{
    static const char *const languages[] = {
        [INPUT_CXX] = "c++",
        [INPUT_C] = "c",
        [INPUT_CXX_PREPROCESSED] = "c++-cpp-output",
        [INPUT_C_PREPROCESSED] = "cpp-output",
    };
    const struct cmdline *c = &dr->options;
    bool cxx = kind == INPUT_CXX || kind == INPUT_CXX_PREPROCESSED;
    list_add(argv, "%s", dr->tools.cc);
    list_add(argv, "-x");
    list_add(argv, "%s", languages[kind]);
    if (cxx && c->value[OPT_std] != NULL)
        list_add(argv, "-std=%s", c->value[OPT_std]);
    list_add(argv, "-m64");
    add_include(argv, dr);
    list_add(argv, "-D__NVCC__=1");
    list_add(argv, "-D__CUDACC_VER_MAJOR__=%d", WEIRCC_CUDA_MAJOR);
    list_add(argv, "-D__CUDACC_VER_MINOR__=%d", WEIRCC_CUDA_MINOR);
    list_add(argv, "-D__CUDACC_VER_BUILD__=0");
    list_add(argv, "-D__CUDA_ARCH_LIST__=%d0", dr->build.arch.number);
    add_legacy_api(argv, dr);
    if (per_thread_stream(c))
        list_add(argv, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
    add_warnings(argv, c);
    add_all_errors(argv, c);
    if (cxx)
        add_templates(argv, c);
    add_search_and_macros(argv, dr);
    add_cuda_namespace(argv, &dr->tools);
    add_host_code(argv, c, false);
}

/* ---- the host compiler for the host half of CUDA files ---- */

bool command_has_host_option(const struct cmdline *c, const char *option)
{
    return list_has(&c->list[OPT_compiler_options], option) ||
           list_has(&c->unknown_compiler, option);
}

/* What stands before the source. */
static void add_host_preludes(struct strlist *argv, const struct driver *dr, const char *rdc_text)
{
    const struct toolchain *t = &dr->tools;
    list_add(argv, "-include");
    list_add(argv, "weir/host_prelude.h");
    list_add(argv, "-include");
    list_add(argv, "%s/ccbin.h", t->support);
    list_add(argv, "-include");
    list_add(argv, "%s/host.h", t->support);
    command_define_string(argv, "__WEIR_TOOLKIT_LIB__", t->lib, READER_C);
    if (rdc_text != NULL) {
        list_add(argv, "-D__CUDACC_RDC__=1");
        list_add(argv, "-include");
        list_add(argv, "%s/rdc.h", t->support);
        command_define_string(argv, "__WEIR_RDC_ASM__", rdc_text, READER_ASSEMBLER);
    }
}

void command_host_preprocess(struct strlist *argv, const struct driver *dr, const char *rdc_text)
{
    const struct cmdline *c = &dr->options;
    const struct toolchain *t = &dr->tools;
    list_add(argv, "%s", t->cc);
    list_add(argv, "-x");
    list_add(argv, "c++");
    list_add(argv, "-E");
    if (c->value[OPT_std] != NULL)
        list_add(argv, "-std=%s", c->value[OPT_std]);
    list_add(argv, "-m64");
    add_include(argv, dr);
    list_add(argv, "-DWEIR_HOST_FRONTEND=1");
    add_nvcc_macros(argv, dr);
    add_host_preludes(argv, dr, rdc_text);
    add_search_and_macros(argv, dr);
    add_cuda_namespace(argv, t);
    list_add(argv, "-idirafter"); /* the declarations of what device code calls */
    list_add(argv, "%s/clang/19/include", t->clang_lib);
    add_host_code(argv, c, false);
}

void command_host_assembler(struct strlist *argv, const struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    list_add(argv, "%s", dr->tools.cc);
    list_add(argv, "-x");
    list_add(argv, "c++-cpp-output");
    if (c->value[OPT_std] != NULL)
        list_add(argv, "-std=%s", c->value[OPT_std]);
    list_add(argv, "-fgnu-keywords"); /* typeof, as for clang */
    list_add(argv, "-m64");
    list_add(argv, "-S");
    /* A class may give a name that it has used another meaning (`using BlockScan = BlockScan<T>`):
     * nvcc's front end lets that pass, and CUB does it. */
    list_add(argv, "-fpermissive");
    list_add(argv, "-Wno-attributes");       /* those of kernels are also on what only names them */
    list_add(argv, "-Wno-unknown-pragmas");  /* nvcc's, clang's */
    list_add(argv, "-Wno-unused-parameter"); /* of functions whose bodies are the device's */
    add_warnings(argv, c);
    add_all_errors(argv, c);
    add_templates(argv, c);
    add_host_code(argv, c, false);
}
