/* file: files without a name in memory: see file.h. */
#include "memory/file.h"
#include "base/base.h"
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t TRAILER_MAGIC = 0x31746f4e72696557; /* "WeirNot1" */
static const uint32_t HANDLE_MAGIC = 0x48726957;          /* "WirH" */
static const char NAME[] = "weir";                        /* /proc shows it as /memfd:weir */
static const char LINK[] = "/memfd:weir";                 /* what the link of a descriptor reads */
static const int SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
static const uint64_t SLOTS_MAX = 1 << 16;

static uint64_t whole_pages(uint64_t bytes) { return (bytes + WEIR_PAGE - 1) & ~(WEIR_PAGE - 1); }

static uint64_t trailer_size(uint64_t slots)
{
    return whole_pages(sizeof(struct file_trailer) + slots * sizeof(uint64_t));
}

static struct file_trailer *map_trailer(int fd, uint64_t at, uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
    return p != MAP_FAILED ? p : NULL;
}

static struct mem_file *wrap(int fd, uint64_t bytes, uint64_t slots, struct file_trailer *trailer)
{
    struct mem_file *f = xcalloc(1, sizeof *f);
    *f = (struct mem_file){fd, bytes, trailer_size(slots), slots, trailer};
    return f;
}

static uint64_t random_number(void)
{
    uint64_t n = 0;
    while (getrandom(&n, sizeof n, 0) != sizeof n)
        ;
    return n;
}

struct mem_file *file_new(enum file_kind kind, int device, uint64_t bytes, uint64_t slots)
{
    uint64_t content = whole_pages(bytes), trailer_bytes = trailer_size(slots);
    int fd = descriptor_own(memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd < 0)
        return NULL;
    struct file_trailer *trailer = NULL;
    if (descriptor_resize(fd, content + trailer_bytes) && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        trailer = map_trailer(fd, content, trailer_bytes);
    if (trailer == NULL) {
        close(fd);
        return NULL;
    }
    trailer->id = random_number();
    trailer->bytes = content;
    trailer->kind = (uint32_t)kind;
    atomic_init(&trailer->device, device);
    atomic_init(&trailer->slots, slots);
    trailer->magic = TRAILER_MAGIC;
    return wrap(fd, content, slots, trailer);
}

/* Takes the descriptor over, whatever comes of it. A trailer says how long the content is, and is
 * after it: its offset is found from the end, page by page, as few files have more than one. */
static struct mem_file *adopt(int fd, enum file_kind kind)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) != 0 ||
        st.st_size < (off_t)WEIR_PAGE || (uint64_t)st.st_size % WEIR_PAGE != 0) {
        close(fd);
        return NULL;
    }
    uint64_t size = (uint64_t)st.st_size;
    for (uint64_t back = WEIR_PAGE; back <= trailer_size(SLOTS_MAX) && back <= size;
         back += WEIR_PAGE) {
        struct file_trailer *trailer = map_trailer(fd, size - back, back);
        if (trailer == NULL)
            break;
        uint64_t slots = atomic_load(&trailer->slots);
        if (trailer->magic == TRAILER_MAGIC && trailer->bytes == size - back &&
            trailer->kind == (uint32_t)kind && slots <= SLOTS_MAX && trailer_size(slots) == back)
            return wrap(fd, size - back, slots, trailer);
        munmap(trailer, back);
    }
    close(fd);
    return NULL;
}

struct mem_file *file_from_descriptor(int fd, enum file_kind kind)
{
    int mine = descriptor_copy(fd);
    return mine >= 0 ? adopt(mine, kind) : NULL;
}

void file_close(struct mem_file *f)
{
    munmap(f->trailer, f->trailer_bytes);
    close(f->fd);
    free(f);
}

void *file_map(const struct mem_file *f, void *at, uint64_t offset, uint64_t bytes, bool access)
{
    int rights = access ? PROT_READ | PROT_WRITE : PROT_NONE;
    int flags = MAP_SHARED | MAP_NORESERVE | (at != NULL ? MAP_FIXED : 0);
    void *p = mmap(at, bytes, rights, flags, f->fd, (off_t)offset);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, bytes, MADV_HUGEPAGE); /* a wish, as for private memory */
    return p;
}

/* ---- filling ---- */

