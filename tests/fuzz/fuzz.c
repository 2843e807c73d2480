/* fuzz: kernels at random (gen.h), run on whatever device libcuda drives and compared, byte for
 * byte, with what the interpreter (interp.h) says that they write; as they come, and with one
 * pragma that forces a decision of Weir's compiler.
 *
 *   fuzz_kernels {first=N} {count=N} {seconds=S} {batch=N} {keep=DIRECTORY}
 *       runs the kernels of these seeds, until the time is over
 *   fuzz_kernels twice ...
 *       what differs is run again without optimisation: if it is right then, the optimiser is
 *       likely at fault, and it does not count as wrong
 *   fuzz_kernels every ...
 *       each kernel with all pragmas
 *   fuzz_kernels forms ...
 *       the same with kernels that have all forms of the instructions other than arithmetic,
 *       numbered from 0 on, as they come
 *   fuzz_kernels grids ...
 *       the same with kernels for grids of two dimensions (gen_grids.c)
 *   fuzz_kernels print=N
 *       prints the kernel of a seed
 *   fuzz_kernels FILE...
 *       runs kernels from files (their first line has seed, block and grid), with all pragmas
 *   fuzz_kernels minimise=FILE
 *       leaves lines out while the difference stays, and prints the rest
 *
 * Kernels run in a child process, so that a crash is one more difference. It builds with a C
 * compiler, cuda.h and libcuda alone, for any device: see tests/fuzz/gpu.sh. */
#include "gen.h"
#include "interp.h"

#include <cuda.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum result { SAME, DIFFERS, INVALID, REFUSED, HANGS, CRASHES, OPTIMISED };
static const char *const result_names[] = {
    "same", "differs", "invalid", "refused", "hangs", "crashes", "differs if optimised"};

/* One kernel with everything that its run needs. */
struct subject {
    uint64_t seed;
    char *ptx;
    size_t length;
    struct gen_shape shape;
    uint64_t out_bytes, work_bytes;
    uint8_t *in, *out, *work, *want_out, *want_work;
    uint32_t n;
};

/* What the child tells, in memory that both see. */
struct report {
    volatile uint64_t seed, done, steps;
    volatile int result;
    char text[600];
};

#define IN_AT   0x700000000000ull
#define OUT_AT  0x710000000000ull
#define WORK_AT 0x720000000000ull
#define STEPS   30000000ull

static struct report *report;
static double seconds = 1e9;
static bool every_pragma; /* of each kernel; else its own and one more, */
static bool one_pragma;   /* or its own alone */
static bool twice;        /* what differs is run again without optimisation */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- subjects ---- */

static bool read_shape(struct subject *s)
{
    unsigned long long seed;
    uint32_t *b = s->shape.block, *g = s->shape.grid;
    if (sscanf(s->ptx, "// seed %llu block %u %u %u grid %u %u %u", &seed, &b[0], &b[1], &b[2],
               &g[0], &g[1], &g[2]) != 7)
        return false;
    s->seed = seed;
    return b[0] * b[1] * b[2] <= GEN_MAX_THREADS;
}

static bool make_subject(struct subject *s, char *ptx, size_t length)
{
    *s = (struct subject){.ptx = ptx, .length = length};
    if (!read_shape(s))
        return false;
    s->out_bytes = gen_out_bytes(&s->shape);
    s->work_bytes = gen_work_bytes(&s->shape);
    s->in = xmalloc(GEN_IN_BYTES);
    s->out = xmalloc(s->out_bytes);
    s->work = xmalloc(s->work_bytes);
    s->want_out = xmalloc(s->out_bytes);
    s->want_work = xmalloc(s->work_bytes);
    s->n = gen_fill(s->seed, s->in, s->work, s->work_bytes);
    return true;
}

static void free_subject(struct subject *s)
{
    free(s->in);
    free(s->out);
    free(s->work);
    free(s->want_out);
    free(s->want_work);
    free(s->ptx);
}

