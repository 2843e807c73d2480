/* elf: the ELF file that stands for a cubin; see container.h. */
#include <elf.h>
#include <string.h>

#include "container/elf.h"

static const char SECTION_PTX[] = ".weir.ptx";
static const char NAMES[] = "\0.weir.ptx\0.note.weir\0.shstrtab";
enum { OSABI_WEIR = 'W' }; /* e_ident[EI_OSABI] */
enum { NAME_PTX = 1, NAME_NOTE = 11, NAME_NAMES = 22 };

struct note {
    Elf64_Nhdr head;
    char owner[8];
    uint32_t sm;
};

static size_t to_words(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

static void append(struct strbuf *out, size_t start, size_t at, const void *data, size_t size)
{
    while (out->count - start < at)
        sb_append(out, "", 1);
    sb_append(out, data, size);
}

void container_write(const char *ptx, size_t size, unsigned sm, bool relocatable,
                     struct strbuf *out)
{
    size_t start = out->count;
    size_t text = sizeof(Elf64_Ehdr), note_at = to_words(text + size + 1),
           names = note_at + sizeof(struct note), table = to_words(names + sizeof NAMES);
    struct note note = {
        .head = {.n_namesz = 5, .n_descsz = 4, .n_type = 1}, .owner = "Weir", .sm = sm};
    Elf64_Shdr sections[] = {
        {0},
        {.sh_name = NAME_PTX,
         .sh_type = SHT_PROGBITS,
         .sh_offset = text,
         .sh_size = size + 1,
         .sh_addralign = 8},
        {.sh_name = NAME_NOTE,
         .sh_type = SHT_NOTE,
         .sh_offset = note_at,
         .sh_size = sizeof note,
         .sh_addralign = 4},
        {.sh_name = NAME_NAMES,
         .sh_type = SHT_STRTAB,
         .sh_offset = names,
         .sh_size = sizeof NAMES,
         .sh_addralign = 1},
    };
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                   EV_CURRENT, OSABI_WEIR},
                       .e_type = relocatable ? ET_REL : ET_EXEC,
                       .e_machine = EM_NONE,
                       .e_version = EV_CURRENT,
                       .e_flags = sm,
                       .e_ehsize = sizeof head,
                       .e_shoff = table,
                       .e_shentsize = sizeof *sections,
                       .e_shnum = WEIR_COUNT(sections),
                       .e_shstrndx = WEIR_COUNT(sections) - 1};
    append(out, start, 0, &head, sizeof head);
    append(out, start, text, ptx, size);
    append(out, start, note_at, &note, sizeof note);
    append(out, start, names, NAMES, sizeof NAMES);
    append(out, start, table, sections, sizeof sections);
}

bool container_is_elf(const void *data, size_t limit)
{
    const char *p = data;
    for (size_t n = 0; n < SELFMAG; n++) /* a text may be shorter */
        if (n >= limit || p[n] != ELFMAG[n])
            return false;
    return true;
}

bool container_elf_open(const void *data, size_t limit, struct elf_file *out, struct diag *d)
{
    Elf64_Ehdr head;
    if (limit < sizeof head)
        return diag_set(d, 0, 0, "the ELF file is cut off");
    memcpy(&head, data, sizeof head);
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shstrndx >= head.e_shnum)
        return diag_set(d, 0, 0, "the ELF file is damaged or of another class");
    if (head.e_shoff > limit || head.e_shnum * sizeof(Elf64_Shdr) > limit - head.e_shoff)
        return diag_set(d, 0, 0, "the ELF file is cut off");
    *out = (struct elf_file){.data = data,
                             .limit = limit,
                             .table = (const char *)data + head.e_shoff,
                             .count = head.e_shnum,
                             .names = head.e_shstrndx,
                             .machine = head.e_machine};
    return true;
}

/* The section's bytes; false when they are not all there. */
static bool section_bytes(const struct elf_file *f, unsigned index, const char **at, size_t *size,
                          uint32_t *name)
{
    Elf64_Shdr s;
    memcpy(&s, f->table + index * sizeof s, sizeof s);
    if (s.sh_type == SHT_NOBITS || s.sh_offset > f->limit || s.sh_size > f->limit - s.sh_offset)
        return false;
    *at = f->data + s.sh_offset;
    *size = s.sh_size;
    *name = s.sh_name;
    return true;
}

bool container_elf_section(const struct elf_file *f, unsigned index, struct elf_bytes *out)
{
    const char *names;
    size_t names_size;
    uint32_t name, unused;
    if (!section_bytes(f, f->names, &names, &names_size, &unused) ||
        !section_bytes(f, index, &out->at, &out->size, &name) || name >= names_size ||
        memchr(names + name, '\0', names_size - name) == NULL)
        return false;
    out->name = names + name;
    return true;
}

const char *container_find_ptx(const void *data, size_t limit, size_t *size, struct diag *d)
{
    struct elf_file f;
    struct elf_bytes s;
    if (!container_is_elf(data, limit) || limit <= EI_OSABI)
        return NULL;
    for (unsigned n = EI_CLASS; n < EI_OSABI; n++) /* no further than a short text reaches */
        if (((const char *)data)[n] == '\0')
            return NULL;
    if (((const char *)data)[EI_OSABI] != OSABI_WEIR || !container_elf_open(data, limit, &f, d))
        return NULL;
    for (unsigned n = 1; n < f.count; n++)
        if (container_elf_section(&f, n, &s) && strcmp(s.name, SECTION_PTX) == 0) {
            if (s.size == 0 || s.at[s.size - 1] != '\0') {
                diag_set(d, 0, 0, "the PTX in the ELF file is cut off");
                return NULL;
            }
            *size = s.size - 1;
            return s.at;
        }
    return NULL;
}
