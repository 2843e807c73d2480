/* Measures the cache directory and removes from it what was unused for longest.
 *
 * Several processes may do so at once: each works on what it saw, a file that is already gone is
 * none of its business, and at worst a little too much is removed. */
#include "loader/cache.h"
#include "loader/cache_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* One file of the cache. */
struct found {
    char name[36]; /* "xx/…" */
    struct timespec used;
    uint64_t bytes;
    bool temporary;
};
struct found_list {
    struct found *items;
    size_t count, cap;
};

static bool all_hex(const char *s, size_t digits)
{
    size_t n = 0;
    while (isdigit((unsigned char)s[n]) || (s[n] >= 'a' && s[n] <= 'f'))
        n++;
    return n == digits && s[n] == '\0';
}

/* Adds the files of one of the 256 directories. Names that are not ours are left alone. */
static void list_shard(int root, const char *shard, struct found_list *list)
{
    int fd = openat(root, shard, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        bool temporary = strncmp(e->d_name, CACHE_TEMPORARY, strlen(CACHE_TEMPORARY)) == 0;
        size_t length = strlen(e->d_name);
        struct stat st;
        if ((!temporary && !all_hex(e->d_name, CACHE_NAME_DIGITS)) || length > CACHE_NAME_DIGITS ||
            fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(st.st_mode))
            continue;
        struct found f = {
            .used = st.st_mtim, .bytes = (uint64_t)st.st_size, .temporary = temporary};
        memcpy(f.name, shard, 2);
        f.name[2] = '/';
        memcpy(f.name + 3, e->d_name, length + 1);
        vec_push(list, f);
    }
    closedir(dir);
}

/* Opens the directory and lists what is in it; -1 and a message when it cannot. */
static int list_directory(struct found_list *list, struct diag *d)
{
    const char *directory = cache_dir();
    if (directory == NULL) {
        diag_set(d, 0, 0, "there is no cache directory");
        return -1;
    }
    int root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int copy = root >= 0 ? openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (dir == NULL) {
        diag_set(d, 0, 0, "cannot read the cache directory %s: %s", directory, strerror(errno));
        if (copy >= 0)
            close(copy);
        if (root >= 0)
            close(root);
        return -1;
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        if (all_hex(e->d_name, CACHE_SHARD_DIGITS))
            list_shard(root, e->d_name, list);
    closedir(dir);
    return root;
}

bool cache_usage(struct cache_usage *out, struct diag *d)
{
    *out = (struct cache_usage){0};
    struct found_list list = {0};
    int root = list_directory(&list, d);
    if (root < 0)
        return false;
    for (size_t i = 0; i < list.count; i++) {
        out->files += !list.items[i].temporary;
        out->bytes += list.items[i].bytes;
    }
    free(list.items);
    close(root);
    return true;
}

static int older_first(const void *a, const void *b)
{
    const struct timespec *x = &((const struct found *)a)->used;
    const struct timespec *y = &((const struct found *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static void remove_found(int root, const struct found *f, struct cache_usage *removed)
{
    if (unlinkat(root, f->name, 0) != 0)
        return;
    removed->files += !f->temporary;
    removed->bytes += f->bytes;
}

bool cache_trim(uint64_t keep, struct cache_usage *removed, struct diag *d)
{
    struct cache_usage gone = {0};
    struct found_list list = {0};
    int root = list_directory(&list, d);
    if (root < 0)
        return false;
    if (list.count > 0)
        qsort(list.items, list.count, sizeof *list.items, older_first);
    uint64_t total = 0;
    for (size_t i = 0; i < list.count; i++)
        total += list.items[i].bytes;
    time_t stale = time(NULL) - CACHE_TEMPORARY_SECONDS;
    for (size_t i = 0; i < list.count; i++) {
        const struct found *f = &list.items[i];
        if (f->temporary ? f->used.tv_sec > stale : keep > 0 && total - gone.bytes <= keep)
            continue;
        remove_found(root, f, &gone);
    }
    if (keep == 0)
        for (size_t i = 0; i < list.count; i++) { /* directories that are now empty */
            char shard[3] = {list.items[i].name[0], list.items[i].name[1], '\0'};
            unlinkat(root, shard, AT_REMOVEDIR);
        }
    free(list.items);
    close(root);
    if (removed != NULL)
        *removed = gone;
    return true;
}
