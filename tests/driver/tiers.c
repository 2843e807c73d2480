/* Module loader: kernels that take long to compile: baseline code first, optimized code from the
 * background compiler, in whichever state the program unloads modules, resets the device, forks or
 * ends. usage: tiers MODE; the modes are below. WEIR_CACHE_DIR is an empty directory. */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "common.h"
#include "weir/fault.h"

enum { THREADS = 96, SMALL = 20, LARGE = 140 }; /* LARGE: a second to optimize */

static unsigned steps = SMALL;

/* PTX of a kernel large(out, go, seed): waits until *go is not 0, which suspends its blocks, and
 * goes through steps groups of instructions of many kinds; lanes diverge, and meet at barriers. */
static char *source(unsigned seed)
{
    struct strbuf s = {0};
    sb_printf(&s,
              ".version 8.0\n.target sm_80\n.address_size 64\n"
              ".visible .entry large(.param .u64 out, .param .u64 go, .param .u32 seed)\n{\n"
              ".reg .b64 %%d<8>;\n.reg .b32 %%r<16>;\n.reg .f32 %%f<8>;\n.reg .pred %%p<4>;\n"
              ".shared .align 4 .b8 s[4096];\n"
              "ld.param.u64 %%d0, [out];\nld.param.u64 %%d1, [go];\nld.param.u32 %%r0, [seed];\n"
              "mov.u32 %%r1, %%tid.x;\nmul.lo.u32 %%r2, %%r1, 2654435761;\n"
              "xor.b32 %%r2, %%r2, %%r0;\ncvt.rn.f32.u32 %%f0, %%r2;\nmov.u32 %%r5, s;\n"
              "again:\nld.volatile.global.u32 %%r3, [%%d1];\nsetp.eq.u32 %%p0, %%r3, 0;\n"
              "@%%p0 bra again;\n");
    for (unsigned n = 0; n < steps; n++) {
        sb_printf(&s,
                  "and.b32 %%r4, %%r2, 1020;\nadd.u32 %%r6, %%r5, %%r4;\n"
                  "st.shared.u32 [%%r6], %%r1;\nor.b32 %%r7, %%r1, %u;\nrem.u32 %%r8, %%r2, %%r7;\n"
                  "setp.gt.u32 %%p1, %%r8, %u;\n@%%p1 bra skip%u;\n"
                  "mad.lo.u32 %%r2, %%r8, 1664525, %%r2;\ncvt.rn.f32.s32 %%f1, %%r8;\n"
                  "fma.rn.f32 %%f0, %%f1, 0f3F000001, %%f0;\nmul.f32 %%f0, %%f0, 0f3F7FFFFE;\n"
                  "skip%u:\nshl.b32 %%r9, %%r2, %u;\nshr.u32 %%r10, %%r2, %u;\n"
                  "or.b32 %%r2, %%r9, %%r10;\nmov.b32 %%r11, %%f0;\nxor.b32 %%r2, %%r2, %%r11;\n",
                  n + seed, n, n, n, n % 31 + 1, 31 - n % 31);
        if (n % 9 == 8)
            sb_printf(&s, "bar.sync 0;\nshl.b32 %%r4, %%r1, 2;\nadd.u32 %%r6, %%r5, %%r4;\n"
                          "st.shared.u32 [%%r6], %%r2;\nbar.sync 0;\nxor.b32 %%r12, %%r4, 4;\n"
                          "add.u32 %%r6, %%r5, %%r12;\nld.shared.u32 %%r13, [%%r6];\n"
                          "add.u32 %%r2, %%r2, %%r13;\nbar.sync 0;\n");
    }
    sb_printf(&s, "mul.wide.u32 %%d2, %%r1, 4;\nadd.u64 %%d3, %%d0, %%d2;\n"
                  "st.global.u32 [%%d3], %%r2;\nret;\n}\n");
    return s.items;
}

struct run {
    unsigned out[THREADS];
};

struct kernel {
    CUmodule module;
    CUfunction f;
    CUdeviceptr out;
    volatile unsigned *go; /* host memory that the device sees */
    CUdeviceptr go_device;
};

