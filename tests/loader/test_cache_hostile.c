/* K3.3: the disk cache where others are at work: whatever has a record's name, whoever owns it,
 * whatever changes while it is read, and whatever limits the process has, a record is used only if
 * nobody but this user can have written it, nothing waits, and nothing ends the process. */
#include "cache_cases.h"
#include "check.h"
#include "module.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif

enum { OTHER_USER = 12345, PATIENCE_SECONDS = 60 };

static bool told(const char *text)
{
    return case_notices.items != NULL && strstr(case_notices.items, text) != NULL;
}

/* ---- what has a record's name ---- */

static void make_fifo(const char *path) { CHECK_EQ_INT(mkfifo(path, 0600), 0); }

static void make_socket(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(strlen(path) < sizeof name.sun_path);
    memcpy(name.sun_path, path, strlen(path) + 1);
    CHECK_EQ_INT(bind(fd, (struct sockaddr *)&name, sizeof name), 0);
    close(fd);
}

static void make_empty_directory(const char *path) { CHECK_EQ_INT(mkdir(path, 0700), 0); }

static void make_link(const char *path) { CHECK_EQ_INT(symlink("/dev/zero", path), 0); }

static void make_loop(const char *path) { CHECK_EQ_INT(symlink(path, path), 0); }

static void make_device(const char *path)
{
    if (mknod(path, S_IFCHR | 0600, makedev(1, 5)) != 0) /* /dev/zero */
        printf("skipped: a device (needs the right to make one)\n");
}

/* A link to a record that would be good: by its name it is not where it should be. */
static void make_link_to_record(const char *path)
{
    char *elsewhere = xprintf("%s-elsewhere", path);
    CHECK_EQ_INT(rename(path, elsewhere), 0);
    CHECK_EQ_INT(symlink(elsewhere, path), 0);
    free(elsewhere);
}

static void case_types(const char *directory)
{
    static void (*const make[])(const char *path) = {make_fifo, make_socket, make_empty_directory,
                                                     make_link, make_loop,   make_device};
    for (uint64_t n = 0; n < WEIR_COUNT(make); n++) {
        char *path = case_path(n);
        case_store(n, "first", 5); /* makes the shard */
        CHECK_EQ_INT(unlink(path), 0);
        make[n](path);
        case_expect(n, CACHE_MISS);
        case_store(n, "second", 6); /* takes its place */
        case_expect_hit(n, "second", 6);
        free(path);
    }
    char *path = case_path(50);
    case_store(50, "linked", 6);
    make_link_to_record(path);
    case_expect(50, CACHE_MISS);
    CHECK_STR(case_notices.items, NULL);
    free(path);
}

