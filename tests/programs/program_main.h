/* The program's main: each kernel on the host, then on the device, and what differs.
 *
 *   program {--kernel NAME} {--after NAME} {--ptx FILE}... {--oracle} {--progress SECONDS}
 *           {--guards}
 *
 * Without --ptx the device code is the program's own. With it, the kernels of each file are run by
 * the driver API; the file `own` is the program's own code. --oracle runs them on the host alone.
 * --after leaves out the kernels up to that one. --progress says which kernel begins and which has
 * ended; one that takes more than so many seconds ends the program by SIGALRM. With --guards what
 * kernels write and read lies in host memory between pages without access. The program's status
 * is 1 where something differs or fails. */
#ifndef PROGRAM_MAIN_H
#define PROGRAM_MAIN_H

#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>

static u64 next_number(u64 *state)
{
    u64 z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* A float of moderate size; one in sixteen is a zero of either sign or very small or large. */
static f32 some_float(u64 v)
{
    static const f32 rare[] = {0.0f, -0.0f, 1.0e-40f, -3.0e-39f, 1.0e20f, -1.0e-20f, 0.1f, -1.0e9f};
    return (v & 15) == 0 ? rare[v >> 4 & 7] : (f32)((s32)(v >> 32 & 0xffff) - 0x8000) / 64.0f;
}

/* One kernel's memory: the output, the sums and the input, which it does not change. */
struct memory {
    u32 *out, *in;
    struct sums *sums;
    size_t bytes;
};

static void fill(struct memory *m, const struct kernel *k)
{
    u64 state = k->seed;
    memset(m->out, 0, m->bytes);
    for (u32 i = 0; i < INPUTS; i++) {
        u64 v = next_number(&state);
        m->in[i] = v & 1 ? (u32)(v >> 32) : (u32)(v >> 32) >> (v >> 1 & 31);
        if (i >= INPUTS - FLOATS)
            m->in[i] = bits32(some_float(v));
    }
    memset(m->sums, 0, sizeof *m->sums);
    memset(m->sums->and_, 0xff, sizeof m->sums->and_);
    memset(m->sums->min, 0xff, sizeof m->sums->min);
}

static struct args arguments(const struct kernel *k, const struct memory *m)
{
    struct args args = k->args;
    args.out = m->out;
    args.in = m->in;
    args.sums = m->sums;
    return args;
}

static bool fails(const char *what, const struct kernel *k, cudaError_t error)
{
    if (error != cudaSuccess)
        printf("fails: %s of %s, seed %llu: %s\n", what, k->name, k->seed,
               cudaGetErrorString(error));
    return error != cudaSuccess;
}

/* Says where two outputs differ first. */
static bool differs(const struct kernel *k, const char *what, const struct memory *is,
                    const struct memory *should)
{
    u32 threads = k->block.x * k->block.y * k->block.z, words = (u32)(is->bytes / 4), wrong = 0,
        first = 0;
    for (u32 i = words; i--;)
        if (is->out[i] != should->out[i]) {
            wrong++;
            first = i;
        }
    if (wrong) {
        u32 thread = first / WORDS;
        printf("differs: %s, seed %llu, %s: block %u, thread %u, word %u: %#x, on the host %#x (%u "
               "words)\n",
               k->name, k->seed, what, thread / threads, thread % threads, first % WORDS,
               is->out[first], should->out[first], wrong);
    }
    const u32 *a = (const u32 *)is->sums, *b = (const u32 *)should->sums;
    for (u32 i = 0; i < sizeof(struct sums) / 4 && !wrong; i++)
        if (a[i] != b[i]) {
            printf("differs: %s, seed %llu, %s: word %u of the sums: %#x, on the host %#x\n",
                   k->name, k->seed, what, i, a[i], b[i]);
            wrong++;
        }
    return wrong != 0;
}

/* Runs a kernel on the device: the program's own, or that of a module. */
static bool run_on_device(const struct kernel *k, CUmodule module, const struct memory *device,
                          struct memory *result)
{
    struct args args = arguments(k, device);
    void *parameters[] = {&args};
    fill(result, k);
    if (fails("a copy", k,
              cudaMemcpy(device->out, result->out, result->bytes, cudaMemcpyHostToDevice)) ||
        fails("a copy", k,
              cudaMemcpy(device->in, result->in, INPUTS * 4, cudaMemcpyHostToDevice)) ||
        fails("a copy", k,
              cudaMemcpy(device->sums, result->sums, sizeof(struct sums), cudaMemcpyHostToDevice)))
        return false;
    if (module != NULL) {
        CUfunction function;
        int error = cuModuleGetFunction(&function, module, k->name);
        if (error == 0)
            error = cuLaunchKernel(function, k->grid.x, k->grid.y, k->grid.z, k->block.x,
                                   k->block.y, k->block.z, k->dynamic, NULL, parameters, NULL);
        if (error != 0) {
            printf("fails: the launch of %s, seed %llu: CUDA error %d\n", k->name, k->seed, error);
            return false;
        }
    } else if (fails(
                   "the launch", k,
                   cudaLaunchKernel(k->symbol, k->grid, k->block, parameters, k->dynamic, NULL))) {
        return false;
    }
    return !fails("the run", k, cudaDeviceSynchronize()) &&
           !fails("a copy", k,
                  cudaMemcpy(result->out, device->out, result->bytes, cudaMemcpyDeviceToHost)) &&
           !fails(
               "a copy", k,
               cudaMemcpy(result->sums, device->sums, sizeof(struct sums), cudaMemcpyDeviceToHost));
}

static void *host_memory(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (p == NULL)
        host_fail("no memory");
    return p;
}

/* Memory for a kernel between pages that nobody may touch, aligned to its end. Exits where there is
 * none. */
static void *guarded_memory(size_t bytes)
{
    const size_t page = 4096, whole = (bytes + page - 1) / page * page;
    char *p = (char *)mmap(NULL, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + page, whole, PROT_READ | PROT_WRITE) != 0 ||
        cudaHostRegister(p + page, whole, cudaHostRegisterDefault) != cudaSuccess) {
        printf("fails: no guarded memory\n");
        exit(1);
    }
    return p + page + whole - bytes;
}

