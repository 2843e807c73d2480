/* Maps an ELF object: lays it out, copies it, applies its relocations, protects it. */
#include "loader/image.h"
#include "base/round.h"
#include "loader/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The three runs of pages. */
enum run { RUN_CODE, RUN_CONST, RUN_DATA, RUN_COUNT, RUN_NONE = RUN_COUNT };

/* No kernel comes near; a damaged size is caught before memory is asked for. */
enum { IMAGE_MAX_BYTES = 1 << 28 };

/* Bytes before the first function. A build with clang's function sanitizer reads the word before a
 * function that it is about to call through a pointer; that word must be there. */
enum { CODE_LEAD = 64 };

/* All that is known while an image is made. */
struct loading {
    struct image *im;
    const struct elf_object *o;
    const struct load_machine *machine;
    const uint64_t *undefined;
    uint64_t *offset;      /* per section: where in its run it lies */
    uint8_t *run;          /* per section: enum run */
    uint64_t *common;      /* per symbol: offset of a COMMON symbol in the data run */
    uint32_t *slot, *stub; /* per symbol: number + 1 of its GOT slot and stub, 0: none */
    uint32_t nslots, nstubs;
    uint64_t size[RUN_COUNT];  /* bytes, without stubs and slots */
    uint64_t start[RUN_COUNT]; /* offset of each run in the image */
    uint64_t stubs, slots;     /* offsets in the image */
};

/* ---- layout ---- */

/* Which run a section belongs to; RUN_NONE when it is not loaded (debug information, unwind
 * tables: nothing here unwinds through kernels). */
static bool classify(const struct elf_object *o, const Elf64_Shdr *s, uint8_t *run, struct diag *d)
{
    const char *name = elf_section_name(o, s);
    *run = RUN_NONE;
    if (!(s->sh_flags & SHF_ALLOC) || strcmp(name, ".eh_frame") == 0 || s->sh_type == SHT_NOTE ||
        s->sh_size == 0)
        return true;
    if (s->sh_type != SHT_PROGBITS && s->sh_type != SHT_NOBITS)
        return diag_set(d, 0, 0, "section %s has type %u, which is not supported", name,
                        s->sh_type);
    if (s->sh_flags & (SHF_TLS | SHF_COMPRESSED))
        return diag_set(d, 0, 0, "section %s: %s is not supported", name,
                        s->sh_flags & SHF_TLS ? "thread-local data" : "compression");
    if ((s->sh_flags & SHF_WRITE) && (s->sh_flags & SHF_EXECINSTR))
        return diag_set(d, 0, 0, "section %s is both writable and executable", name);
    if (s->sh_addralign > code_page())
        return diag_set(d, 0, 0, "section %s wants an alignment of %llu bytes", name,
                        (unsigned long long)s->sh_addralign);
    bool constant = !(s->sh_flags & SHF_WRITE) || strncmp(name, ".data.rel.ro", 12) == 0;
    *run = s->sh_flags & SHF_EXECINSTR ? RUN_CODE : constant ? RUN_CONST : RUN_DATA;
    return true;
}

/* Appends `bytes` to a run; false when the image grows beyond reason. */
static bool append(struct loading *l, enum run run, uint64_t bytes, uint64_t align,
                   uint64_t *offset, struct diag *d)
{
    uint64_t at = round_up(l->size[run], align ? align : 1);
    if (bytes > IMAGE_MAX_BYTES || at > IMAGE_MAX_BYTES - bytes)
        return diag_set(d, 0, 0, "the object is too large");
    *offset = at;
    l->size[run] = at + bytes;
    return true;
}

static bool place_sections(struct loading *l, struct diag *d)
{
    l->size[RUN_CODE] = CODE_LEAD;
    for (uint32_t i = 1; i < l->o->nsections; i++) {
        Elf64_Shdr s = elf_section(l->o, i);
        if (!classify(l->o, &s, &l->run[i], d))
            return false;
        if (l->run[i] != RUN_NONE &&
            !append(l, l->run[i], s.sh_size, s.sh_addralign, &l->offset[i], d))
            return false;
    }
    for (uint32_t i = 1; i < l->o->nsymbols; i++) {
        Elf64_Sym s = elf_symbol(l->o, i);
        if (s.st_shndx != SHN_COMMON)
            continue;
        if ((s.st_value & (s.st_value - 1)) || s.st_value > code_page())
            return diag_set(d, 0, 0, "variable %s wants an alignment of %llu bytes",
                            elf_symbol_name(l->o, &s), (unsigned long long)s.st_value);
        if (!append(l, RUN_DATA, s.st_size, s.st_value, &l->common[i], d))
            return false;
    }
    return true;
}