/* Interprets the kernel in one order of threads into out and work. */
static bool interpret(struct subject *s, const struct ptx_func *f, bool backwards, uint8_t *out,
                      uint8_t *work, struct diag *d)
{
    memset(out, 0xab, s->out_bytes);
    gen_fill(s->seed, s->in, work, s->work_bytes);
    const struct interp_memory memory[] = {{IN_AT, s->in, GEN_IN_BYTES, false},
                                           {OUT_AT, out, s->out_bytes, true},
                                           {WORK_AT, work, s->work_bytes, true}};
    const uint64_t params[] = {IN_AT, OUT_AT, WORK_AT, s->n};
    struct interp_launch l = {
        .params = params, .memory = memory, .nmemory = 3, .backwards = backwards, .steps = STEPS};
    memcpy(l.grid, s->shape.grid, sizeof l.grid);
    memcpy(l.block, s->shape.block, sizeof l.block);
    bool good = interp_run(f, &l, d);
    report->steps += l.taken;
    return good;
}

/* What the kernel must write. INVALID: it is no kernel that has one meaning. */
static enum result expect(struct subject *s)
{
    struct diag d = {0};
    struct ptx_module *m = ptx_parse(s->ptx, s->length, &d);
    struct ptx_func *f = m != NULL ? ptx_find_func(m, "kernel") : NULL;
    enum result r = INVALID;
    if (f != NULL && f->nparams == 4 && interpret(s, f, true, s->out, s->work, &d) &&
        interpret(s, f, false, s->want_out, s->want_work, &d)) {
        r = SAME;
        if (memcmp(s->out, s->want_out, s->out_bytes) ||
            memcmp(s->work, s->want_work, s->work_bytes)) {
            snprintf(d.text, sizeof d.text, "depends on the order of threads");
            r = INVALID;
        }
    }
    if (r == INVALID)
        snprintf(report->text, sizeof report->text, "line %d: %.400s", d.line, d.text);
    ptx_free(m);
    return r;
}

/* ---- the device ---- */

static CUdeviceptr buffers[3];

static void must(CUresult r, const char *what)
{
    const char *name = "?";
    if (r == CUDA_SUCCESS)
        return;
    cuGetErrorName(r, &name);
    printf("%s: %s\n", what, name);
    fflush(stdout);
    _exit(3);
}

static void open_device(void)
{
    CUdevice dev;
    CUcontext ctx;
    must(cuInit(0), "cuInit");
    must(cuDeviceGet(&dev, 0), "cuDeviceGet");
    must(cuDevicePrimaryCtxRetain(&ctx, dev), "context");
    must(cuCtxSetCurrent(ctx), "context");
    for (int k = 0; k < 3; k++)
        must(cuMemAlloc(&buffers[k], 8 << 20), "memory");
}

/* The first words that differ, for the report. */
static void difference(const char *what, const uint8_t *got, const uint8_t *want, uint64_t bytes)
{
    size_t at = 0, size = sizeof report->text;
    unsigned count = 0;
    at += (size_t)snprintf(report->text, size, "%s:", what);
    for (uint64_t k = 0; k + 8 <= bytes; k += 8) {
        uint64_t g, w;
        memcpy(&g, got + k, 8);
        memcpy(&w, want + k, 8);
        if (g != w && count++ < 8)
            at += (size_t)snprintf(report->text + at, size - at, " %llu: %llx not %llx,",
                                   (unsigned long long)k, (unsigned long long)g,
                                   (unsigned long long)w);
    }
    snprintf(report->text + at, size - at, " %u words differ", count);
}

/* Pragmas of Weir's compiler, which other compilers pass over: lanes are serialized wherever they
 * may be; all values are divergent; both; strip mining wherever it can be; that and divergent
 * values; interleaving warps, and that with divergent values; as kernels above a size, and that;
 * unroll-and-jam wherever it can be, and that; copies for warps in rows wherever they can be. */
static const char *const pragmas[] = {NULL,
                                      "weir_serialize",
                                      "weir_divergent",
                                      "weir_serialize\", \"weir_divergent",
                                      "weir_strips",
                                      "weir_strips\", \"weir_divergent",
                                      "weir_interleave",
                                      "weir_interleave\", \"weir_divergent",
                                      "weir_large",
                                      "weir_large\", \"weir_divergent",
                                      "weir_jam",
                                      "weir_jam\", \"weir_divergent",
                                      "weir_rows"};
