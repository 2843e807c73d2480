/* ptxas: checks PTX and puts it into the container that stands for a cubin (container/container.h),
 * which libcuda loads. Clients that compile kernels themselves call a program of this name between
 * writing PTX and cuModuleLoadData. Kernels are compiled for the CPU at their first launch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/loader.h"
#include "ptxcompiler/options.h"

/* Exit statuses: the command line is wrong, the PTX is. */
enum { EXIT_MISUSED = 1, EXIT_BAD_PTX = 255 };

static const char help[] =
    "usage: ptxas [options] file.ptx\n"
    "\n"
    "Checks PTX and writes it as a container that Weir's libcuda loads where it loads a cubin.\n"
    "\n"
    "  -o FILE, --output-file FILE    the container (elf.o)\n"
    "  -arch SM, --gpu-name SM        the target, e.g. sm_90 (that of the PTX)\n"
    "  --maxrregcount NUMBER          registers of kernels without bounds, as they are told\n"
    "  -v, --verbose                  tells what each kernel uses\n"
    "  -c, --compile-only             the container is one to link\n"
    "  --input-as-string TEXT         PTX itself, instead of a file\n"
    "  --list-arch                    targets\n"
    "  -V, --version\n"
    "\n"
    "All other options of NVIDIA's program are accepted; they are about code of a GPU.\n";

static int fatal(const struct diag *d, int status)
{
    fprintf(stderr, "ptxas fatal   : %s\n", d->text);
    return status;
}

/* What a GPU's driver would want to know of each kernel, by what the device says of it. */
static bool tell(const struct ptx_module *m, const char *gpu, struct diag *d)
{
    uint64_t global = 0;
    for (int32_t n = 0; n < m->nvars; n++)
        if (m->vars[n]->space == PTX_SPACE_GLOBAL && m->vars[n]->linkage != PTX_LINK_EXTERN)
            global += m->vars[n]->size;
    fprintf(stderr, "ptxas info    : %llu bytes gmem\n", (unsigned long long)global);
    for (int32_t n = 0; n < m->nfuncs; n++) {
        const struct ptx_func *f = m->funcs[n];
        struct jit_kernel_info info;
        if (!f->is_entry || !f->has_body)
            continue;
        if (!jit_kernel_info(f, &info, d))
            return false;
        fprintf(stderr, "ptxas info    : Compiling entry function '%s' for '%s'\n", f->name, gpu);
        fprintf(stderr, "ptxas info    : Function properties for %s\n", f->name);
        fprintf(stderr, "    %llu bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n",
                (unsigned long long)info.local_bytes);
        fprintf(stderr, "ptxas info    : Used %u registers, used %d barriers", info.num_regs,
                info.uses_barriers ? 1 : 0);
        if (info.static_shared > 0)
            fprintf(stderr, ", %llu bytes smem", (unsigned long long)info.static_shared);
        fprintf(stderr, ", %llu bytes cmem[0]\n", (unsigned long long)info.param_bytes);
    }
    return true;
}

static bool write_file(const char *path, const struct strbuf *out, struct diag *d)
{
    FILE *f = fopen(path, "wb");
    bool fine = f != NULL && fwrite(out->items, 1, out->count, f) == out->count;
    if (f != NULL && fclose(f) != 0)
        fine = false;
    if (!fine && f != NULL)
        remove(path);
    return fine || diag_set(d, 0, 0, "Could not write output file '%s'", path);
}

/* The module is read; what is left is to look at it and to write it. */
static int finish(const struct options *o, struct ptx_module *m, const char *text, size_t size)
{
    struct diag d = {0};
    char own[16];
    snprintf(own, sizeof own, "sm_%d%.1s", m->target_sm, &m->target_suffix);
    struct strbuf out = {0};
    if (!options_write(o, m, text, size, &out, &d) ||
        (o->verbose && !tell(m, o->gpu != NULL ? o->gpu : own, &d))) {
        sb_free(&out);
        return fatal(&d, EXIT_BAD_PTX);
    }
    bool fine = write_file(o->output != NULL ? o->output : "elf.o", &out, &d);
    sb_free(&out);
    return fine ? 0 : fatal(&d, EXIT_MISUSED);
}

static int assemble(const struct options *o)
{
    struct diag d = {0};
    size_t size = 0;
    char *text = o->text != NULL ? xstrdup(o->text) : file_read(o->input, &size, &d);
    if (text == NULL)
        return fatal(&d, EXIT_MISUSED);
    size = strlen(text); /* PTX in a file may end by a NUL */
    const char *name = o->text != NULL ? "<string>" : o->input;
    struct ptx_module *m = ptx_parse(text, size, &d);
    int status;
    if (m != NULL) {
        status = finish(o, m, text, size);
        ptx_free(m);
    } else {
        fprintf(stderr, "ptxas %s, line %d; error   : %s\n", name, d.line, d.text);
        fprintf(stderr, "ptxas fatal   : Ptx assembly aborted due to errors\n");
        status = EXIT_BAD_PTX;
    }
    free(text);
    return status;
}

int main(int argc, char **argv)
{
    static const int targets[] = {50, 52, 53, 60, 61,  62,  70,  72,  75, 80,
                                  86, 87, 89, 90, 100, 103, 110, 120, 121};
    struct options o;
    struct diag d = {0};
    if (!options_read(&o, argc, argv, &d))
        return fatal(&d, EXIT_MISUSED);
    if (o.help) {
        fputs(help, stdout);
    } else if (o.version) {
        /* clients look for the words "release" and a number */
        puts("ptxas: Weir " WEIR_VERSION ", PTX for a software CUDA device\n"
             "In place of the one of CUDA tools, release 13.0, V13.0.0");
    } else if (o.list) {
        for (size_t n = 0; n < WEIR_COUNT(targets); n++)
            printf("sm_%d\n", targets[n]);
        puts("sm_90a\nsm_100a\nsm_103a\nsm_110a\nsm_120a\nsm_121a");
    } else {
        return assemble(&o);
    }
    return 0;
}
