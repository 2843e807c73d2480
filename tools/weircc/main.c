/* weircc: compiles CUDA programs for this machine's CPU, with nvcc's command line. */
#include "weircc/driver/driver.h"
#include "weircc/driver/steps.h"
#include "weircc/driver/streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const struct driver *dr)
{
    fprintf(stderr, "weircc fatal   : %s\n", dr->diag.text);
    return 1;
}

/* A line of the listing that sets a variable. nvcc does not quote the value of a list. CMake
 * depends on that with --verbose: it takes the command for the link which holds the text of
 * LIBRARIES as it stands here. With --dryrun the listing is for shells. */
static void list_variable(const struct driver *dr, const char *name, const char *value)
{
    struct strlist one = {0};
    list_add(&one, "%s", value);
    char *quoted = dr->options.given[OPT_dryrun] ? work_quoted(&one) : xstrdup(value);
    fprintf(stderr, "#$ %s=%s\n", name, *value != '\0' ? quoted : "");
    free(quoted);
}

/* What scripts that read nvcc's listing look for before the commands. */
static void list_directories(const struct driver *dr)
{
    const struct toolchain *t = &dr->tools;
    char *bin = xprintf("%s/bin", t->root), *nvvm = xprintf("%s/cuda/nvvm/libdevice", t->support);
    char *include = xprintf("-I%s", t->include), *lib = xprintf("-L%s", t->link_lib);
    struct strlist libraries = {0};
    list_add(&libraries, "%s", lib);
    char *quoted = work_quoted(&libraries);
    fprintf(stderr, "#$ _SPACE_= \n");
    list_variable(dr, "_HERE_", bin);
    list_variable(dr, "TOP", t->root);
    list_variable(dr, "NVVMIR_LIBRARY_DIR", nvvm);
    fprintf(stderr, "#$ INCLUDES=\"%s\"\n", include);
    fprintf(stderr, "#$ LIBRARIES=%s%s\n", dr->options.given[OPT_dryrun] ? "" : " ", quoted);
}

/* The one architecture, as nvcc's compiler of device code is told it: CMake looks for this. */
static void list_architecture(const struct driver *dr)
{
    char *value = xprintf("-arch compute_%d", dr->build.arch.number);
    if (dr->options.given[OPT_dryrun])
        list_variable(dr, "DEVICE_CODE", value);
    else
        fprintf(stderr, "#$ DEVICE_CODE= %s\n", value);
    free(value);
}

static int finish(struct driver *dr)
{
    const struct build *p = &dr->build;
    int status = 0;
    if (p->program == NULL) {
        if (p->phase == PHASE_LINK)
            status = link_program(dr);
        else if (p->phase == PHASE_LIB)
            status = link_library(dr);
        else if (p->phase == PHASE_DLINK)
            status = link_device(dr);
    }
    if (status == 0 && p->run_after)
        status = run_program(dr);
    return status;
}

static int carry_out(struct driver *dr)
{
    struct build *p = &dr->build;
    int status = streams_keep(dr);
    if (status != 0)
        return status;
    for (size_t i = 0; i < p->jobs.count; i++) {
        char *object;
        status = compile_job(dr, &p->jobs.items[i], &object);
        if (status != 0)
            return status;
        if (object != NULL)
            p->link_inputs.items[p->link_job.items[i]] = object;
    }
    return finish(dr);
}

int main(int argc, char **argv)
{
    static struct driver dr;
    struct cmdline *c = &dr.options;
    int step = step_command(argc, argv);
    if (step >= 0)
        return step;
    if (!cmdline_parse(c, argc - 1, argv + 1, &dr.diag))
        return fail(&dr);
    if (c->given[OPT_help]) {
        print_help();
        return 0;
    }
    if (c->given[OPT_version]) {
        print_version();
        return 0;
    }
    if (c->given[OPT_list_gpu_arch] || c->given[OPT_list_gpu_code]) {
        arch_list(c->given[OPT_list_gpu_arch], c->given[OPT_list_gpu_code]);
        return 0;
    }
    if (!toolchain_find(&dr.tools, c, &dr.diag))
        return fail(&dr);
    if (c->given[OPT_dryrun] || c->given[OPT_verbose])
        list_directories(&dr);
    if (!build_decide(&dr))
        return fail(&dr);
    for (size_t i = 0; !c->given[OPT_disable_warnings] && i < c->warnings.count; i++)
        fprintf(stderr, "%sweircc warning : %s\n", c->given[OPT_dryrun] ? "# " : "",
                c->warnings.items[i]);
    if (c->given[OPT_clean_targets]) {
        build_clean(&dr.build);
        return 0;
    }
    if (c->given[OPT_dryrun] || c->given[OPT_verbose])
        list_architecture(&dr);
    if (!streams_read_standard_input(&dr) || !work_open(&dr.work, c, &dr.diag))
        return fail(&dr);
    int status = carry_out(&dr);
    work_close(&dr.work); /* does not come back when a signal came */
    if (dr.diag.text[0] != '\0')
        fail(&dr);
    return status;
}