enum { PRAGMAS = sizeof pragmas / sizeof *pragmas };

/* The text with a pragma at the start of the kernel's body. The caller frees it. */
static char *with_pragma(const char *ptx, const char *pragma)
{
    const char *entry = strstr(ptx, ".entry "), *body = entry != NULL ? strstr(entry, "\n{") : NULL;
    if (body == NULL)
        return NULL;
    struct strbuf sb = {0};
    sb_append(&sb, ptx, (size_t)(body + 2 - ptx));
    sb_printf(&sb, "\n.pragma \"%s\";%s", pragma, body + 2);
    return sb.items;
}

static enum result run_text(struct subject *s, const char *ptx, unsigned level)
{
    static char log[4096];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_OPTIMIZATION_LEVEL};
    void *values[] = {log, (void *)sizeof log, (void *)(uintptr_t)level};
    CUmodule module;
    CUfunction f;
    const uint32_t *g = s->shape.grid, *b = s->shape.block;
    log[0] = 0;
    CUresult r = cuModuleLoadDataEx(&module, ptx, 3, options, values);
    if (r == CUDA_SUCCESS)
        r = cuModuleGetFunction(&f, module, "kernel");
    if (r != CUDA_SUCCESS) {
        snprintf(report->text, sizeof report->text, "error %d: %.500s", (int)r, log);
        return REFUSED;
    }
    gen_fill(s->seed, s->in, s->work, s->work_bytes);
    must(cuMemcpyHtoD(buffers[0], s->in, GEN_IN_BYTES), "copy");
    must(cuMemsetD8(buffers[1], 0xab, s->out_bytes), "set");
    must(cuMemcpyHtoD(buffers[2], s->work, s->work_bytes), "copy");
    void *args[] = {&buffers[0], &buffers[1], &buffers[2], &s->n};
    r = cuLaunchKernel(f, g[0], g[1], g[2], b[0], b[1], b[2], 0, NULL, args, NULL);
    if (r == CUDA_SUCCESS)
        r = cuCtxSynchronize();
    if (r != CUDA_SUCCESS) {
        snprintf(report->text, sizeof report->text, "error %d: %.500s", (int)r, log);
        return CRASHES;
    }
    must(cuMemcpyDtoH(s->out, buffers[1], s->out_bytes), "copy");
    must(cuMemcpyDtoH(s->work, buffers[2], s->work_bytes), "copy");
    must(cuModuleUnload(module), "unload");
    if (memcmp(s->out, s->want_out, s->out_bytes)) {
        difference("out", s->out, s->want_out, s->out_bytes);
        return DIFFERS;
    }
    if (memcmp(s->work, s->want_work, s->work_bytes)) {
        difference("work", s->work, s->want_work, s->work_bytes);
        return DIFFERS;
    }
    return SAME;
}

/* With pragma `pragma` of the table. */
static enum result run(struct subject *s, unsigned level, unsigned pragma)
{
    char *text = pragma != 0 ? with_pragma(s->ptx, pragmas[pragma]) : NULL;
    if (pragma != 0 && text == NULL)
        return SAME; /* no body for a pragma */
    enum result r = run_text(s, pragma != 0 ? text : s->ptx, level);
    free(text);
    if (pragma != 0 && r != SAME) {
        char first[sizeof report->text];
        memcpy(first, report->text, sizeof first);
        snprintf(report->text, sizeof report->text, "[%s] %.500s", pragmas[pragma], first);
    }
    return r;
}

/* As it comes, and with one pragma; or with all. The kernels of all instructions are large: they
 * run as they come unless `every` is given. */
static enum result run_pragmas(struct subject *s)
{
    enum result r = SAME;
    for (unsigned pragma = 0; pragma < PRAGMAS && r == SAME; pragma++)
        if (pragma == 0 || every_pragma || (!one_pragma && pragma == 1 + s->seed % (PRAGMAS - 1)))
            r = run(s, 4, pragma);
    return r;
}

