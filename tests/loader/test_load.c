/* Module loader: code goes in, runs, and gives the right numbers; names bind where they should;
 * what cannot be loaded is refused with a message. */
#include "check.h"
#include "loader/loader.h"
#include "loader/progress.h"
#include "module.h"

#include <math.h>
#include <pthread.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is read from `from` contains all of the words. */
static bool says(int from, const char *one, const char *two, const char *three)
{
    char text[512] = "";
    long got = read(from, text, sizeof text - 1); /* waits until something is said */
    return got > 0 && strstr(text, one) != NULL && strstr(text, two) != NULL &&
           strstr(text, three) != NULL;
}

static const char *plain_name(const char *name)
{
    return strcmp(name, "slow") == 0 ? "slow(int)" : name;
}

/* Who waits before a terminal is told soon what takes so long; logs have it later. */
static void test_watch(void)
{
    int terminal, ours, saved = dup(2);
    if (openpty(&ours, &terminal, NULL, NULL, NULL) != 0) {
        printf("skipped: no pseudo-terminal\n");
        return;
    }
    struct watch w;
    static struct ptx_instr many[4700];
    struct ptx_func called = {
        .name = "called", .has_body = true, .instrs = many, .ninstrs = WEIR_COUNT(many)};
    struct ptx_call call = {.func = &called};
    struct ptx_instr instrs[11] = {[7] = {.call = &call}};
    struct ptx_func slow = {.name = "slow", .has_body = true, .instrs = instrs, .ninstrs = 11};
    int log[2];
    CHECK(pipe(log) == 0);
    watch_patience_ms = 1;
    dup2(terminal, 2);
    watch_begin(&w, &slow, JIT_TIER_OPTIMIZING);
    CHECK(w.watched);
    CHECK(says(ours, "weir: compiling kernel slow ", "first time", ""));
    watch_end(&w);
    jit_set_names(plain_name);
    watch_log_ms = 20;
    dup2(log[1], 2);
    watch_begin(&w, &slow, JIT_TIER_OPTIMIZING);
    CHECK(
        says(log[0], "compiling kernel slow(int)", "4711 instructions, optimizing tier", "since"));
    CHECK(says(log[0], "compiling kernel slow", "", "")); /* again */
    watch_end(&w);
    jit_set_names(NULL);
    dup2(saved, 2);
    watch_log_ms = 5000;
    watch_patience_ms = 1000;
    close(log[0]);
    close(log[1]);
    close(ours);
    close(terminal);
    close(saved);
}

static const struct jit_options options = {.ntid = {32, 1, 1}, .tier = JIT_TIER_OPTIMIZING};

static void test_basic(struct fake *f, const char *name)
{
    struct diag d = {0};
    struct jit_code *code = jit_get(fake_kernel(f, name), &options, &f->resolver, &d);
    CHECK_STR(d.text, "");
    if (code == NULL)
        return;
    int64_t out[16] = {0};
    CHECK_EQ_INT(fake_run(code, out), JIT_DONE);
    static const int64_t want[16] = {6,  15, 10, 5 ^ 0x55, 114, 20, 'o', 0,
                                     -1, 42, 11, 1,        7,   3,  'r', 7};
    for (int i = 0; i < 16; i++)
        CHECK_EQ_INT(out[i], want[i]);
    fake_run(code, out); /* data keeps its state between runs */
    CHECK_EQ_INT(out[10], 12);
    CHECK_EQ_INT(out[13], 6);
    CHECK_EQ_INT(code->frame_bytes, 64 * 32);
    CHECK_EQ_INT(code->local_bytes, 11);
    CHECK_EQ_INT(code->pc_count, 3);
    CHECK_EQ_INT(code->can_suspend, 1);
    CHECK_EQ_INT(code->flags, 1);
    CHECK((const uint8_t *)code->run >= code->text &&
          (const uint8_t *)code->run < code->text + code->text_bytes);
    jit_release(code);
}

