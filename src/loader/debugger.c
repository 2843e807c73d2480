/* Kernels for gdb: see debugger.h. The names and the layout of the list are gdb's ("JIT Compilation
 * Interface" in its manual). */
#include "loader/debugger.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"

struct debugger_entry {
    struct debugger_entry *next, *prev;
    const char *object;
    uint64_t size;
};

enum { NO_ACTION, REGISTER, UNREGISTER };

struct descriptor {
    uint32_t version, action;
    struct debugger_entry *concerned, *first;
};

/* gdb looks for these names. */
// NOLINTNEXTLINE(bugprone-reserved-identifier)
__attribute__((used)) struct descriptor __jit_debug_descriptor = {.version = 1};
// NOLINTNEXTLINE(bugprone-reserved-identifier)
__attribute__((used, noinline)) void __jit_debug_register_code(void);
void __jit_debug_register_code(void) { __asm__ volatile("" ::: "memory"); }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list */

/* Whether another process traces this one. */
static bool traced(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *tracer = strstr(text, "TracerPid:");
    return tracer != NULL && atol(tracer + strlen("TracerPid:")) != 0;
}

static bool wanted(void) { return env_lists(ENV_DEBUGGER, "on") || traced(); }

/* Writes into the copy where each section is. Unwind tables, which are not loaded, are said to be
 * after the code: what they hold is relative to their place. */
static void set_addresses(uint8_t *copy, const struct elf_object *o, const struct image *im)
{
    uint64_t after = (uint64_t)(uintptr_t)im->base + im->bytes;
    for (uint32_t i = 1; i < o->nsections; i++) {
        Elf64_Shdr s = elf_section(o, i);
        if (!(s.sh_flags & SHF_ALLOC))
            continue;
        s.sh_addr = im->sections[i];
        if (s.sh_addr == 0) {
            s.sh_addr = after;
            after += (s.sh_size + 15) & ~(uint64_t)15;
        }
        memcpy(copy + o->shoff + (uint64_t)i * sizeof s, &s, sizeof s);
    }
}

static void tell(int action, struct debugger_entry *e)
{
    __jit_debug_descriptor.action = (uint32_t)action;
    __jit_debug_descriptor.concerned = e;
    __jit_debug_register_code();
    __jit_debug_descriptor.action = NO_ACTION;
    __jit_debug_descriptor.concerned = NULL;
}

struct debugger_entry *debugger_add(const struct elf_object *o, const struct image *im)
{
    if (!wanted())
        return NULL;
    struct debugger_entry *e = malloc(sizeof *e + o->size);
    if (e == NULL)
        return NULL;
    uint8_t *copy = (uint8_t *)(e + 1);
    memcpy(copy, o->data, o->size);
    set_addresses(copy, o, im);
    *e = (struct debugger_entry){.object = (const char *)copy, .size = o->size};
    pthread_mutex_lock(&lock);
    e->next = __jit_debug_descriptor.first;
    if (e->next != NULL)
        e->next->prev = e;
    __jit_debug_descriptor.first = e;
    tell(REGISTER, e);
    pthread_mutex_unlock(&lock);
    return e;
}

void debugger_remove(struct debugger_entry *e)
{
    if (e == NULL)
        return;
    pthread_mutex_lock(&lock);
    if (e->prev != NULL)
        e->prev->next = e->next;
    else
        __jit_debug_descriptor.first = e->next;
    if (e->next != NULL)
        e->next->prev = e->prev;
    tell(UNREGISTER, e);
    pthread_mutex_unlock(&lock);
    free(e);
}