static enum result try_ptx(char *ptx, size_t length)
{
    struct subject s;
    report->text[0] = 0;
    enum result r = INVALID;
    if (make_subject(&s, ptx, length)) {
        r = expect(&s);
        if (r == SAME)
            r = run_pragmas(&s);
        if (r == DIFFERS && twice) {
            char first[sizeof report->text];
            memcpy(first, report->text, sizeof first);
            if (run(&s, 0, 0) == SAME)
                r = OPTIMISED;
            memcpy(report->text, first, sizeof first);
        }
        free_subject(&s);
    }
    return r;
}

/* ---- children ---- */

/* Waits for the child; kills it when a kernel takes minutes. */
static enum result watch(pid_t child)
{
    uint64_t done = report->done;
    double since = now();
    for (;;) {
        int status;
        if (waitpid(child, &status, WNOHANG) == child) {
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return SAME;
            snprintf(report->text, sizeof report->text, "status %x", (unsigned)status);
            return CRASHES;
        }
        if (report->done != done)
            done = report->done, since = now();
        if (now() - since > 150) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            return HANGS;
        }
        usleep(2000);
    }
}

/* Runs one text in a child of its own. */
static enum result try_alone(const char *text, size_t length)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char *copy = xmalloc(length + 1);
        memcpy(copy, text, length);
        copy[length] = 0;
        open_device();
        report->result = (int)try_ptx(copy, length);
        _exit(0);
    }
    enum result r = watch(child);
    return r == SAME ? (enum result)report->result : r;
}

struct settings {
    uint64_t first, count, batch;
    const char *keep;
    bool forms; /* seeds are numbers of gen_forms's kernels */
    bool grids; /* of gen_grids's */
};

/* The kernel of a seed. False: there are no more. */
static bool generate(const struct settings *p, uint64_t seed, struct strbuf *text)
{
    struct gen_shape shape;
    if (p->forms)
        return gen_forms((unsigned)seed, text, &shape);
    if (p->grids)
        gen_grids(seed, text, &shape);
    else
        gen_kernel(seed, text, &shape);
    return true;
}

static void keep(const struct settings *p, uint64_t seed, enum result r)
{
    const char *directory = p->keep;
    if (directory == NULL)
        return;
    struct strbuf text = {0};
    char path[4096];
    generate(p, seed, &text);
    snprintf(path, sizeof path, "%s/%llu-%s.ptx", directory, (unsigned long long)seed,
             result_names[r]);
    FILE *f = fopen(path, "w");
    if (f != NULL) {
        fputs(text.items, f);
        fclose(f);
    }
    sb_free(&text);
}

static void tell(const struct settings *p, uint64_t seed, enum result r)
{
    printf("%s %llu: %s: %s\n", p->forms ? "form" : "seed", (unsigned long long)seed,
           result_names[r], report->text);
    fflush(stdout);
    keep(p, seed, r);
}

/* Seeds from `seed` on, until the batch, the count or the time is over. */
static void run_batch(const struct settings *p, uint64_t seed, double end)
{
    uint64_t last = seed + p->batch;
    open_device();
    for (; seed < last && seed < p->first + p->count && now() < end; seed++) {
        struct strbuf text = {0};
        report->seed = seed;
        if (!generate(p, seed, &text))
            break;
        enum result r = try_ptx(text.items, text.count);
        if (r != SAME)
            tell(p, seed, r);
        report->result += r != SAME && r != INVALID && r != OPTIMISED;
        report->done++;
        if (r == CRASHES) /* the context may be lost */
            _exit(0);
    }
    _exit(0);
}

static int run_seeds(const struct settings *p)
{
    int wrong = 0;
    double begin = now(), end = begin + seconds;
    report->result = 0;
    for (uint64_t seed = p->first; seed < p->first + p->count && now() < end;) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            run_batch(p, seed, end);
        uint64_t before = report->done;
        enum result r = watch(child);
        seed += report->done - before;
        if (r != SAME) {
            tell(p, report->seed, r);
            wrong++;
            seed = report->seed + 1;
            report->done++;
        } else if (report->done == before) {
            break;
        }
    }
    wrong += report->result;
    printf("%llu kernels from seed %llu, %d wrong, %.0f million steps, %.1f s\n",
           (unsigned long long)report->done, (unsigned long long)p->first, wrong,
           (double)report->steps * 1e-6, now() - begin);
    return wrong != 0;
}