/* What cannot be replaced costs that record alone, and one notice. */
static void case_full_directory(const char *directory)
{
    char *path = case_path(1), *inside = xprintf("%s/file", path);
    case_store(1, "first", 5);
    CHECK_EQ_INT(unlink(path), 0);
    make_empty_directory(path);
    close(open(inside, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    case_store(1, "second", 6);
    case_expect(1, CACHE_MISS);
    CHECK(told("cannot be written"));
    case_store(2, "other", 5);
    case_expect_hit(2, "other", 5);
    free(inside);
    free(path);
}

/* The same in place of a shard, and of the directory. */
static void case_shards(const char *directory)
{
    static void (*const make[])(const char *path) = {make_fifo, make_socket, make_link, make_loop};
    for (uint64_t n = 0; n < WEIR_COUNT(make); n++) {
        char *shard = case_path(n);
        *strrchr(shard, '/') = '\0';
        CHECK_EQ_INT(rmdir(shard) == 0 || errno == ENOENT, 1);
        make[n](shard);
        case_store(n, "x", 1);
        case_expect(n, CACHE_MISS);
        CHECK(told("cannot be written"));
        free(shard);
    }
    struct cache_usage use;
    CHECK(cache_usage(&use, NULL));
    CHECK_EQ_INT(use.files, 0);
    case_store(100, "other", 5);
    case_expect_hit(100, "other", 5);
    CHECK(cache_trim(0, &use, NULL));
}

static void case_fifo_for_directory(const char *directory)
{
    char *path = xprintf("%s/cache", directory);
    make_fifo(path);
    CHECK_STR(cache_dir(), NULL);
    CHECK(told("cannot be used"));
    free(path);
}

/* Clearing removes whatever has a record's name but directories. */
static void case_cleared(const char *directory)
{
    char *path = case_path(1);
    case_store(1, "x", 1);
    CHECK_EQ_INT(unlink(path), 0);
    make_fifo(path);
    struct cache_usage gone;
    CHECK(cache_trim(0, &gone, NULL));
    CHECK_EQ_INT(gone.files, 1);
    CHECK(access(path, F_OK) != 0);
    free(path);
}

/* ---- sizes ---- */

/* Files without content, as large as any. */
static void case_sparse(const char *directory)
{
    static const off_t sizes[] = {1, 72, 1 << 20, (off_t)1 << 28, (off_t)1 << 40};
    for (size_t i = 0; i < WEIR_COUNT(sizes); i++) {
        char *path = case_path(i);
        case_store(i, "x", 1);
        if (truncate(path, sizes[i]) == 0)
            case_expect(i, CACHE_DAMAGED);
        free(path);
    }
}

/* A record that says it has as much as is allowed, where there is not so much memory. */
static void case_no_memory(const char *directory)
{
    char *path = case_path(1);
    uint64_t payload = ((uint64_t)1 << 28) - 1;
    size_t header;
    case_store(1, "", 0);
    free(file_read(path, &header, NULL));
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    CHECK_EQ_INT(pwrite(fd, &payload, sizeof payload, 16), sizeof payload);
    CHECK_EQ_INT(ftruncate(fd, (off_t)(header + payload)), 0);
    close(fd);
#if !__has_feature(address_sanitizer) &&                                                           \
    !__has_feature(thread_sanitizer) /* whose shadow is larger than any limit */
    struct rlimit few = {(rlim_t)128 << 20, (rlim_t)128 << 20};
    CHECK_EQ_INT(setrlimit(RLIMIT_AS, &few), 0);
    case_expect(1, CACHE_MISS);
#endif
    free(path);
}

/* Under a limit on files' sizes small records are kept, large ones are not, and nothing ends the
 * process, as SIGXFSZ would. */
static void case_file_limit(const char *directory)
{
    struct rlimit limit = {4096, 4096};
    char *big = xcalloc(1, 100000);
    CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    case_store(1, big, 100000);
    case_expect(1, CACHE_MISS);
    CHECK(told("cannot be written (File too large)"));
    case_store(2, "small", 5);
    case_expect_hit(2, "small", 5);
    struct cache_usage use;
    CHECK(cache_usage(&use, NULL));
    CHECK_EQ_INT(use.files, 1);
    CHECK(use.bytes < 1000);
    free(big);
}

/* ---- owners and permissions ---- */

static void case_permissions(const char *directory)
{
    char *path = case_path(1), *shard = case_path(1);
    *strrchr(shard, '/') = '\0';
    case_store(1, "mine", 4);
    const struct {
        const char *name;
        mode_t mode;
        bool counts;
    } modes[] = {{path, 0644, true},        {path, 0620, false},        {path, 0602, false},
                 {path, 0600, true},        {shard, 0755, true},        {shard, 0770, false},
                 {shard, 0702, false},      {shard, 01777, false},      {shard, 0700, true},
                 {cache_dir(), 0755, true}, {cache_dir(), 0730, false}, {cache_dir(), 01777, false},
                 {cache_dir(), 0700, true}};
    for (size_t i = 0; i < WEIR_COUNT(modes); i++) {
        CHECK_EQ_INT(chmod(modes[i].name, modes[i].mode), 0);
        if (modes[i].counts)
            case_expect_hit(1, "mine", 4);
        else
            case_expect(1, CACHE_MISS);
    }
    CHECK_EQ_INT(chmod(shard, 0707), 0);
    case_store(1, "again", 5);
    CHECK(told("other users can write to it"));
    CHECK_EQ_INT(chmod(shard, 0700), 0);
    case_expect_hit(1, "mine", 4);
    CHECK_EQ_INT(chmod(path, 0), 0); /* unreadable but for root */
    case_expect(1, geteuid() == 0 ? CACHE_HIT : CACHE_MISS);
    case_store(1, "new", 3);
    case_expect_hit(1, "new", 3);
    free(shard);
    free(path);
}

/* Another user's record, shard and directory, each as that user can make it. */
static void case_owners(const char *directory)
{
    if (geteuid() != 0) {
        printf("skipped: owners (needs root)\n");
        return;
    }
    char *path = case_path(1), *shard = case_path(1);
    *strrchr(shard, '/') = '\0';
    case_store(1, "mine", 4);
    const char *const names[] = {path, shard, cache_dir()};
    for (size_t i = 0; i < WEIR_COUNT(names); i++) {
        CHECK_EQ_INT(chown(names[i], OTHER_USER, OTHER_USER), 0);
        case_expect(1, CACHE_MISS);
        CHECK_EQ_INT(chown(names[i], 0, 0), 0);
        case_expect_hit(1, "mine", 4);
    }
    free(shard);
    free(path);
}

/* In a directory that all may write to, each user has one. */
static void case_shared(const char *directory)
{
    char *shared = xprintf("%s/cache", directory);
    char *own = xprintf("%s/user-%u", shared, (unsigned)geteuid());
    CHECK_EQ_INT(mkdir(shared, 0700), 0);
    CHECK_EQ_INT(chmod(shared, 01777), 0);
    CHECK_STR(cache_dir(), own);
    case_store(1, "mine", 4);
    case_expect_hit(1, "mine", 4);
    struct stat st;
    CHECK(stat(own, &st) == 0 && (st.st_mode & 0777) == 0700);
    CHECK_STR(case_notices.items, NULL);
    free(own);
    free(shared);
}

/* One who was there first, and made it himself. */
static void case_planted(const char *directory)
{
    char *shared = xprintf("%s/cache", directory);
    char *own = xprintf("%s/user-%u", shared, (unsigned)geteuid());
    CHECK_EQ_INT(mkdir(shared, 0700), 0);
    CHECK_EQ_INT(mkdir(own, 0700), 0);
    CHECK_EQ_INT(chmod(own, 0777), 0);
    CHECK_EQ_INT(chmod(shared, 01777), 0);
    CHECK_STR(cache_dir(), NULL);
    CHECK(told("other users can write to it"));
    case_store(1, "mine", 4);
    case_expect(1, CACHE_MISS);
    free(own);
    free(shared);
}

/* In a user namespace that does not know this process's user, another user's record looks like its
 * own: none is used. */
static void case_unknown_user(const char *directory)
{
    if (geteuid() != 0) {
        printf("skipped: unknown user (needs root)\n");
        return;
    }
    char *path = case_path(1);
    case_store(1, "mine", 4);
    CHECK_EQ_INT(chown(path, OTHER_USER, OTHER_USER), 0);
    CHECK_EQ_INT(chmod(path, 0644), 0);
    fflush(stdout);
    pid_t child = fork(); /* whose cache directory is not chosen yet: it is another program */
    if (child == 0) {
        setenv("WEIR_TEST_UNKNOWN_USER", directory, 1);
        execl("/proc/self/exe", "test_cache_hostile", (char *)NULL);
        _exit(2);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK_EQ_INT(status, 0);
    free(path);
}

static int unknown_user(void)
{
    if (unshare(CLONE_NEWUSER) != 0) {
        printf("skipped: unknown user (no user namespaces here)\n");
        return 0;
    }
    jit_set_notice(collect_notice, &case_notices);
    CHECK_STR(cache_dir(), NULL);
    CHECK(told("which has no number for this process's user"));
    case_expect(1, CACHE_MISS);
    case_store(2, "x", 1);
    case_expect(2, CACHE_MISS);
    return check_done() | cases_done();
}

/* ---- races ---- */

static atomic_bool stop;

/* Puts one thing after the other in the record's place. */
static void *exchange(void *arg)
{
    char *path = arg, *beside = xprintf("%s-beside", path);
    size_t size;
    char *file = file_read(path, &size, NULL);
    for (unsigned turn = 0; !atomic_load(&stop); turn++) {
        unlink(beside);
        if (turn % 4 == 0) {
            mkfifo(beside, 0600);
        } else if (turn % 4 == 1) {
            int ignored = symlink("/dev/zero", beside);
            (void)ignored;
        } else {
            int fd = open(beside, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
            ssize_t written = write(fd, file, turn % 4 == 2 ? size : size / 2);
            CHECK(written > 0);
            close(fd);
        }
        rename(beside, path);
        if (turn % 4 == 2)
            truncate(path, turn % 8 == 2 ? 0 : (off_t)1 << 40); /* while it is read */
    }
    free(file);
    free(beside);
    return NULL;
}

static void case_race(const char *directory)
{
    enum { LOADS = 3000 };
    pthread_t thread;
    char *path = case_path(1);
    struct hash128 key = key_of(1);
    case_store(1, "record", 6);
    CHECK_EQ_INT(pthread_create(&thread, NULL, exchange, path), 0);
    for (int n = 0; n < LOADS; n++) {
        void *data = NULL;
        size_t size = 0;
        if (cache_load(CACHE_CODE, &key, &data, &size) == CACHE_HIT)
            CHECK(size == 6 && memcmp(data, "record", 6) == 0);
        free(data);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    free(path);
}

int main(void)
{
    alarm(PATIENCE_SECONDS); /* what waits for ever fails */
    if (getenv("WEIR_TEST_UNKNOWN_USER") != NULL)
        return unknown_user();
    case_run("types", case_types);
    case_run("full directory", case_full_directory);
    case_run("shards", case_shards);
    case_run("FIFO for directory", case_fifo_for_directory);
    case_run("cleared", case_cleared);
    case_run("sparse", case_sparse);
    case_run("no memory", case_no_memory);
    case_run("file limit", case_file_limit);
    case_run("permissions", case_permissions);
    case_run("owners", case_owners);
    case_run("shared", case_shared);
    case_run("planted", case_planted);
    case_run("unknown user", case_unknown_user);
    case_run("race", case_race);
    return cases_done();
}