static struct kernel make(unsigned seed)
{
    struct kernel k;
    void *host;
    char *text = source(seed);
    NEED(cuModuleLoadData(&k.module, text));
    free(text);
    k.f = kernel(k.module, "large");
    NEED(cuMemAlloc(&k.out, sizeof(struct run)));
    NEED(cuMemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
    NEED(cuMemHostGetDevicePointer(&k.go_device, host, 0));
    k.go = host;
    *k.go = 1;
    return k;
}

static void start(struct kernel *k)
{
    unsigned seed = 12345;
    void *params[] = {&k->out, &k->go_device, &seed};
    OK(launch(k->f, 1, THREADS, NULL, params));
}

static struct run result(struct kernel *k)
{
    struct run r;
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&r, k->out, sizeof r));
    return r;
}

static struct run run(struct kernel *k)
{
    OK(cuMemsetD8(k->out, 0xaa, sizeof(struct run)));
    start(k);
    return result(k);
}

/* Files in the cache's directories. */
static int cached(void)
{
    int n = 0;
    DIR *top = opendir(getenv("WEIR_CACHE_DIR"));
    for (struct dirent *e; top != NULL && (e = readdir(top)) != NULL;) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", getenv("WEIR_CACHE_DIR"), e->d_name);
        DIR *d = strlen(e->d_name) == 2 && e->d_name[0] != '.' ? opendir(path) : NULL;
        for (struct dirent *f; d != NULL && (f = readdir(d)) != NULL;)
            n += strlen(f->d_name) == 30;
        if (d != NULL)
            closedir(d);
    }
    if (top != NULL)
        closedir(top);
    return n;
}

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); }

static void await_cached(int before)
{
    for (int n = 0; n < 4500 && cached() == before; n++)
        nap();
    CHECK(cached() > before);
    nap();
    nap();
}

/* The baseline tier, the optimizing tier, and what a launch gets: the same results, before and
 * after the optimized code has come, and of a block that began with one and ended with the other.
 */
static void same(void)
{
    struct kernel k = make(7);
    setenv("WEIR_JIT", "baseline", 1);
    struct run baseline = run(&k);
    setenv("WEIR_JIT", "both", 1);
    struct kernel fresh = make(7);
    int before = cached();
    *fresh.go = 0;
    OK(cuMemsetD8(fresh.out, 0xaa, sizeof(struct run)));
    start(&fresh);
    struct run first;
    await_cached(before);
    *fresh.go = 1;
    first = result(&fresh);
    CHECK(memcmp(&first, &baseline, sizeof baseline) == 0);
    for (int n = 0; n < 20; n++) {
        struct run later = run(&fresh);
        CHECK(memcmp(&later, &baseline, sizeof baseline) == 0);
    }
    setenv("WEIR_JIT", "optimizing", 1);
    struct kernel again = make(7);
    struct run optimized = run(&again);
    CHECK(memcmp(&optimized, &baseline, sizeof baseline) == 0);
    OK(cuModuleUnload(again.module));
    OK(cuModuleUnload(fresh.module));
    struct run last = run(&k);
    CHECK(memcmp(&last, &baseline, sizeof baseline) == 0);
}

/* Modules that go while their kernels are compiled or wait for that, and the device's reset. */
static void unload(void)
{
    struct kernel one = make(1), two = make(2);
    struct run a = run(&one), b = run(&two);
    OK(cuModuleUnload(two.module));
    OK(cuModuleUnload(one.module));
    struct kernel again = make(1);
    struct run c = run(&again);
    CHECK(memcmp(&a, &c, sizeof a) == 0);
    CHECK(memcmp(&a, &b, sizeof a) != 0);
    OK(cuDevicePrimaryCtxReset(0));
    begin();
    struct kernel third = make(2);
    c = run(&third);
    CHECK(memcmp(&b, &c, sizeof b) == 0);
}

/* The process ends while a kernel is compiled, and another waits for that. */
static void end(void)
{
    steps = LARGE;
    struct kernel one = make(3), two = make(4);
    run(&one);
    run(&two);
}

