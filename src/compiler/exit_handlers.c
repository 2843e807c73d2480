/* LLVM outlives the process's end.
 *
 * LLVM's objects, those that are made when its library is loaded and those that it makes when it
 * first needs them, would be destroyed by exit(), which calls the handlers that were registered
 * last first: before the loader's own, where the compiler was first needed in the background. The
 * thread that loads it or compiles there still uses them. So LLVM registers no handlers. What it
 * has stays, and goes with the process; a compiler that others still call must not be destroyed.
 *
 * A library calls __cxa_atexit through a slot that the dynamic linker has filled. In LLVM's library
 * another function is put there, by this library's constructor. It runs before LLVM's, which
 * register most handlers, since the library is linked with -z initfirst. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <llvm-c/Core.h>

static const char function[] = "__cxa_atexit";

/* Stands for __cxa_atexit: takes the handler and forgets it. */
static int forget(void (*handler)(void *), void *argument, void *library)
{
    (void)handler;
    (void)argument;
    (void)library;
    return 0;
}

/* What the dynamic section says of a library. */
struct tables {
    const Elf64_Sym *symbols;
    const char *names;
    const Elf64_Rela *calls, *others;
    size_t calls_bytes, others_bytes;
};

static struct tables read_tables(const struct link_map *library)
{
    struct tables t = {0};
    for (const Elf64_Dyn *d = library->l_ld; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB: t.symbols = (const Elf64_Sym *)d->d_un.d_ptr; break;
        case DT_STRTAB: t.names = (const char *)d->d_un.d_ptr; break;
        case DT_JMPREL: t.calls = (const Elf64_Rela *)d->d_un.d_ptr; break;
        case DT_PLTRELSZ: t.calls_bytes = d->d_un.d_val; break;
        case DT_RELA: t.others = (const Elf64_Rela *)d->d_un.d_ptr; break;
        case DT_RELASZ: t.others_bytes = d->d_un.d_val; break;
        default: break;
        }
    return t;
}

/* Slots may have been made read-only when they were filled. */
static void fill(uintptr_t slot)
{
    uintptr_t value = (uintptr_t)forget, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)(slot & ~(page - 1));
    if (mprotect(start, page, PROT_READ | PROT_WRITE) == 0)
        memcpy((void *)slot, &value, sizeof value);
}

static void fill_slots(const struct link_map *library, const struct tables *t,
                       const Elf64_Rela *relocations, size_t bytes)
{
    for (const Elf64_Rela *r = relocations; (const char *)r < (const char *)relocations + bytes;
         r++) {
        uint64_t symbol = ELF64_R_SYM(r->r_info);
        if (symbol != 0 && strcmp(t->names + t->symbols[symbol].st_name, function) == 0)
            fill(library->l_addr + r->r_offset);
    }
}

static __attribute__((constructor)) void keep_out(void)
{
    Dl_info info;
    struct link_map *library = NULL;
    if (dladdr1((void *)LLVMContextCreate, &info, (void **)&library, RTLD_DL_LINKMAP) == 0 ||
        library == NULL)
        return;
    struct tables t = read_tables(library);
    if (t.symbols == NULL || t.names == NULL)
        return;
    fill_slots(library, &t, t.calls, t.calls_bytes);
    fill_slots(library, &t, t.others, t.others_bytes);
}