static void test_outside(struct fake *f, const char *name)
{
    struct diag d = {0};
    struct jit_code *code = jit_get(fake_kernel(f, name), &options, &f->resolver, &d);
    CHECK_STR(d.text, "");
    if (code == NULL)
        return;
    double out[12] = {0};
    uint64_t count = f->count, notes = f->notes;
    CHECK_EQ_INT(fake_run(code, out), JIT_DONE);
    CHECK_EQ_INT(out[0], 42);
    CHECK_EQ_INT(f->notes, notes + 1);
    CHECK_EQ_INT(out[1], 3);
    CHECK_EQ_INT(f->count, count + 5);
    CHECK_EQ_INT(out[2], 0x5001);
    CHECK(out[3] == (double)sinf(1.0f));
    CHECK(out[4] == 1.5);
    CHECK(fabs(out[5] - cos(1.0)) < 1e-6);
    CHECK(out[6] == 0.333251953125); /* 1/3 as half */
    CHECK(out[7] == 2.0);            /* (9 << 64 | 6) / 3, low half */
    CHECK_EQ_INT(out[8], 'i');
    CHECK_EQ_INT(out[9], 1);
    CHECK_EQ_INT(out[10], 0x5002);
    CHECK_EQ_INT(out[11], 0x3eab); /* 1/3 as bfloat16 */
    jit_release(code);
}

static void test_refused(struct fake *f, const char *name, const char *message)
{
    struct diag d = {0};
    CHECK(jit_get(fake_kernel(f, name), &options, &f->resolver, &d) == NULL);
    if (strstr(d.text, message) == NULL)
        CHECK_STR(d.text, message);
}

/* Two loads of one module: own data, own addresses, one compilation. */
static void test_twice(const char *directory)
{
    static struct fake a, b;
    fake_init(&a, 77);
    fake_init(&b, 77);
    for (int i = 0; i < 3; i++) { /* so that functions 1 and 2 exist */
        fake_kernel(&a, "filler");
        fake_kernel(&b, "filler");
    }
    int before = log_count(directory, "compile outside@twice");
    struct jit_code *one = jit_get(fake_kernel(&a, "outside@twice"), &options, &a.resolver, NULL);
    struct jit_code *two = jit_get(fake_kernel(&b, "outside@twice"), &options, &b.resolver, NULL);
    struct jit_code *again = jit_get(&a.funcs[3], &options, &a.resolver, NULL);
    CHECK(one != NULL && two != NULL && one != two && one == again);
    CHECK_EQ_INT(log_count(directory, "compile outside@twice"), before + 1);
    if (one == NULL || two == NULL)
        return;
    double out[12];
    fake_run(one, out);
    CHECK_EQ_INT(a.count, 5);
    CHECK_EQ_INT(b.count, 0);
    jit_release(one);
    fake_run(again, out); /* still referenced once */
    CHECK_EQ_INT(a.count, 10);
    jit_release(again);
    fake_run(two, out);
    CHECK_EQ_INT(b.count, 5);
    jit_release(two);
    jit_release(NULL);
}

/* Many kernels are close together and their memory is given back. */
static void test_packing(void)
{
    static struct fake f;
    fake_init(&f, 123);
    struct jit_code *codes[30];
    static char names[30][16];
    const uint8_t *low = NULL, *high = NULL;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 30; i++) {
            snprintf(names[i], sizeof names[i], "basic@%d", i);
            if (round == 0)
                fake_kernel(&f, names[i]);
            codes[i] = jit_get(&f.funcs[i], &options, &f.resolver, NULL);
            CHECK(codes[i] != NULL);
            if (codes[i] == NULL)
                return;
            low = low == NULL || codes[i]->text < low ? codes[i]->text : low;
            high = codes[i]->text > high ? codes[i]->text : high;
        }
        for (int i = 0; i < 30; i++)
            jit_release(codes[i]);
    }
    CHECK(high - low < 2 << 20);
    /* Pages of released code are not accessible any more. */
    unsigned char resident;
    CHECK(mincore((void *)low, 4096, &resident) == 0 && !(resident & 1));
}

