/* Finds source lines for code addresses: reads the tables that lines_dwarf.c decodes. */
#include "loader/lines.h"
#include "loader/lines_dwarf.h"
#include "loader/machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct jit_lines {
    const struct elf_object *object;
    const struct image *image;
    uint32_t section; /* .debug_line */
    pthread_mutex_t lock;
    bool read;
    struct line_table table; /* sorted by address once read */
};

struct jit_lines *lines_new(const struct elf_object *o, const struct image *im)
{
    uint32_t section = elf_find_section(o, ".debug_line");
    if (section == 0 || elf_section(o, section).sh_type == SHT_NOBITS)
        return NULL;
    struct jit_lines *l = xcalloc(1, sizeof *l);
    l->object = o;
    l->image = im;
    l->section = section;
    pthread_mutex_init(&l->lock, NULL);
    return l;
}

void lines_free(struct jit_lines *l)
{
    if (l == NULL)
        return;
    line_table_free(&l->table);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- reading ---- */

/* A section's bytes in the file. */
static struct span section_span(const struct elf_object *o, uint32_t index)
{
    if (index == 0)
        return (struct span){0};
    Elf64_Shdr s = elf_section(o, index);
    if (s.sh_type == SHT_NOBITS || (s.sh_flags & SHF_COMPRESSED))
        return (struct span){0};
    return (struct span){o->data + s.sh_offset, s.sh_size};
}

/* Applies the relocations of .debug_line to a copy of it: addresses become those of the mapped
 * code, offsets into string sections become plain offsets. What cannot be applied stays as it is
 * and at worst names no line. */
static void relocate_copy(const struct jit_lines *l, uint8_t *copy, uint64_t size)
{
    const struct load_machine *machine = load_machine_host(NULL);
    for (uint32_t i = 1; machine != NULL && i < l->object->nsections; i++) {
        Elf64_Shdr s = elf_section(l->object, i);
        if (!elf_is_rela(&s) || s.sh_info != l->section)
            continue;
        for (uint64_t k = 0; k < elf_rela_count(&s); k++) {
            Elf64_Rela rela = elf_rela(l->object, &s, k);
            Elf64_Sym symbol = elf_symbol(l->object, ELF64_R_SYM(rela.r_info));
            struct reloc r = {.type = ELF64_R_TYPE(rela.r_info),
                              .at = copy + rela.r_offset,
                              .available = size - rela.r_offset,
                              .place = rela.r_offset,
                              .symbol = symbol.st_value,
                              .addend = rela.r_addend,
                              .name = ""};
            if (symbol.st_shndx < l->image->nsections)
                r.symbol += l->image->sections[symbol.st_shndx];
            machine->apply(&r, NULL);
        }
    }
}

static int by_address(const void *a, const void *b)
{
    const struct line_row *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->end != y->end) /* one sequence ends where the next begins */
        return x->end ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static void read_table(struct jit_lines *l)
{
    struct span section = section_span(l->object, l->section);
    if (section.size == 0)
        return;
    uint8_t *copy = xmalloc(section.size);
    memcpy(copy, section.data, section.size);
    relocate_copy(l, copy, section.size);
    struct line_sections from = {
        .line = {copy, section.size},
        .line_str = section_span(l->object, elf_find_section(l->object, ".debug_line_str")),
        .str = section_span(l->object, elf_find_section(l->object, ".debug_str")),
    };
    line_table_read(&l->table, &from);
    if (l->table.rows.count > 0)
        qsort(l->table.rows.items, l->table.rows.count, sizeof *l->table.rows.items, by_address);
    free(copy);
}

/* ---- finding ---- */

/* The last row at or before the address, SIZE_MAX when there is none. */
static size_t last_before(const struct line_table *t, uint64_t address)
{
    size_t low = 0, high = t->rows.count; /* rows before low are <= address, from high on > */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->rows.items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? SIZE_MAX : low - 1;
}

static void read_once(struct jit_lines *l)
{
    pthread_mutex_lock(&l->lock);
    if (!l->read) {
        l->read = true;
        read_table(l);
    }
    pthread_mutex_unlock(&l->lock);
}

size_t lines_count(struct jit_lines *l)
{
    read_once(l);
    return l->table.rows.count > 0 ? l->table.rows.count - 1 : 0; /* the last one is an end */
}

bool lines_stretch(struct jit_lines *l, size_t n, uint64_t *begin, uint64_t *end, const char **file,
                   int *line)
{
    const struct line_row *row = &l->table.rows.items[n];
    if (row->end || row->line == 0 || row->file >= l->table.files.count ||
        row[1].address <= row->address)
        return false;
    *begin = row->address;
    *end = row[1].address;
    *file = l->table.files.items[row->file];
    *line = (int)row->line;
    return true;
}

bool lines_find(struct jit_lines *l, uint64_t address, const char **file, int *line)
{
    read_once(l);

    /* Line 0 marks code that belongs to no line: the nearest before it in the same sequence is the
     * best that can be said. */
    size_t i = last_before(&l->table, address);
    while (i != SIZE_MAX && i > 0 && !l->table.rows.items[i].end &&
           l->table.rows.items[i].line == 0)
        i--;
    if (i == SIZE_MAX || l->table.rows.items[i].end || l->table.rows.items[i].line == 0)
        return false;
    const struct line_row *row = &l->table.rows.items[i];
    if (row->file >= l->table.files.count)
        return false;
    *file = l->table.files.items[row->file];
    *line = (int)row->line;
    return true;
}