/* ---- files ---- */

static int run_file(const char *path)
{
    every_pragma = true;
    size_t size;
    struct diag d = {0};
    char *text = file_read(path, &size, &d);
    if (text == NULL) {
        printf("%s\n", d.text);
        return 1;
    }
    enum result r = try_alone(text, size);
    free(text);
    if (r != SAME)
        printf("%s: %s: %s\n", path, result_names[r], report->text);
    return r != SAME;
}

/* The text without lines [at, at + n). */
static char *without(char **lines, size_t count, size_t at, size_t n, size_t *length)
{
    struct strbuf sb = {0};
    for (size_t k = 0; k < count; k++)
        if (k < at || k >= at + n)
            sb_printf(&sb, "%s\n", lines[k]);
    *length = sb.count;
    return sb.items;
}

static int minimise(const char *path)
{
    size_t size, count = 0;
    struct diag d = {0};
    char *text = file_read(path, &size, &d);
    if (text == NULL)
        return 1;
    enum result want = try_alone(text, size);
    char **lines = xcalloc(size + 1, sizeof *lines);
    for (char *s = strtok(text, "\n"); s != NULL; s = strtok(NULL, "\n"))
        lines[count++] = s;
    fprintf(stderr, "%s: %s\n", result_names[want], report->text);
    char code[10];
    snprintf(code, sizeof code, "%s", report->text);
    if (want == SAME || want == INVALID)
        return 1;
    /* the error's number */
    double end = now() + seconds;
    for (bool again = true; again && now() < end;) {
        again = false;
        for (size_t n = count / 4 + 1; n > 0 && now() < end; n /= 2)
            for (size_t at = 1; at + n <= count && now() < end;) {
                size_t length;
                char *less = without(lines, count, at, n, &length);
                if (try_alone(less, length) == want &&
                    (want != CRASHES || !strncmp(report->text, code, sizeof code - 1))) {
                    memmove(lines + at, lines + at + n, (count - at - n) * sizeof *lines);
                    count -= n;
                    again = true;
                } else {
                    at += n;
                }
                free(less);
            }
    }
    for (size_t k = 0; k < count; k++)
        printf("%s\n", lines[k]);
    free(lines);
    free(text);
    return 0;
}

/* The value of "name=value", NULL if the argument is another one. */
static const char *value(const char *arg, const char *name)
{
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

int main(int argc, char **argv)
{
    struct settings p = {.first = 1, .count = 1ull << 60, .batch = 40};
    const char *v;
    int files = 0, wrong = 0;
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED)
        return 1;
    for (int k = 1; k < argc; k++) {
        if ((v = value(argv[k], "first")) != NULL)
            p.first = strcmp(v, "now") ? strtoull(v, NULL, 0) : (uint64_t)time(NULL) * 1000;
        else if ((v = value(argv[k], "count")) != NULL)
            p.count = strtoull(v, NULL, 0);
        else if ((v = value(argv[k], "batch")) != NULL)
            p.batch = strtoull(v, NULL, 0);
        else if ((v = value(argv[k], "seconds")) != NULL)
            seconds = atof(v);
        else if ((v = value(argv[k], "keep")) != NULL)
            p.keep = v;
        else if ((v = value(argv[k], "minimise")) != NULL)
            return minimise(v);
        else if (strcmp(argv[k], "twice") == 0)
            twice = true;
        else if (strcmp(argv[k], "every") == 0)
            every_pragma = true;
        else if (strcmp(argv[k], "forms") == 0)
            p.forms = one_pragma = true;
        else if (strcmp(argv[k], "grids") == 0)
            p.grids = true;
        else if ((v = value(argv[k], "print")) != NULL) {
            struct strbuf text = {0};
            generate(&p, strtoull(v, NULL, 0), &text);
            fputs(text.items, stdout);
            sb_free(&text);
            return 0;
        } else {
            wrong += run_file(argv[k]);
            files++;
        }
    }
    if (files) {
        printf("%d kernels, %d wrong\n", files, wrong);
        return wrong != 0;
    }
    return run_seeds(&p);
}