/* A child that is forked meanwhile ends, and so does the process. */
static void forked(void)
{
    steps = LARGE;
    struct kernel one = make(5);
    run(&one);
    pid_t child = fork();
    if (child == 0) {
        cuModuleUnload(one.module);
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ_INT(status, 0);
    struct kernel two = make(6);
    run(&two);
}

/* Faults in baseline code have the line they happen in, whatever the access. Lanes that read are
 * every other one, so that the access is masked; at a distance of `step` bytes: neighbours, or not.
 */
static void fault_at(const char *access, const char *type, unsigned step, int line)
{
    struct strbuf s = {0};
    sb_printf(&s,
              ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"baseline.cu\"\n"
              ".visible .entry wild(.param .u64 out)\n{\n.reg .b64 %%d<4>;\n.reg .b32 %%r<4>;\n"
              ".reg .pred %%p<2>;\n.loc 1 3 1\nld.param.u64 %%d0, [out];\nmov.u32 %%r0, %%tid.x;\n"
              "mul.wide.u32 %%d1, %%r0, %u;\nadd.u64 %%d2, %%d0, %%d1;\nmov.u32 %%r1, %%r0;\n"
              "and.b32 %%r2, %%r0, 1;\nsetp.eq.u32 %%p0, %%r2, 0;\n",
              step);
    for (int n = 0; n < 400; n++)
        sb_printf(&s, ".loc 1 %d 1\nmad.lo.u32 %%r1, %%r1, %%r1, %d;\nxor.b32 %%r1, %%r1, %%r0;\n",
                  4 + n % 50, n);
    sb_printf(&s, ".loc 1 %d 1\n@%%p0 %s.global.%s %s;\n.loc 1 90 1\n", line, access, type,
              access[0] == 'l' ? "%r1, [%d2]" : "[%d2], %r1");
    for (int n = 0; n < 50; n++)
        sb_printf(&s, "mad.lo.u32 %%r1, %%r1, %%r1, %d;\nxor.b32 %%r1, %%r1, %%r0;\n", n);
    sb_printf(&s, "mov.u64 %%d3, 4096;\nst.global.u32 [%%d3], %%r1;\nret;\n}\n");
    CUmodule module;
    NEED(cuModuleLoadData(&module, s.items));
    CUdeviceptr nowhere = 64;
    void *params[] = {&nowhere};
    launch(kernel(module, "wild"), 1, THREADS, NULL, params);
    CHECK(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
    struct weir_fault f = {.bytes = sizeof f};
    CHECK(weir_last_fault(&f));
    CHECK_EQ_INT(f.frames[0].line, line);
    CHECK(f.frames[0].file != NULL && strcmp(f.frames[0].file, "baseline.cu") == 0);
    CHECK(strstr(f.text, "code offset") != NULL);
    sb_free(&s);
    OK(cuDevicePrimaryCtxReset(0));
    begin();
}

static void lines(void)
{
    setenv("WEIR_JIT", "baseline", 1);
    fault_at("ld", "u32", 4, 71);
    fault_at("ld", "u32", 40, 72);
    fault_at("ld", "u8", 1, 73);
    fault_at("st", "u32", 4, 74);
    fault_at("st", "u32", 40, 75);
    fault_at("ld.volatile", "u32", 4, 76);
}

static void *on_small_stack(void *out)
{
    OK(cuCtxSetCurrent(NULL));
    begin();
    struct kernel k = make(8);
    *(struct run *)out = run(&k);
    return NULL;
}

/* A thread whose stack is too small for baseline code launches a large kernel, and waits for it,
 * which means that it runs it. */
static void stack(void)
{
    unsetenv("WEIR_JIT");
    steps = LARGE;
    pthread_attr_t attr;
    pthread_t thread;
    struct run small = {{0}};
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 48 << 10);
    CHECK(pthread_create(&thread, &attr, on_small_stack, &small) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    setenv("WEIR_JIT", "baseline", 1);
    struct kernel k = make(8);
    struct run large = run(&k);
    CHECK(memcmp(&small, &large, sizeof small) == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"same", same},   {"unload", unload}, {"end", end},
                 {"fork", forked}, {"lines", lines},   {"stack", stack}};
    begin();
    for (size_t n = 0; argc == 2 && n < sizeof modes / sizeof *modes; n++)
        if (strcmp(argv[1], modes[n].name) == 0) {
            modes[n].run();
            return check_done();
        }
    printf("usage: tiers same|unload|end|fork|lines|stack\n");
    return 2;
}
