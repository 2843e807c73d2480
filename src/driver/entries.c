/* entries: the functions that libcuda.so.1 exports, told to observers as calls of the program.
 *
 * The runtime tells of its own calls (weir_call_begins). A program that calls the driver API itself
 * comes in by the exported symbols, and these cost nothing as long as nobody observes: so nothing
 * is built into the functions. When the environment asks for observers that want calls, the library
 * turns its own exported symbols to stubs as it is loaded, in its symbol table for everybody who
 * binds a name later (lazy binding, dlsym, cuGetProcAddress) and in the tables of the objects that
 * are bound already. A stub tells that the call begins, makes it, and tells what it returned.
 *
 * On x86-64 alone; elsewhere calls of the driver API are not told of. */
#include <ctype.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/env.h"
#include "driver/driver.h"
#include "driver/error/error.h"
#include "driver/error/site.h"
#include "driver/observers.h"
#include "observe/observe.h"

#if defined(__x86_64__)

/* One exported function. */
struct entry {
    const void *function;
    const char *name; /* "cuMemAlloc" of cuMemAlloc_v2 */
};

enum { STUBS = 1024, STUB_BITS = 4 };
static struct entry entries[STUBS];
static size_t entry_count;

/* What a stub keeps while the function runs. */
struct entry_frame {
    uint32_t told;      /* observers were told that the call begins */
    uint32_t announced; /* and it has said who called it */
    uint64_t unused;    /* the stack stays aligned */
};

extern const char entry_stubs[] __attribute__((visibility("hidden")));
const void *entry_begins(uint32_t index, const void *caller, struct entry_frame *frame)
    __attribute__((visibility("hidden"), used));
int entry_ends(int error, const struct entry_frame *frame)
    __attribute__((visibility("hidden"), used));

/* The stubs, each with the number of its function, and what they have in common: it keeps the
 * arguments in registers, has entry_begins say which function it is, calls that with the arguments
 * on the stack copied (no function of the API has more than 14), and has entry_ends told of the
 * result. It has a frame of its own, so that the program's stack can be walked. */
__asm__(".pushsection .text\n"
        ".balign 16\n"
        ".globl entry_stubs\n"
        ".hidden entry_stubs\n"
        "entry_stubs:\n"
        ".set entry_number, 0\n"
        ".rept 1024\n"
        ".balign 16\n"
        "    endbr64\n"
        "    movl $entry_number, %r11d\n"
        "    jmp entry_common\n"
        ".set entry_number, entry_number + 1\n"
        ".endr\n"
        ".type entry_common, @function\n"
        "entry_common:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset %rbp, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register %rbp\n"
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rdx\n"
        "    pushq %rcx\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    subq $16, %rsp\n"
        "    movl %r11d, %edi\n"
        "    movq 8(%rbp), %rsi\n"
        "    movq %rsp, %rdx\n"
        "    call entry_begins\n"
        "    movq %rax, %r11\n"
        "    subq $64, %rsp\n"
        ".set entry_word, 0\n"
        ".rept 8\n"
        "    movq 16 + entry_word(%rbp), %rax\n"
        "    movq %rax, entry_word(%rsp)\n"
        ".set entry_word, entry_word + 8\n"
        ".endr\n"
        "    movq -8(%rbp), %rdi\n"
        "    movq -16(%rbp), %rsi\n"
        "    movq -24(%rbp), %rdx\n"
        "    movq -32(%rbp), %rcx\n"
        "    movq -40(%rbp), %r8\n"
        "    movq -48(%rbp), %r9\n"
        "    call *%r11\n"
        "    movl %eax, %edi\n"
        "    leaq -64(%rbp), %rsi\n"
        "    call entry_ends\n"
        "    leave\n"
        "    .cfi_def_cfa %rsp, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size entry_common, . - entry_common\n"
        ".popsection\n");

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool is_own(const void *at)
{
    return (uintptr_t)at - (uintptr_t)__ehdr_start < (uintptr_t)(_end - __ehdr_start);
}

