/* After compilation: programs, shared and static libraries, device linking, running. */
#include "weircc/driver/steps.h"
#include "weircc/files/files.h"
#include "weircc/messages/link_messages.h"
#include "weircc/objects/device_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- relocatable device code ---- */

/* An empty file with what the host pass includes before a compiled one. */
int wrap_device_code(struct driver *dr, const char *fatbin, const char *object)
{
    char *text = rdc_text(dr, fatbin);
    if (text == NULL)
        return 1;
    struct strlist argv = {0};
    list_add(&argv, "%s", dr->tools.clang);
    list_add(&argv, "-x");
    list_add(&argv, "c");
    list_add(&argv, "-include");
    list_add(&argv, "%s/rdc.h", dr->tools.support);
    command_define_string(&argv, "__WEIR_RDC_ASM__", text, READER_ASSEMBLER);
    list_add(&argv, "-c");
    list_add(&argv, "/dev/null");
    list_add(&argv, "-o");
    list_add(&argv, "%s", object);
    return work_run(&dr->work, &argv, "wrap", NULL, &dr->diag);
}

/* An archive of this name in a directory; NULL when there is none. */
static char *archive_in(const char *directory, const char *library)
{
    char *path = library[0] == ':' ? xprintf("%s/%s", directory, library + 1)
                                   : xprintf("%s/lib%s.a", directory, library);
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

static char *find_archive(const struct driver *dr, const char *library)
{
    const struct strlist *paths = &dr->options.list[OPT_library_path];
    char *path = NULL;
    for (size_t i = 0; path == NULL && i < paths->count; i++)
        path = archive_in(paths->items[i], library);
    return path != NULL ? path : archive_in(dr->tools.lib, library);
}

static bool is_shared_library(const char *path)
{
    const char *so = strstr(path, ".so");
    return so != NULL && (so[3] == '\0' || so[3] == '.');
}

/* What the linker of host code would be given, as files of which device code may come: libraries
 * are looked for as archives in the directories of -L and Weir's own, and left out where there are
 * none. */
static void device_link_inputs(const struct driver *dr, struct strlist *files)
{
    const struct strlist *inputs = &dr->build.link_inputs;
    for (size_t i = 0; i < inputs->count; i++) {
        const char *input = inputs->items[i];
        if (strcmp(input, "-Xlinker") == 0) {
            i++; /* an option for host code's */
        } else if (strncmp(input, "-l", 2) == 0) {
            char *path = find_archive(dr, input + 2);
            if (path != NULL && !list_has(files, path))
                list_add(files, "%s", path);
            free(path);
        } else if (!is_shared_library(input)) {
            list_add(files, "%s", input);
        }
    }
}

/* Linked device code by itself. */
static int link_image(struct driver *dr)
{
    const struct build *p = &dr->build;
    struct strlist files = {0};
    char *ptx = work_file(&dr->work, p->output, ".ptx", &dr->diag);
    if (ptx == NULL)
        return 1;
    list_add(&files, "%d", p->arch.number);
    list_add(&files, "%s", ptx);
    device_link_inputs(dr, &files);
    int status = step_run_all(dr, STEP_DEVICE_LINK, &files);
    if (status != 0)
        status = STATUS_DEVICE_CODE;
    else
        status = step_run(dr, p->linked_as == PHASE_CUBIN ? STEP_CUBIN : STEP_FATBIN, ptx,
                          p->output, NULL);
    return status;
}

int link_device(struct driver *dr)
{
    const struct build *p = &dr->build;
    if (p->linked_as != PHASE_DLINK)
        return link_image(dr);
    struct strlist argv = {0};
    list_add(&argv, "%s", dr->tools.cxx);
    list_add(&argv, "-r");
    list_add(&argv, "-nostdlib");
    list_add(&argv, "%s/weir-rdc.o", dr->tools.support);
    /* Objects stay inputs of the final link; only device code that came by itself goes in here. */
    for (size_t i = 0; i < p->jobs.count; i++)
        list_add(&argv, "%s", p->link_inputs.items[p->link_job.items[i]]);
    list_add(&argv, "-o");
    list_add(&argv, "%s", p->output);
    return work_run(&dr->work, &argv, "device link", NULL, &dr->diag);
}

/* ---- libraries and programs ---- */

int link_library(struct driver *dr)
{
    const struct build *p = &dr->build;
    struct strlist argv = {0};
    struct stat before = {0}, now;
    bool had = stat(p->output, &before) == 0;
    list_add(&argv, "%s", dr->tools.ar);
    list_add(&argv, "crs");
    list_add_all(&argv, NULL, &dr->options.list[OPT_archive_options]);
    list_add(&argv, "%s", p->output);
    for (size_t i = 0; i < p->link_inputs.count; i++) {
        if (strcmp(p->link_inputs.items[i], "-Xlinker") == 0)
            i++;
        else if (strncmp(p->link_inputs.items[i], "-l", 2) != 0)
            list_add(&argv, "%s", p->link_inputs.items[i]);
    }
    int status = work_run(&dr->work, &argv, "archive", NULL, &dr->diag);
    bool changed = stat(p->output, &now) == 0 &&
                   (!had || now.st_size != before.st_size ||
                    memcmp(&now.st_mtim, &before.st_mtim, sizeof now.st_mtim) != 0);
    if (status != 0 && changed) /* it leaves half an archive where the disk is full */
        file_remove(p->output);
    return status;
}

/* A directory in which the program itself looks for shared libraries. */
static void add_search_path(struct strlist *argv, const char *directory)
{
    list_add(argv, "-Xlinker");
    list_add(argv, "-rpath");
    list_add(argv, "-Xlinker");
    list_add(argv, "%s", directory);
}

/* Whether the command line asks for OpenMP, of the compiler or of the linker. */
static bool wants_openmp(const struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    static const char *const libraries[] = {"-lgomp", "-lomp", "-liomp5"};
    for (size_t i = 0; i < WEIR_COUNT(libraries); i++)
        if (list_has(&dr->build.link_inputs, libraries[i]))
            return true;
    return command_has_host_option(c, "-fopenmp") || list_has(&c->unknown_linker, "-fopenmp");
}

/* OpenMP in the host code of CUDA files is clang's, and needs its library, which serves code of gcc
 * as well. It must come before gcc's own, wherever that is named. */
static void add_openmp(struct strlist *argv, const struct driver *dr)
{
    if (!wants_openmp(dr))
        return;
    char *library = xprintf("%s/libomp.so", dr->tools.clang_lib);
    if (access(library, R_OK) == 0) {
        list_add(argv, "-Wl,--push-state,--no-as-needed");
        list_add(argv, "%s", library);
        list_add(argv, "-Wl,--pop-state");
        add_search_path(argv, dr->tools.clang_lib);
    } else {
        fprintf(stderr,
                "%sweircc warning : OpenMP in CUDA files needs '%s': install Debian's "
                "libomp-19-dev\n",
                dr->work.dryrun ? "# " : "", library);
    }
    free(library);
}

/* Our runtime libraries, and a search path for the program to find the shared ones by: programs
 * built in the tree must run without setting anything. */
static void add_runtime(struct strlist *argv, const struct driver *dr)
{
    const struct cmdline *c = &dr->options;
    const char *cudart = c->value[OPT_cudart] != NULL ? c->value[OPT_cudart] : "static";
    const char *devrt = c->value[OPT_cudadevrt] != NULL ? c->value[OPT_cudadevrt] : "static";
    bool none = strcmp(cudart, "none") == 0;
    if (!none && strcmp(devrt, "none") != 0 && !c->given[OPT_no_device_link])
        list_add(argv, "-lcudadevrt");
    if (strcmp(cudart, "shared") == 0)
        list_add(argv, "-lcudart");
    if (strcmp(cudart, "static") == 0)
        list_add(argv, "-lcudart_static");
    if (!none) {
        list_add(argv, "-lrt");
        list_add(argv, "-lpthread");
        list_add(argv, "-ldl");
    }
    list_add(argv, "-Wl,--end-group");
    add_search_path(argv, dr->tools.lib);
}

/* Runs the linker, and shows what it says with the names of the source. */
static int run_linker(struct driver *dr, const struct strlist *argv)
{
    struct strbuf messages = {0}, shown = {0};
    int status = work_run(&dr->work, argv, "link", &messages, &dr->diag);
    if (messages.count > 0 && !work_interrupted()) {
        link_messages(messages.items, &shown);
        fwrite(shown.items, 1, shown.count, stderr);
    }
    sb_free(&messages);
    sb_free(&shown);
    return status;
}

int link_program(struct driver *dr)
{
    const struct build *p = &dr->build;
    const struct cmdline *c = &dr->options;
    bool relocatable = c->given[OPT_relocatable_link];
    struct strlist argv = {0};
    list_add(&argv, "%s", dr->tools.cxx);
    if (c->value[OPT_optimize] != NULL)
        list_add(&argv, "-O%s", c->value[OPT_optimize]);
    list_add_all(&argv, NULL, &c->list[OPT_compiler_options]);
    list_add_all(&argv, NULL, &c->unknown_compiler);
    list_add(&argv, "-m64");
    if (c->given[OPT_profile])
        list_add(&argv, "-pg");
    if (c->given[OPT_shared])
        list_add(&argv, "-shared");
    list_add_all(&argv, NULL, &c->unknown_linker);
    if (relocatable) {
        list_add(&argv, "-r");
        list_add(&argv, "-nostdlib");
    }
    /* ours first: the libraries of another toolkit have the same names */
    list_add(&argv, "-L%s", dr->tools.link_lib);
    list_add(&argv, "-Wl,-L%s", dr->tools.lib); /* what is asked for by a file's name */
    for (size_t i = 0; i < c->list[OPT_library_path].count; i++)
        list_add(&argv, "-L%s", c->list[OPT_library_path].items[i]);
    if (!relocatable) {
        add_openmp(&argv, dr);
        list_add(&argv, "-Wl,--start-group");
    }
    list_add_all(&argv, NULL, &p->link_inputs);
    if (!relocatable)
        add_runtime(&argv, dr);
    list_add(&argv, "-o");
    list_add(&argv, "%s", p->output);
    return run_linker(dr, &argv);
}

int run_program(struct driver *dr)
{
    const char *program = dr->build.program != NULL ? dr->build.program : dr->build.output;
    struct strlist argv = {0};
    list_add(&argv, "%s%s", strchr(program, '/') != NULL ? "" : "./", program);
    list_add_all(&argv, NULL, &dr->options.list[OPT_run_args]);
    return work_run(&dr->work, &argv, "run", NULL, &dr->diag);
}
