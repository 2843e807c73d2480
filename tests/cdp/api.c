/* D7.1: what device code may call beside launching. */
#include "common.h"

static CUmodule module;

static void start(const char *name, void *a, void *b)
{
    void *params[] = {&a, &b};
    OK(launch(kernel(module, name), 1, 1, NULL, params));
    OK(cuCtxSynchronize());
}

static void events(void)
{
    static const unsigned codes[] = {0, 1, 1, 0, 0, 1, 1, 1, 1};
    unsigned *list = words(16), *sum = words(16);
    start("events", list, sum);
    CHECK_EQ_INT(list[0], 5);
    for (unsigned n = 1; n <= 5; n++)
        CHECK_EQ_INT(list[n], n);
    for (unsigned n = 0; n < 9; n++)
        CHECK_EQ_INT(sum[n], codes[n]);
    start("pass_stream", sum, NULL);
    CHECK_EQ_INT(sum[0], 1);
    OK(cuMemFreeHost(list));
    OK(cuMemFreeHost(sum));
}

static void copies(void)
{
    static const unsigned codes[] = {0, 1, 17, 2, 2};
    unsigned char *out = (unsigned char *)words(512);
    unsigned *sum = words(8);
    start("copies", out, sum);
    for (unsigned n = 0; n < 5; n++)
        CHECK_EQ_INT(sum[n], codes[n]);
    for (unsigned n = 0; n < 1024; n++) {
        unsigned row = n / 64 % 4, slice = n / 256;
        CHECK_EQ_INT(out[n], n % 64 < 8 && row < 2 && slice < 3 ? 9 : 7);
    }
    for (unsigned n = 0; n < 128; n++)
        CHECK_EQ_INT(out[1024 + n], n % 16 < 8 && n / 16 % 4 < 2 ? 9 : 7);
    CHECK_EQ_INT(out[1024 + 128], 0);
    OK(cuMemFreeHost(out));
    OK(cuMemFreeHost(sum));
}

static void answers(void)
{
    static const unsigned want[] = {0, 1, 32, 0, 2048, 215, CUDA_VERSION, 0, 1024, 8, 'I', 101};
    unsigned *out = words(16);
    start("answers", out, NULL);
    for (unsigned n = 0; n < 12; n++)
        if (!check_count(out[n] == want[n]))
            printf("answer %u is %u, not %u\n", n, out[n], want[n]);
    OK(cuMemFreeHost(out));
}

/* A chain of tail launches may be as long as it likes. */
static void chain(void)
{
    unsigned *p = words(1), n = 100000;
    void *params[] = {&p, &n};
    OK(launch(kernel(module, "again"), 1, 1, NULL, params));
    OK(cuCtxSynchronize());
    CHECK_EQ_INT(*p, 100001);
    OK(cuMemFreeHost(p));
}

int main(void)
{
    begin();
    module = load_file("api.ptx");
    events();
    copies();
    answers();
    chain();
    return check_done();
}