/* What the function records as its caller (CALLED) is this library, so it is announced. */
const void *entry_begins(uint32_t index, const void *caller, struct entry_frame *frame)
{
    const struct entry *e = &entries[index];
    *frame = (struct entry_frame){0};
    if (is_own(caller))
        return e->function;
    observers_begin();
    if (!observed())
        return e->function;
    frame->told = 1;
    if (call_announced.caller == NULL) {
        frame->announced = 1;
        call_announced = (struct call_announced){.caller = caller};
    }
    if (observe_call_now().name == NULL)
        message_begin_call();
    observe_call_begins(e->name, caller);
    return e->function;
}

int entry_ends(int error, const struct entry_frame *frame)
{
    if (frame->announced != 0)
        call_announced.caller = NULL;
    if (frame->told != 0)
        observe_call_ends(error);
    return error;
}

/* ---- where they are put in ---- */

static const char *stub(size_t index) { return entry_stubs + (index << STUB_BITS); }

/* "cuMemcpyAsync" of "cuMemcpyAsync_v2_ptsz". NULL: there is no memory. */
static const char *plain_name(const char *symbol)
{
    char *name = strdup(symbol);
    if (name == NULL)
        return NULL;
    char *end = strchr(name, '_');
    if (end != NULL)
        *end = '\0';
    return name;
}

static int by_function(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct entry *)a)->function;
    uintptr_t y = (uintptr_t)((const struct entry *)b)->function;
    return (x > y) - (x < y);
}

/* The stub of a function; NULL: it has none. */
static const char *stub_of(const void *function)
{
    struct entry key = {.function = function};
    const struct entry *e = bsearch(&key, entries, entry_count, sizeof key, by_function);
    return e != NULL ? stub((size_t)(e - entries)) : NULL;
}

/* Symbols of the table by its hash table, which has no count: the last one of the last chain. */
static size_t symbols_hashed(const uint32_t *hash)
{
    uint32_t buckets = hash[0], first = hash[1], words = hash[2], last = 0;
    const uint32_t *bucket = hash + 4 + (size_t)words * 2, *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        if (bucket[i] > last)
            last = bucket[i];
    if (last < first)
        return first;
    while ((chain[last - first] & 1) == 0)
        last++;
    return (size_t)last + 1;
}

struct dynamic {
    uintptr_t base;
    ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash;
    const ElfW(Rela) * rela, *jumps;
    size_t rela_count, jump_count;
};

/* Addresses in it are the loader's, which has added the base, but for the vDSO's. */
static void *dynamic_at(uintptr_t base, ElfW(Addr) at)
{
    return (void *)(at < base ? at + base : at); // NOLINT(performance-no-int-to-ptr)
}

static void dynamic_read(uintptr_t base, const ElfW(Dyn) * d, struct dynamic *out)
{
    *out = (struct dynamic){.base = base};
    for (; d->d_tag != DT_NULL; d++) {
        void *at = dynamic_at(base, d->d_un.d_ptr);
        switch (d->d_tag) {
        case DT_SYMTAB: out->symbols = at; break;
        case DT_STRTAB: out->strings = at; break;
        case DT_GNU_HASH: out->hash = at; break;
        case DT_RELA: out->rela = at; break;
        case DT_RELASZ: out->rela_count = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_JMPREL: out->jumps = at; break;
        case DT_PLTRELSZ: out->jump_count = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        default: break;
        }
    }
}

static bool pages_protect(const void *from, size_t bytes, int rights)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t low = (uintptr_t)from / page * page;
    return mprotect((void *)low, (uintptr_t)from + bytes - low, // NOLINT(performance-no-int-to-ptr)
                    rights) == 0;
}

static bool is_call(const struct dynamic *d, const ElfW(Sym) * s)
{
    const char *name = d->strings + s->st_name;
    return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
           strncmp(name, "cu", 2) == 0 && isupper((unsigned char)name[2]);
}

