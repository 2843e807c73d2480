/* Module loader: the disk cache alone: what is stored comes back, what is damaged does not, and a
 * directory that cannot be used costs nothing but one notice. Each case runs in a process of its
 * own, since a process chooses its directory once. */
#include "cache_cases.h"
#include "check.h"
#include "loader/cache.h"
#include "loader/loader.h"
#include "module.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the cases ---- */

static void case_roundtrip(const char *directory)
{
    case_expect(1, CACHE_MISS);
    case_store(1, "hello, cache", 12);
    case_expect_hit(1, "hello, cache", 12);
    case_store(1, "hello, again", 12);
    case_expect_hit(1, "hello, again", 12);
    struct hash128 key = key_of(1);
    void *data;
    size_t size;
    CHECK_EQ_INT(cache_load(CACHE_FACTS, &key, &data, &size), CACHE_DAMAGED); /* another kind */
    case_expect(1, CACHE_MISS); /* a file that is not what its name says is removed */
    char *big = xmalloc(3 << 20);
    memset(big, 'x', 3 << 20);
    case_store(2, big, 3 << 20);
    case_expect_hit(2, big, 3 << 20);
    free(big);
    struct cache_usage use;
    CHECK(cache_usage(&use, NULL));
    CHECK_EQ_INT(use.files, 1);
    CHECK(use.bytes > 3 << 20 && use.bytes < (3 << 20) + 200);
    CHECK_STR(case_notices.items, NULL);
}

static void case_damaged(const char *directory)
{
    enum { SIZE = 40 };
    char data[SIZE];
    memset(data, 'd', SIZE);
    case_store(5, data, SIZE);
    char *path = case_path(5);
    size_t whole;
    char *file = file_read(path, &whole, NULL);
    CHECK(file != NULL && whole > SIZE);
    if (file == NULL)
        return;
    for (size_t i = 0; i < whole; i++) { /* one byte wrong anywhere */
        case_store(5, data, SIZE);
        int fd = open(path, O_WRONLY);
        char wrong = (char)(file[i] ^ 0x40);
        CHECK_EQ_INT(pwrite(fd, &wrong, 1, (off_t)i), 1);
        close(fd);
        case_expect(5, CACHE_DAMAGED);
        case_expect(5, CACHE_MISS);
    }
    for (size_t n = 0; n < whole; n += 7) { /* cut off anywhere */
        case_store(5, data, SIZE);
        CHECK_EQ_INT(truncate(path, (off_t)n), 0);
        case_expect(5, CACHE_DAMAGED);
    }
    case_store(5, data, SIZE);
    case_expect_hit(5, data, SIZE);
    CHECK_EQ_INT(chmod(path, 0666), 0); /* anybody may have written it: not trusted */
    case_expect(5, CACHE_MISS);
    CHECK_EQ_INT(unlink(path), 0);
    CHECK_EQ_INT(symlink("/etc/passwd", path), 0);
    case_expect(5, CACHE_MISS);
    free(file);
    free(path);
}

static void case_trim(const char *directory)
{
    char data[1000] = {0};
    struct timespec old[2] = {{1000, 0}, {1000, 0}};
    for (uint64_t n = 0; n < 20; n++) {
        case_store(n, data, sizeof data);
        char *path = case_path(n);
        old[0].tv_sec = old[1].tv_sec = 1000 + (time_t)n;
        if (n < 10)
            CHECK_EQ_INT(utimensat(AT_FDCWD, path, old, 0), 0);
        free(path);
    }
    case_expect_hit(3, data, sizeof data); /* used now: no longer old */
    struct cache_usage use, gone;
    CHECK(cache_usage(&use, NULL));
    CHECK_EQ_INT(use.files, 20);
    CHECK(cache_trim(use.bytes * 12 / 20, &gone, NULL));
    CHECK_EQ_INT(gone.files, 8);
    case_expect(0, CACHE_MISS);
    case_expect_hit(3, data, sizeof data);
    case_expect(7, CACHE_MISS);
    case_expect_hit(9, data, sizeof data);
    case_expect_hit(15, data, sizeof data);

    /* Temporary files: young ones belong to somebody, old ones to nobody. */
    char *path = case_path(15);
    char *young = xprintf("%.*s/tmp-young", (int)(strrchr(path, '/') - path), path);
    char *dead = xprintf("%.*s/tmp-dead", (int)(strrchr(path, '/') - path), path);
    close(open(young, O_CREAT | O_WRONLY, 0600));
    close(open(dead, O_CREAT | O_WRONLY, 0600));
    CHECK_EQ_INT(utimensat(AT_FDCWD, dead, old, 0), 0);
    CHECK(cache_trim(0, &gone, NULL));
    CHECK_EQ_INT(gone.files, 12);
    CHECK_EQ_INT(access(young, F_OK), 0);
    CHECK(access(dead, F_OK) != 0);
    case_store(30, data, sizeof data); /* its directory is gone: made anew */
    case_expect_hit(30, data, sizeof data);
    free(path);
    free(young);
    free(dead);
}