/* Counts the slots and stubs that the relocations of loaded sections need. */
static bool place_slots(struct loading *l, struct diag *d)
{
    for (uint32_t i = 1; i < l->o->nsections; i++) {
        Elf64_Shdr s = elf_section(l->o, i);
        if (!elf_is_rela(&s) || l->run[s.sh_info] == RUN_NONE)
            continue;
        for (uint64_t k = 0; k < elf_rela_count(&s); k++) {
            Elf64_Rela r = elf_rela(l->o, &s, k);
            uint32_t symbol = ELF64_R_SYM(r.r_info);
            unsigned needs = l->machine->needs(ELF64_R_TYPE(r.r_info));
            if (needs & RELOC_REFUSED)
                return diag_set(d, 0, 0, "relocation type %u is not supported",
                                (unsigned)ELF64_R_TYPE(r.r_info));
            bool outside = elf_symbol(l->o, symbol).st_shndx == SHN_UNDEF;
            bool stub = (needs & RELOC_STUB) && outside;
            if (stub && l->stub[symbol] == 0)
                l->stub[symbol] = ++l->nstubs;
            if (((needs & RELOC_GOT) || stub) && l->slot[symbol] == 0)
                l->slot[symbol] = ++l->nslots;
        }
    }
    return true;
}

/* Sizes the image and gets memory for it; NULL and a message when there is none. */
static uint8_t *reserve(struct loading *l, struct diag *d)
{
    uint64_t page = code_page();
    l->stubs = round_up(l->size[RUN_CODE], 16);
    l->start[RUN_CONST] = round_up(l->stubs + (uint64_t)l->nstubs * l->machine->stub_bytes, page);
    l->slots = l->start[RUN_CONST] + round_up(l->size[RUN_CONST], 8);
    l->start[RUN_DATA] = round_up(l->slots + (uint64_t)l->nslots * 8, page);
    l->im->bytes = round_up(l->start[RUN_DATA] + l->size[RUN_DATA], page);
    l->im->text_bytes = l->size[RUN_CODE];
    if (l->size[RUN_CODE] == CODE_LEAD) {
        diag_set(d, 0, 0, "the object has no code");
        return NULL;
    }
    return code_alloc(l->im->bytes, d);
}

/* ---- contents ---- */

static void copy_sections(struct loading *l)
{
    for (uint32_t i = 1; i < l->o->nsections; i++) {
        if (l->run[i] == RUN_NONE)
            continue;
        Elf64_Shdr s = elf_section(l->o, i);
        uint8_t *at = l->im->base + l->start[l->run[i]] + l->offset[i];
        l->im->sections[i] = (uint64_t)(uintptr_t)at;
        if (s.sh_type != SHT_NOBITS)
            memcpy(at, l->o->data + s.sh_offset, s.sh_size);
    }
}

static bool symbol_address(const struct loading *l, uint32_t index, uint64_t *out, struct diag *d)
{
    uint64_t base = (uint64_t)(uintptr_t)l->im->base;
    Elf64_Sym s = elf_symbol(l->o, index);
    const char *name = elf_symbol_name(l->o, &s);
    *out = 0;
    if (index == 0)
        return true;
    if (ELF64_ST_TYPE(s.st_info) == STT_TLS || ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC)
        return diag_set(d, 0, 0, "symbol %s has type %u, which is not supported", name,
                        ELF64_ST_TYPE(s.st_info));
    if (s.st_shndx == SHN_UNDEF)
        *out = strcmp(name, "_GLOBAL_OFFSET_TABLE_") == 0 ? base + l->slots : l->undefined[index];
    else if (s.st_shndx == SHN_ABS)
        *out = s.st_value;
    else if (s.st_shndx == SHN_COMMON)
        *out = base + l->start[RUN_DATA] + l->common[index];
    else if (l->im->sections[s.st_shndx] != 0)
        *out = l->im->sections[s.st_shndx] + s.st_value;
    else if (elf_section(l->o, s.st_shndx).sh_size != 0)
        return diag_set(d, 0, 0, "code refers to %s, which is not loaded", name);
    return true;
}

/* Fills the slots and stubs that place_slots counted. */
static bool fill_slots(struct loading *l, struct diag *d)
{
    for (uint32_t i = 0; i < l->o->nsymbols; i++) {
        if (l->slot[i] == 0)
            continue;
        uint64_t value;
        if (!symbol_address(l, i, &value, d))
            return false;
        uint8_t *slot = l->im->base + l->slots + (uint64_t)(l->slot[i] - 1) * 8;
        memcpy(slot, &value, sizeof value);
        if (l->stub[i] == 0)
            continue;
        uint8_t *stub =
            l->im->base + l->stubs + (uint64_t)(l->stub[i] - 1) * l->machine->stub_bytes;
        if (!l->machine->write_stub(stub, (uint64_t)(uintptr_t)stub, (uint64_t)(uintptr_t)slot, d))
            return false;
    }
    return true;
}