static const void *symbol_address(const struct dynamic *d, const ElfW(Sym) * s)
{
    return (const void *)(d->base + s->st_value); // NOLINT(performance-no-int-to-ptr)
}

/* Lists the exported functions. */
static bool entries_list(const struct dynamic *own, size_t symbols)
{
    for (size_t i = 1; i < symbols; i++) {
        if (!is_call(own, &own->symbols[i]))
            continue;
        struct entry e = {symbol_address(own, &own->symbols[i]),
                          plain_name(own->strings + own->symbols[i].st_name)};
        if (entry_count == STUBS || e.name == NULL)
            return false;
        entries[entry_count++] = e;
    }
    qsort(entries, entry_count, sizeof *entries, by_function);
    return true;
}

/* Names that are bound from now on lead to stubs. */
static bool symbols_turn(const struct dynamic *own, size_t symbols)
{
    if (!pages_protect(own->symbols, symbols * sizeof *own->symbols, PROT_READ | PROT_WRITE))
        return false;
    for (size_t i = 1; i < symbols; i++)
        if (is_call(own, &own->symbols[i]))
            own->symbols[i].st_value =
                (uintptr_t)stub_of(symbol_address(own, &own->symbols[i])) - own->base;
    return pages_protect(own->symbols, symbols * sizeof *own->symbols, PROT_READ);
}

/* And so do slots that are bound already. */
static void slots_turn(const struct dynamic *d, const ElfW(Rela) * rela, size_t count,
                       uintptr_t relro, size_t relro_bytes)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t type = ELF64_R_TYPE(rela[i].r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64)
            continue;
        const char **slot =
            (const char **)(d->base + rela[i].r_offset); // NOLINT(performance-no-int-to-ptr)
        const char *to = is_own(*slot) ? stub_of(*slot) : NULL;
        if (to == NULL)
            continue;
        bool sealed = (uintptr_t)slot - relro < relro_bytes;
        if (sealed && !pages_protect(slot, sizeof *slot, PROT_READ | PROT_WRITE))
            continue;
        *slot = to;
        if (sealed)
            (void)pages_protect(slot, sizeof *slot, PROT_READ);
    }
}

static int object_turn(struct dl_phdr_info *info, size_t size, void *own)
{
    (void)size;
    const ElfW(Dyn) *table = NULL;
    uintptr_t relro = 0;
    size_t relro_bytes = 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_DYNAMIC)
            table = (const void *)(info->dlpi_addr + // NOLINT(performance-no-int-to-ptr)
                                   p->p_vaddr);
        if (p->p_type == PT_GNU_RELRO) {
            relro = info->dlpi_addr + p->p_vaddr;
            relro_bytes = p->p_memsz;
        }
    }
    if (table == NULL || info->dlpi_addr == ((const struct dynamic *)own)->base)
        return 0;
    struct dynamic d;
    dynamic_read(info->dlpi_addr, table, &d);
    slots_turn(&d, d.rela, d.rela_count, relro, relro_bytes);
    slots_turn(&d, d.jumps, d.jump_count, relro, relro_bytes);
    return 0;
}

static bool wanted(void)
{
    const char *trace = env_get(ENV_TRACE);
    return env_check("calls") || (trace != NULL && *trace != '\0') || env_lists(ENV_STATS, "on");
}

/* As the library is loaded: what was loaded before is bound, and none of it has begun to run. */
static __attribute__((constructor)) void entries_turn(void)
{
    struct dynamic own;
    if (!wanted())
        return;
    dynamic_read((uintptr_t)__ehdr_start, _DYNAMIC, &own);
    if (own.hash == NULL || own.symbols == NULL || own.strings == NULL)
        return;
    size_t symbols = symbols_hashed(own.hash);
    if (!entries_list(&own, symbols) || !symbols_turn(&own, symbols))
        return;
    dl_iterate_phdr(object_turn, &own);
}

#endif
