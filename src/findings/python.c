/* python: the line of a Python program that the calling thread is at.
 *
 * A program of Python calls the API through libraries without debug information, and its own line
 * is in no return address. Python offers a function that writes where a thread is for when it
 * crashes: it takes no lock, needs no interpreter lock and follows the thread's own frames, which
 * nobody changes while the thread is here. What it writes is read back. Where a Python does not
 * offer it, its lines are not known. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "findings/internal.h"

static void *(*this_thread)(void);        /* its state; NULL: Python knows nothing of it */
static void (*write_frames)(int, void *); /* innermost first */

void python_open(void)
{
    this_thread = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    write_frames = (void (*)(int, void *))dlsym(RTLD_DEFAULT, "_Py_DumpTraceback");
}

struct python_place {
    struct python_place *next;
    struct finding_place place;
    char file[];
};
static struct python_place *places;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One record for each line, for as long as the process lives. */
static const struct finding_place *keep(const char *file, size_t length, int line)
{
    pthread_mutex_lock(&lock);
    struct python_place *p = places;
    while (p != NULL && (p->place.line != line || strncmp(p->file, file, length) != 0 ||
                         p->file[length] != '\0'))
        p = p->next;
    if (p == NULL) {
        p = xcalloc(1, sizeof *p + length + 1);
        memcpy(p->file, file, length);
        p->place = (struct finding_place){.file = p->file, .line = line};
        p->next = places;
        places = p;
    }
    pthread_mutex_unlock(&lock);
    return &p->place;
}

static bool contains(const char *text, size_t length, const char *part)
{
    return memmem(text, length, part, strlen(part)) != NULL;
}

/* Packages, Python's own modules, and code without a file. */
static bool is_library(const char *file, size_t length)
{
    return contains(file, length, "/site-packages/") || contains(file, length, "/dist-packages/") ||
           contains(file, length, "/lib/python") || file[0] == '<';
}

/* The innermost line of the program itself; that of a library where there is no such. Lines are
 * `  File "app.py", line 12 in main`. */
static const struct finding_place *read_frames(const char *text)
{
    const char *first = NULL, *file;
    size_t first_length = 0;
    int first_line = 0;
    while ((file = strstr(text, "  File \"")) != NULL) {
        file += strlen("  File \"");
        const char *end = strstr(file, "\", line ");
        if (end == NULL)
            break;
        size_t length = (size_t)(end - file);
        int line = atoi(end + strlen("\", line "));
        if (!is_library(file, length))
            return keep(file, length, line);
        if (first == NULL && file[0] != '<') {
            first = file;
            first_length = length;
            first_line = line;
        }
        text = end;
    }
    return first != NULL ? keep(first, first_length, first_line) : NULL;
}

bool finding_knows_python(void) { return this_thread != NULL && write_frames != NULL; }

const struct finding_place *finding_python_here(void)
{
    char text[8192];
    void *thread = finding_knows_python() ? this_thread() : NULL;
    if (thread == NULL)
        return NULL;
    int fd = memfd_create("weir-python", MFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    write_frames(fd, thread);
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    close(fd);
    if (length <= 0)
        return NULL;
    text[length] = '\0';
    return read_frames(text);
}