static void case_off(const char *directory)
{
    setenv("WEIR_CACHE_DIR", "off", 1);
    CHECK_STR(jit_cache_dir(), NULL);
    case_store(1, "x", 1);
    case_expect(1, CACHE_MISS);
    CHECK_STR(case_notices.items, NULL);
    struct diag d = {0};
    struct cache_usage use;
    CHECK(!cache_usage(&use, &d));
    CHECK_STR(d.text, "there is no cache directory");
}

static void case_empty(const char *directory)
{
    setenv("WEIR_CACHE_DIR", "", 1);
    CHECK_STR(jit_cache_dir(), NULL);
    CHECK_STR(case_notices.items, NULL);
}

static void case_defaults(const char *directory)
{
    unsetenv("WEIR_CACHE_DIR");
    setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
    setenv("HOME", directory, 1);
    char *want = xprintf("%s/.cache/weir", directory);
    CHECK_STR(jit_cache_dir(), want);
    case_store(1, "x", 1);
    case_expect_hit(1, "x", 1);
    free(want);
}

static void case_xdg(const char *directory)
{
    unsetenv("WEIR_CACHE_DIR");
    char *xdg = xprintf("%s/xdg", directory), *want = xprintf("%s/xdg/weir", directory);
    setenv("XDG_CACHE_HOME", xdg, 1);
    CHECK_STR(jit_cache_dir(), want);
    struct stat st;
    CHECK(stat(want, &st) == 0 && (st.st_mode & 0777) == 0700);
    free(want);
    free(xdg);
}

static void case_no_home(const char *directory)
{
    unsetenv("WEIR_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    CHECK_STR(jit_cache_dir(), NULL);
    CHECK(case_notices.items != NULL && strstr(case_notices.items, "HOME is not set") != NULL);
}

/* A directory that cannot be: below a file. */
static void case_not_a_directory(const char *directory)
{
    char *file = xprintf("%s/file", directory), *below = xprintf("%s/file/cache", directory);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    setenv("WEIR_CACHE_DIR", below, 1);
    CHECK_STR(jit_cache_dir(), NULL);
    for (uint64_t n = 0; n < 3; n++) {
        case_store(n, "x", 1);
        case_expect(n, CACHE_MISS);
    }
    CHECK(case_notices.items != NULL &&
          strstr(case_notices.items, "cannot be used (Not a directory)") &&
          strchr(case_notices.items, '\n')[1] == '\0'); /* once */
    free(file);
    free(below);
}

/* A directory that exists and refuses new files. Root is refused nothing, so it becomes nobody. */
static void case_unwritable(const char *directory)
{
    case_store(1, "kept", 4);
    const char *cache = cache_dir();
    CHECK_EQ_INT(chmod(directory, 0755), 0);
    if (geteuid() == 0) {
        CHECK_EQ_INT(setresuid(65534, 65534, 65534), 0);
    } else {
        char *command = xprintf("chmod -R a-w '%s'", cache);
        CHECK_EQ_INT(system(command), 0);
        free(command);
    }
    for (uint64_t n = 2; n < 5; n++) {
        case_store(n, "x", 1);
        case_expect(n, CACHE_MISS);
    }
    CHECK(case_notices.items != NULL &&
          strstr(case_notices.items, "cannot be written (Permission denied)") &&
          strchr(case_notices.items, '\n')[1] == '\0');
}

/* A disk without space for the second record. */
static void case_full(const char *directory)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", directory, "tmpfs", 0, "size=64k") != 0) {
        printf("skipped: full disk (needs the right to mount)\n");
        return;
    }
    char *big = xcalloc(1, 100000);
    case_store(1, "small", 5);
    case_store(2, big, 100000);
    case_expect_hit(1, "small", 5);
    case_expect(2, CACHE_MISS);
    CHECK(case_notices.items != NULL && strstr(case_notices.items, "No space left on device"));
    struct cache_usage use;
    CHECK(cache_usage(&use, NULL));
    CHECK_EQ_INT(use.files, 1);
    CHECK(use.bytes < 1000); /* no half-written file is left */
    free(big);
}

int main(void)
{
    case_run("roundtrip", case_roundtrip);
    case_run("damaged", case_damaged);
    case_run("trim", case_trim);
    case_run("off", case_off);
    case_run("empty", case_empty);
    case_run("defaults", case_defaults);
    case_run("xdg", case_xdg);
    case_run("no home", case_no_home);
    case_run("not a directory", case_not_a_directory);
    case_run("unwritable", case_unwritable);
    case_run("full", case_full);
    return cases_done();
}
