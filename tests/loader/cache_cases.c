/* See cache_cases.h. */
#include "cache_cases.h"
#include "check.h"
#include "loader/loader.h"
#include "module.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct strbuf case_notices;

struct hash128 key_of(uint64_t n)
{
    struct hash128 h;
    hash_init(&h);
    hash_add(&h, &n, sizeof n);
    return h;
}

void case_store(uint64_t n, const void *data, size_t size)
{
    struct hash128 key = key_of(n);
    struct cache_piece pieces[2] = {{data, size / 2},
                                    {(const char *)data + size / 2, size - size / 2}};
    cache_store(CACHE_CODE, &key, pieces, 2);
}

static enum cache_result load(uint64_t n, char **data, size_t *size)
{
    struct hash128 key = key_of(n);
    void *p = NULL;
    enum cache_result r = cache_load(CACHE_CODE, &key, &p, size);
    *data = p;
    return r;
}

char *case_path(uint64_t n)
{
    struct hash128 key = key_of(n);
    char hex[33];
    hash_hex(&key, hex);
    return xprintf("%s/%.2s/%s", cache_dir(), hex, hex + 2);
}

void case_expect_hit(uint64_t n, const char *want, size_t bytes)
{
    char *data;
    size_t size = 0;
    CHECK_EQ_INT(load(n, &data, &size), CACHE_HIT);
    CHECK_EQ_INT(size, bytes);
    CHECK(data != NULL && size == bytes && memcmp(data, want, bytes) == 0);
    free(data);
}

void case_expect(uint64_t n, enum cache_result want)
{
    char *data = NULL;
    size_t size;
    CHECK_EQ_INT(load(n, &data, &size), want);
    free(data);
}

void case_run_counted(const char *name, void (*test)(const char *directory), int (*done)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char *directory = make_directory();
        fake_environment(directory);
        jit_set_notice(collect_notice, &case_notices);
        test(directory);
        printf("%s: ", name);
        int failed = done() | check_done();
        fflush(stdout);
        remove_directory(directory);
        _exit(failed);
    }
    int status;
    waitpid(child, &status, 0);
    if (status != 0)
        printf("%s: failed\n", name);
    CHECK_EQ_INT(status, 0);
}

int cases_done(void) { return check_done(); }
