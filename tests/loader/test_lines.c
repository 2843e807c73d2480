/* E3.1, module loader: addresses in code give the source lines they came from, for both DWARF
 * versions in use. */
#include "check.h"
#include "loader/lines_dwarf.h"
#include "loader/loader.h"
#include "module.h"

#include <stdlib.h>
#include <string.h>

static const struct jit_options options = {.ntid = {32, 1, 1}};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* Whether some instruction of the function at `start` belongs to that line, and none to a line
 * outside low..high. */
static void check_function(const struct jit_code *code, uint64_t start, size_t bytes,
                           const char *name, int low, int high, int wanted)
{
    bool seen = false;
    for (size_t i = 0; i < bytes; i++) {
        const char *file = NULL;
        int line = 0;
        CHECK(jit_find_line(code, (const void *)(uintptr_t)(start + i), &file, &line));
        if (file == NULL)
            return;
        CHECK(ends_with(file, name));
        CHECK(line >= low && line <= high);
        seen = seen || line == wanted;
    }
    CHECK(seen);
}

static void test_lines(struct fake *f, const char *kernel)
{
    struct diag d = {0};
    struct jit_code *code = jit_get(fake_kernel(f, kernel), &options, &f->resolver, &d);
    CHECK_STR(d.text, "");
    if (code == NULL)
        return;
    uint64_t out[4];
    fake_run(code, out);
    CHECK_EQ_INT(out[0], 8 / 3 * 7);
    /* The first bytes of each function: short enough to be within it. */
    check_function(code, out[1], 16, "first.cu", 100, 105, 103);
    check_function(code, out[2], 20, "/abs/second.cu", 2000, 2004, 2003);
    check_function(code, out[3], 4, "third.cu", 30, 37, 31);
    const char *file;
    int line;
    CHECK(!jit_find_line(code, &line, &file, &line));
    CHECK(!jit_find_line(code, code->text + code->text_bytes, &file, &line));
    jit_release(code);
}

static void test_without(struct fake *f)
{
    struct jit_code *code = jit_get(fake_kernel(f, "basic"), &options, &f->resolver, NULL);
    const char *file;
    int line;
    CHECK(code != NULL && !jit_find_line(code, code->text, &file, &line));
    jit_release(code);
}

/* Any bytes at all: no read outside, an end. */
static void test_garbage(void)
{
    srand(2);
    for (int round = 0; round < 3000; round++) {
        size_t size = 20 + (size_t)rand() % 200;
        uint8_t *data = malloc(size);
        for (size_t i = 0; i < size; i++)
            data[i] = (uint8_t)rand();
        uint32_t length = (uint32_t)size - 4;
        memcpy(data, &length, 4);
        data[4] = (uint8_t)(2 + round % 4);
        data[5] = 0;
        if (round % 4 == 3) /* version 5: a small header length, plausible opcodes */
            memcpy(data + 8, (uint8_t[]){60, 0, 0, 0, 1, 1, 1, 0xfb, 14, 13}, 10);
        else
            memcpy(data + 6, (uint8_t[]){60, 0, 0, 0}, 4);
        struct line_table t = {0};
        struct line_sections from = {.line = {data, size}};
        line_table_read(&t, &from);
        line_table_free(&t);
        free(data);
    }
    CHECK(true);
}

int main(void)
{
    char *directory = make_directory();
    fake_environment(directory);
    static struct fake f;
    fake_init(&f, 4);
    test_lines(&f, "lines");
    test_lines(&f, "lines4");
    test_without(&f);
    test_garbage();
    remove_directory(directory);
    return check_done();
}