static bool write_all(int fd, uint64_t offset, const char *from, uint64_t bytes)
{
    while (bytes > 0) {
        ssize_t n = pwrite(fd, from, bytes, (off_t)offset);
        if (n <= 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        offset += (uint64_t)n;
        from += n;
        bytes -= (uint64_t)n;
    }
    return true;
}

/* Whether a page was ever touched, from its entry in /proc/self/pagemap: present or swapped out. */
static bool touched(uint64_t entry) { return entry >> 62 != 0; }

bool file_fill(const struct mem_file *f, uint64_t offset, const void *from, uint64_t bytes)
{
    enum { AT_ONCE = 1024 };
    uint64_t entries[AT_ONCE], pages = whole_pages(bytes) / WEIR_PAGE;
    const char *at = from;
    int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool fine = true;
    for (uint64_t done = 0; done < pages && fine;) {
        uint64_t n = pages - done < AT_ONCE ? pages - done : AT_ONCE;
        ssize_t want = (ssize_t)(n * sizeof entries[0]);
        off_t from_entry = (off_t)(((uint64_t)at / WEIR_PAGE + done) * sizeof entries[0]);
        if (map < 0 || pread(map, entries, (size_t)want, from_entry) != want)
            memset(entries, 0xff, sizeof entries); /* not to be known: all of it is copied */
        for (uint64_t i = 0, run; i < n && fine; i += run) {
            bool copy = touched(entries[i]);
            for (run = 1; i + run < n && touched(entries[i + run]) == copy; run++)
                ;
            uint64_t first = (done + i) * WEIR_PAGE;
            uint64_t length = run * WEIR_PAGE < bytes - first ? run * WEIR_PAGE : bytes - first;
            fine = !copy || write_all(f->fd, offset + first, at + first, length);
        }
        done += n;
    }
    if (map >= 0)
        close(map);
    return fine;
}

/* ---- handles ---- */

static uint64_t handle_check(const struct share_handle *h)
{
    struct hash128 sum;
    hash_init(&sum);
    hash_add(&sum, h, offsetof(struct share_handle, check));
    return sum.lo;
}

void share_handle_make(struct share_handle *h, const struct mem_file *f, uint64_t offset,
                       uint64_t bytes, uint32_t slot, uint64_t serial)
{
    memset(h, 0, sizeof *h);
    h->magic = HANDLE_MAGIC;
    h->kind = (uint8_t)f->trailer->kind;
    h->pid = (int32_t)getpid();
    h->fd = f->fd;
    h->id = f->trailer->id;
    h->offset = offset;
    h->bytes = bytes;
    h->slot = slot;
    h->serial = serial;
    h->check = handle_check(h);
}

enum file_status share_handle_read(struct share_handle *h, const void *bytes, enum file_kind kind)
{
    memcpy(h, bytes, sizeof *h);
    if (h->magic != HANDLE_MAGIC || h->check != handle_check(h) || h->kind != (uint8_t)kind)
        return FILE_NO_HANDLE;
    return h->pid == (int32_t)getpid() ? FILE_OWN : FILE_OK;
}

/* A descriptor of our own for one of another process. Nothing but a file of ours is opened: what
 * the number stands for now may be anything. */
static enum file_status open_theirs(int pid, int fd, int *out)
{
    char path[64], link[64] = "";
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    ssize_t n = readlink(path, link, sizeof link - 1);
    if (n < 0)
        return errno == EACCES || errno == EPERM ? FILE_REFUSED : FILE_GONE;
    if (strncmp(link, LINK, sizeof LINK - 1) != 0)
        return FILE_GONE;
    *out = descriptor_own(open(path, O_RDWR | O_CLOEXEC));
    if (*out >= 0)
        return FILE_OK;
    return errno == ENOENT ? FILE_GONE : FILE_REFUSED;
}

enum file_status file_open(const struct share_handle *h, struct mem_file **out)
{
    int fd;
    enum file_status status = open_theirs(h->pid, h->fd, &fd);
    if (status != FILE_OK)
        return status;
    struct mem_file *f = adopt(fd, (enum file_kind)h->kind);
    if (f == NULL)
        return FILE_GONE;
    bool same = f->trailer->id == h->id && h->offset <= f->bytes &&
                h->bytes <= f->bytes - h->offset && h->slot < f->slots &&
                atomic_load(&f->trailer->live[h->slot]) == h->serial;
    if (!same) {
        file_close(f);
        return FILE_GONE;
    }
    *out = f;
    return FILE_OK;
}

/* ---- processes ---- */

/* Field 22 of /proc/<pid>/stat of a process that runs (a zombie does not); 0 when there is none.
 * The name of the program, in parentheses, may hold anything. UINT64_MAX: it is there, but the file
 * could not be read. */
static uint64_t start_of(int pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    char *text = file_read(path, NULL, NULL);
    if (text == NULL)
        return kill(pid, 0) == 0 || errno == EPERM ? UINT64_MAX : 0;
    char *at = strrchr(text, ')');
    uint64_t start = 0;
    if (at != NULL && at[1] == ' ' && at[2] != 'Z' && at[2] != 'X') {
        for (int field = 2; field < 22 && at != NULL; field++)
            at = strchr(at + 1, ' ');
        start = at != NULL ? strtoull(at, NULL, 10) : 0;
    }
    free(text);
    return start;
}

struct process process_self(void)
{
    static _Atomic uint64_t start, pid;
    uint64_t me = (uint64_t)getpid();
    if (atomic_load_explicit(&pid, memory_order_acquire) != me) {
        atomic_store(&start, start_of((int)me));
        atomic_store(&pid, me);
    }
    return (struct process){(int32_t)me, atomic_load(&start)};
}

bool process_alive(const struct process *p)
{
    uint64_t start = p->pid > 0 ? start_of(p->pid) : 0;
    return start != 0 && (start == p->start || start == UINT64_MAX);
}
