/* Module base/env: the table of environment variables is whole, and values are read or refused as
 * documented. */
#include "base/env.h"
#include "check.h"

#include <stdlib.h>

static void set(enum env_variable v, const char *value) { setenv(env_entry(v)->name, value, 1); }

static void test_table(void)
{
    for (int v = 0; v < ENV_COUNT; v++) {
        const struct env_entry *e = env_entry((enum env_variable)v);
        CHECK(e->name != NULL && e->fallback != NULL && e->meaning != NULL);
        CHECK(strncmp(e->name, "WEIR_", 5) == 0 || strncmp(e->name, "CUDA_", 5) == 0);
        for (int w = 0; w < v; w++)
            CHECK(strcmp(e->name, env_entry((enum env_variable)w)->name) != 0);
    }
}

static void expect_int(const char *text, bool ok, int64_t want)
{
    struct diag d = {0};
    int64_t value = -99;
    set(ENV_WORKERS, text);
    CHECK_EQ_INT(env_int(ENV_WORKERS, 1, 64, 5, &value, &d), ok);
    if (ok)
        CHECK_EQ_INT(value, want);
    else
        CHECK(strstr(d.text, "WEIR_WORKERS=") != NULL);
}

static void expect_bytes(const char *text, bool ok, uint64_t want)
{
    struct diag d = {0};
    uint64_t value = 99;
    set(ENV_MEMORY, text);
    CHECK_EQ_INT(env_bytes(ENV_MEMORY, 5, &value, &d), ok);
    if (ok)
        CHECK_EQ_INT(value, want);
    else
        CHECK(strstr(d.text, env_entry(ENV_MEMORY)->name) != NULL);
}

static void expect_words(const char *text, const char *refused)
{
    static const char *const words[] = {"memory", "races", "off", NULL};
    struct diag d = {0};
    set(ENV_CHECK, text);
    CHECK_EQ_INT(env_words(ENV_CHECK, words, &d), refused == NULL);
    CHECK_STR(d.text, refused != NULL ? refused : "");
}

static void test_words(void)
{
    unsetenv("WEIR_CHECK");
    CHECK(!env_lists(ENV_CHECK, "memory") && !env_lists(ENV_CHECK, ""));
    expect_words("", NULL);
    expect_words("memory", NULL);
    expect_words("off", NULL);
    expect_words("races,memory", NULL);
    CHECK(env_lists(ENV_CHECK, "memory") && env_lists(ENV_CHECK, "races"));
    CHECK(!env_lists(ENV_CHECK, "mem") && !env_lists(ENV_CHECK, "off"));
    expect_words("memroy", "WEIR_CHECK=memroy: must be \"memory\", \"races\" or \"off\"");
    expect_words("memory,", NULL);
    expect_words("memory,all", "WEIR_CHECK=memory,all: must be \"memory\", \"races\" or \"off\"");
}

static void expect_word(const char *text, bool ok)
{
    static const char *const words[] = {"512", "256", NULL};
    struct diag d = {0};
    set(ENV_VECTORS, text);
    CHECK_EQ_INT(env_word(ENV_VECTORS, words, &d), ok);
    CHECK_EQ_INT(strstr(d.text, "must be \"512\" or \"256\"") != NULL, !ok);
}

static void test_word(void)
{
    expect_word("", true);
    expect_word("256", true);
    expect_word("512,256", false);
    expect_word("128", false);
}

static void append(void *text, const char *line) { sb_printf(text, "%s\n", line); }

static void expect_unknown(const char *name, const char *want)
{
    struct strbuf told = {0};
    CHECK_EQ_INT(setenv(name, "1", 1), 0);
    env_unknown(append, &told);
    CHECK_STR(told.items, want);
    unsetenv(name);
    sb_free(&told);
}

/* Names that are nearly those of the table are told; others' names and tests' own are not. */
static void test_unknown(void)
{
    char large[300] = "WEIR_";
    memset(large + 5, 'X', sizeof large - 6);
    expect_unknown("WEIR_WORKERS", NULL);
    expect_unknown("WEIR_WORKER", "WEIR_WORKER is no setting: is WEIR_WORKERS meant?\n");
    expect_unknown("weir_workers", "weir_workers is no setting: is WEIR_WORKERS meant?\n");
    expect_unknown("WEIR_CACHEDIR", "WEIR_CACHEDIR is no setting: is WEIR_CACHE_DIR meant?\n");
    expect_unknown("WEIR_CHEKC", "WEIR_CHEKC is no setting: is WEIR_CHECK meant?\n");
    expect_unknown("WEIR_POOL_FILE", "WEIR_POOL_FILE is no setting: is WEIR_POOLS_FILE meant?\n");
    expect_unknown("WEIR_ELEPHANTS", "WEIR_ELEPHANTS is no setting (weir info lists them)\n");
    expect_unknown("WEIR_\n\033", "WEIR_?? is no setting (weir info lists them)\n");
    char *want = xprintf("%.64s is no setting (weir info lists them)\n", large);
    expect_unknown(large, want);
    free(want);
    expect_unknown("WEIR_TEST_TOOL", NULL);
    expect_unknown("WEIRD_NAME", NULL);
}

int main(void)
{
    test_table();
    test_unknown();
    test_words();
    test_word();
    unsetenv("WEIR_WORKERS");
    int64_t value;
    CHECK(env_get(ENV_WORKERS) == NULL);
    CHECK(env_int(ENV_WORKERS, 1, 64, 5, &value, NULL) && value == 5);
    expect_int("", true, 5);
    expect_int("7", true, 7);
    expect_int("64", true, 64);
    expect_int("65", false, 0);
    expect_int("0", false, 0);
    expect_int("-1", false, 0);
    expect_int("7x", false, 0);
    expect_int("many", false, 0);
    expect_int("99999999999999999999", false, 0);

    expect_bytes("", true, 5);
    expect_bytes("4096", true, 4096);
    expect_bytes("3K", true, 3 << 10);
    expect_bytes("3k", true, 3 << 10);
    expect_bytes("5MiB", true, 5 << 20);
    expect_bytes("8GB", true, (uint64_t)8 << 30);
    expect_bytes("2T", true, (uint64_t)2 << 40);
    expect_bytes("12B", true, 12);
    expect_bytes("8X", false, 0);
    expect_bytes("8GG", false, 0);
    expect_bytes("-8G", false, 0);
    expect_bytes("G", false, 0);
    expect_bytes("99999999T", false, 0);
    return check_done();
}