static struct memory make_memory(size_t bytes, bool on_device, bool guards)
{
    struct memory m;
    m.bytes = bytes;
    if (on_device && guards) {
        m.out = (u32 *)guarded_memory(bytes);
        m.in = (u32 *)guarded_memory(INPUTS * 4);
        m.sums = (struct sums *)guarded_memory(sizeof(struct sums));
    } else if (!on_device) {
        m.out = (u32 *)host_memory(bytes);
        m.in = (u32 *)host_memory(INPUTS * 4);
        m.sums = (struct sums *)host_memory(sizeof(struct sums));
    } else if (cudaMalloc((void **)&m.out, bytes) != cudaSuccess ||
               cudaMalloc((void **)&m.in, INPUTS * 4) != cudaSuccess ||
               cudaMalloc((void **)&m.sums, sizeof(struct sums)) != cudaSuccess) {
        printf("fails: no device memory\n");
        exit(1);
    }
    return m;
}

/* What a kernel should write, by two runs on the host that must agree. */
static void run_on_host(const struct kernel *k, struct memory *should, struct memory *other)
{
    fill(should, k);
    host_run(k->name, k->grid, k->block, k->host, arguments(k, should), false);
    fill(other, k);
    host_run(k->name, k->grid, k->block, k->host, arguments(k, other), true);
    host.now = NULL;
    if (differs(k, "the second run", other, should))
        host_fail("a race");
}

static int program_main(int argc, char **argv, const struct kernel *kernels, u32 count)
{
    enum { FILES = 16 };
    const char *only = NULL, *after = NULL, *files[FILES];
    CUmodule modules[FILES];
    u32 file_count = 0, run = 0, wrong = 0, seconds = 0;
    bool oracle = false, guards = false;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* what has been said stays, however the program ends */
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--kernel") == 0 && i + 1 < argc) {
            only = argv[++i];
        } else if (strcmp(argv[i], "--ptx") == 0 && i + 1 < argc && file_count < FILES) {
            files[file_count++] = argv[++i];
        } else if (strcmp(argv[i], "--oracle") == 0) {
            oracle = true;
        } else if (strcmp(argv[i], "--guards") == 0) {
            guards = true;
        } else if (strcmp(argv[i], "--after") == 0 && i + 1 < argc) {
            after = argv[++i];
        } else if (strcmp(argv[i], "--progress") == 0 && i + 1 < argc) {
            seconds = (u32)atoi(argv[++i]);
        } else {
            fprintf(stderr,
                    "usage: %s {--kernel NAME} {--after NAME} {--ptx FILE}... {--oracle} "
                    "{--progress SECONDS} {--guards}\n",
                    argv[0]);
            return 2;
        }
    }
    size_t bytes = 0;
    for (u32 i = 0; i < count; i++)
        bytes = kernels[i].rows > bytes ? kernels[i].rows : bytes;
    bytes *= WORDS * 4;
    struct memory should = make_memory(bytes, false, false),
                  other = make_memory(bytes, false, false), device = {};
    if (!oracle)
        device = make_memory(bytes, true, guards);
    char *end = (char *)device.out + bytes;
    if (!oracle && cudaDeviceSetLimit(cudaLimitStackSize, 32 << 10) != cudaSuccess) {
        printf("fails: no stacks for recursion\n");
        return 1;
    }
    for (u32 f = 0; f < file_count; f++) {
        modules[f] = NULL;
        int error = strcmp(files[f], "own") == 0 ? 0 : cuModuleLoad(&modules[f], files[f]);
        if (error != 0) {
            printf("fails: loading %s: CUDA error %d\n", files[f], error);
            return 1;
        }
    }
    for (u32 i = 0; i < count; i++) {
        const struct kernel *k = &kernels[i];
        bool skip = after != NULL || (only != NULL && strcmp(only, k->name) != 0);
        if (after != NULL && strcmp(after, k->name) == 0)
            after = NULL;
        if (skip)
            continue;
        if (seconds != 0)
            printf("begins %s\n", k->name);
        alarm(seconds);
        should.bytes = other.bytes = device.bytes = (size_t)k->rows * WORDS * 4;
        if (guards) /* where this kernel's end */
            device.out = (u32 *)(end - device.bytes);
        run_on_host(k, &should, &other);
        for (u32 f = 0; !oracle && f < (file_count ? file_count : 1); f++) {
            run++;
            if (!run_on_device(k, file_count ? modules[f] : NULL, &device, &other))
                wrong++;
            else
                wrong += differs(k, file_count ? files[f] : "own", &other, &should);
        }
        if (seconds != 0)
            printf("ended %s\n", k->name);
    }
    alarm(0);
    printf("%u runs, %u wrong\n", run, wrong);
    return wrong != 0;
}
#endif