static bool relocate_section(struct loading *l, const Elf64_Shdr *s, struct diag *d)
{
    uint64_t base = (uint64_t)(uintptr_t)l->im->base;
    Elf64_Shdr target = elf_section(l->o, s->sh_info);
    for (uint64_t k = 0; k < elf_rela_count(s); k++) {
        Elf64_Rela rela = elf_rela(l->o, s, k);
        uint32_t symbol = ELF64_R_SYM(rela.r_info);
        Elf64_Sym sym = elf_symbol(l->o, symbol);
        struct reloc r = {
            .type = ELF64_R_TYPE(rela.r_info),
            .available = target.sh_size - rela.r_offset,
            .place = l->im->sections[s->sh_info] + rela.r_offset,
            .addend = rela.r_addend,
            .got = l->slot[symbol] ? base + l->slots + (uint64_t)(l->slot[symbol] - 1) * 8 : 0,
            .got_base = base + l->slots,
            .stub = l->stub[symbol]
                        ? base + l->stubs + (uint64_t)(l->stub[symbol] - 1) * l->machine->stub_bytes
                        : 0,
            .name = elf_symbol_name(l->o, &sym),
        };
        r.at = (uint8_t *)(uintptr_t)r.place;
        if (!symbol_address(l, symbol, &r.symbol, d) || !l->machine->apply(&r, d))
            return false;
    }
    return true;
}

static bool relocate(struct loading *l, struct diag *d)
{
    for (uint32_t i = 1; i < l->o->nsections; i++) {
        Elf64_Shdr s = elf_section(l->o, i);
        if (elf_is_rela(&s) && l->run[s.sh_info] != RUN_NONE && !relocate_section(l, &s, d))
            return false;
    }
    return true;
}

static bool protect(struct loading *l, struct diag *d)
{
    uint8_t *base = l->im->base;
    uint64_t code = l->start[RUN_CONST], constants = l->start[RUN_DATA] - l->start[RUN_CONST];
    if (mprotect(base, code, PROT_READ | PROT_EXEC) != 0 ||
        (constants > 0 && mprotect(base + code, constants, PROT_READ) != 0))
        return errno == ENOMEM
                   ? diag_set_memory(d, "compiled code cannot be made executable")
                   : diag_set(d, 0, 0, "cannot make compiled code executable: %s", strerror(errno));
    l->machine->flush(base, code);
    return true;
}

/* ---- public ---- */

static bool check_machine(const struct elf_object *o, const struct load_machine *m, struct diag *d)
{
    Elf64_Ehdr h;
    memcpy(&h, o->data, sizeof h);
    return h.e_machine == m->elf ||
           diag_set(d, 0, 0, "the object is for another CPU (machine %u, this one is %s)",
                    h.e_machine, m->name);
}

bool image_load(struct image *im, const struct elf_object *o, const uint64_t *undefined,
                struct diag *d)
{
    *im = (struct image){.nsections = o->nsections};
    const struct load_machine *machine = load_machine_host(d);
    if (machine == NULL || !check_machine(o, machine, d))
        return false;
    im->sections = xcalloc(o->nsections, sizeof *im->sections);
    struct loading l = {
        .im = im,
        .o = o,
        .machine = machine,
        .undefined = undefined,
        .offset = xcalloc(o->nsections, sizeof *l.offset),
        .run = xcalloc(o->nsections, sizeof *l.run),
        .common = xcalloc(o->nsymbols, sizeof *l.common),
        .slot = xcalloc(o->nsymbols, sizeof *l.slot),
        .stub = xcalloc(o->nsymbols, sizeof *l.stub),
    };
    l.run[0] = RUN_NONE;
    if (place_sections(&l, d) && place_slots(&l, d))
        im->base = reserve(&l, d);
    bool ok = im->base != NULL;
    if (ok) {
        im->text = im->base;
        copy_sections(&l);
        ok = fill_slots(&l, d) && relocate(&l, d) && protect(&l, d);
    }
    free(l.offset);
    free(l.run);
    free(l.common);
    free(l.slot);
    free(l.stub);
    if (!ok)
        image_unload(im);
    return ok;
}

void image_unload(struct image *im)
{
    if (im->base != NULL)
        code_free(im->base, im->bytes);
    free(im->sections);
    *im = (struct image){0};
}

uint64_t image_find(const struct image *im, const struct elf_object *o, const char *name)
{
    for (uint32_t i = 1; i < o->nsymbols; i++) {
        Elf64_Sym s = elf_symbol(o, i);
        if (ELF64_ST_BIND(s.st_info) == STB_LOCAL || s.st_shndx == SHN_UNDEF ||
            s.st_shndx >= o->nsections || im->sections[s.st_shndx] == 0)
            continue;
        if (strcmp(elf_symbol_name(o, &s), name) == 0)
            return im->sections[s.st_shndx] + s.st_value;
    }
    return 0;
}