static void *get_and_run(void *arg)
{
    struct fake *f = arg;
    struct diag d = {0};
    struct jit_code *code = jit_get(&f->funcs[0], &options, &f->resolver, &d);
    CHECK_STR(d.text, "");
    int64_t out[16] = {0};
    if (code != NULL)
        fake_run(code, out);
    CHECK_EQ_INT(out[9], 42);
    return code;
}

/* Threads with stacks far too small for a compiler want one kernel: one compilation. */
static void test_single_flight(const char *directory)
{
    static struct fake f;
    fake_init(&f, 9);
    fake_kernel(&f, "basic@flight");
    setenv("FAKE_DELAY_MS", "100", 1);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 << 10);
    pthread_t threads[8];
    void *codes[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], &attr, get_and_run, &f);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], &codes[i]);
    for (int i = 0; i < 8; i++) {
        CHECK(codes[i] == codes[0]);
        jit_release(codes[i]);
    }
    CHECK_EQ_INT(log_count(directory, "compile basic@flight"), 1);
    setenv("FAKE_DELAY_MS", "0", 1);
}

/* Different kernels are compiled at the same time: each compilation waits for the others. */
static void test_parallel(void)
{
    static struct fake fakes[3];
    setenv("FAKE_MEET", "3", 1); /* counts all compilations so far too: see the caller */
    pthread_t threads[3];
    static const char *const names[3] = {"basic@p0", "basic@p1", "basic@p2"};
    for (int i = 0; i < 3; i++) {
        fake_init(&fakes[i], 100 + (uint64_t)i);
        fake_kernel(&fakes[i], names[i]);
        pthread_create(&threads[i], NULL, get_and_run, &fakes[i]);
    }
    for (int i = 0; i < 3; i++) {
        void *code;
        pthread_join(threads[i], &code);
        jit_release(code);
    }
    unsetenv("FAKE_MEET");
}

static void test_facts(const char *directory)
{
    static struct fake good, bad;
    fake_init(&good, 1000);
    fake_kernel(&good, "ab");
    fake_kernel(&good, "abcd");
    fake_kernel(&good, "no_info");
    fake_init(&bad, 1001);
    bad.module.target_sm = 13;
    fake_kernel(&bad, "x");
    struct diag d = {0};
    CHECK(jit_check(&good.module, &d));
    CHECK(jit_check(&good.module, &d));
    CHECK_EQ_INT(log_count(directory, "check"), 1);
    struct jit_kernel_info info;
    CHECK(jit_kernel_info(&good.funcs[1], &info, &d) && info.static_shared == 4);
    CHECK_EQ_INT(log_count(directory, "info abcd"), 1);
    CHECK_STR(d.text, "");
    CHECK(!jit_kernel_info(&good.funcs[2], &info, &d));
    CHECK_STR(d.text, "no_info has none");
    d = (struct diag){0};
    CHECK(!jit_check(&bad.module, &d));
    CHECK_STR(d.text, "line 7: instruction tex is not supported");
    CHECK_EQ_INT(d.line, 7);
}

int main(void)
{
    char *directory = make_directory();
    fake_environment(directory);
    test_watch();
    test_parallel(); /* first: it counts compilations */
    static struct fake f;
    fake_init(&f, 1);
    for (int i = 0; i < 3; i++)
        fake_kernel(&f, "filler"); /* so that functions 1 and 2 exist */
    test_outside(&f, "outside");
    test_outside(&f, "outside_O0");
    static const char *const names[] = {"basic",     "basic_O0",    "basic_sections",
                                        "basic_pie", "basic_large", "basic_noplt"};
    for (size_t i = 0; i < WEIR_COUNT(names); i++)
        test_basic(&f, names[i]);
    test_outside(&f, "outside@again");
    test_refused(&f, "unknown", "system");
    test_refused(&f, "tls", "thread-local");
    test_refused(&f, "constructor", "init_array");
    test_refused(&f, "no_entry", "weir_block");
    test_refused(&f, "far", "out of reach");
    test_refused(&f, "missing", "no such test object");
    test_twice(directory);
    test_packing();
    test_single_flight(directory);
    test_facts(directory);
    remove_directory(directory);
    return check_done();
}
