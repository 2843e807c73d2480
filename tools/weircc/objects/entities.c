/* Binding device entities to their library; see entities.h. */
#include "weircc/objects/entities.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "weircc/options/options.h"
#include "weircc/files/files.h"

static const char stub[] = "__device_stub__";

/* The sections of records: clang's, and that of ccbin/host_records.h. */
static bool holds_records(const char *section)
{
    return strcmp(section, "cuda_offloading_entries") == 0 ||
           strcmp(section, ".data.rel.ro.weir_entries") == 0;
}

/* ---- objects ---- */

struct object {
    char *bytes;
    size_t size;
    const Elf64_Shdr *sections; /* aligned copies */
    size_t count;
    const Elf64_Shdr *names, *symbols, *strings;
};

/* Whether the section's bytes are in the file, `each` of them for one entry. */
static bool within(const struct object *o, const Elf64_Shdr *s, size_t each)
{
    return s->sh_offset <= o->size && s->sh_size <= o->size - s->sh_offset &&
           (each == 0 || s->sh_size % each == 0);
}

static const char *string_at(const struct object *o, const Elf64_Shdr *table, size_t offset)
{
    if (offset >= table->sh_size)
        return "";
    const char *text = o->bytes + table->sh_offset + offset;
    return memchr(text, '\0', table->sh_size - offset) != NULL ? text : "";
}

static const Elf64_Shdr *section_at(const struct object *o, size_t i)
{
    return i < o->count ? &o->sections[i] : NULL;
}

/* False: no 64-bit object file, or a damaged one. `sections` is to be freed in any case. */
static bool read_object(struct object *o, Elf64_Shdr **sections)
{
    Elf64_Ehdr header;
    Elf64_Shdr first;
    *sections = NULL;
    if (o->size < sizeof header)
        return false;
    memcpy(&header, o->bytes, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shentsize != sizeof first || header.e_shoff > o->size ||
        o->size - header.e_shoff < sizeof first)
        return false;
    memcpy(&first, o->bytes + header.e_shoff, sizeof first);
    o->count = header.e_shnum != 0 ? header.e_shnum : first.sh_size; /* there are many */
    if ((o->size - header.e_shoff) / sizeof first < o->count)
        return false;
    *sections = xmalloc((o->count + 1) * sizeof **sections);
    memcpy(*sections, o->bytes + header.e_shoff, o->count * sizeof **sections);
    o->sections = *sections;
    o->names = section_at(o, header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link);
    for (size_t i = 0; i < o->count; i++)
        if (o->sections[i].sh_type == SHT_SYMTAB)
            o->symbols = &o->sections[i];
    o->strings = o->symbols != NULL ? section_at(o, o->symbols->sh_link) : NULL;
    return o->names != NULL && within(o, o->names, 0) && o->strings != NULL &&
           within(o, o->strings, 0) && within(o, o->symbols, sizeof(Elf64_Sym));
}

/* Marks the symbols that the section's relocations name. */
static void mark_referenced(const struct object *o, const Elf64_Shdr *relocations, bool *marks)
{
    size_t symbols = o->symbols->sh_size / sizeof(Elf64_Sym);
    if (!within(o, relocations, sizeof(Elf64_Rela)))
        return;
    for (size_t at = 0; at < relocations->sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        memcpy(&r, o->bytes + relocations->sh_offset + at, sizeof r);
        if (ELF64_R_SYM(r.r_info) < symbols)
            marks[ELF64_R_SYM(r.r_info)] = true;
    }
}

static bool is_entity(const struct object *o, const Elf64_Sym *s, bool referenced)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);
    return s->st_shndx != SHN_UNDEF && ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
           ELF64_ST_VISIBILITY(s->st_other) == STV_DEFAULT &&
           (type == STT_FUNC || type == STT_OBJECT) &&
           (referenced || strstr(string_at(o, o->strings, s->st_name), stub) != NULL);
}

/* Returns how many symbols were changed. */
static size_t protect(struct object *o)
{
    size_t symbols = o->symbols->sh_size / sizeof(Elf64_Sym), changed = 0;
    bool *referenced = xcalloc(symbols + 1, sizeof *referenced);
    for (size_t i = 0; i < o->count; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        const Elf64_Shdr *of = s->sh_type == SHT_RELA ? section_at(o, s->sh_info) : NULL;
        if (of != NULL && holds_records(string_at(o, o->names, of->sh_name)))
            mark_referenced(o, s, referenced);
    }
    for (size_t i = 0; i < symbols; i++) {
        char *at = o->bytes + o->symbols->sh_offset + i * sizeof(Elf64_Sym);
        Elf64_Sym s;
        memcpy(&s, at, sizeof s);
        if (!is_entity(o, &s, referenced[i]))
            continue;
        s.st_other = (unsigned char)((s.st_other & ~3u) | STV_PROTECTED);
        memcpy(at, &s, sizeof s);
        changed++;
    }
    free(referenced);
    return changed;
}

bool entities_protect_object(const char *path, struct diag *d)
{
    struct object o = {0};
    Elf64_Shdr *sections;
    o.bytes = file_read(path, &o.size, d);
    if (o.bytes == NULL)
        return false;
    bool ok = true; /* what the linker is to compile has no symbols yet */
    if (read_object(&o, &sections) && protect(&o) > 0)
        ok = file_write(path, o.bytes, o.size, d);
    free(sections);
    free(o.bytes);
    return ok;
}

/* ---- assembler text ---- */

/* A line "directive operand": whether it is that directive, and its operand's length. */
static const char *operand(const char *line, const char *directive, size_t *length)
{
    line += strspn(line, " \t");
    size_t n = strlen(directive);
    if (strncmp(line, directive, n) != 0 || (line[n] != ' ' && line[n] != '\t'))
        return NULL;
    line += n + strspn(line + n, " \t");
    *length = strcspn(line, " \t,#\n");
    return line;
}

static bool names_listed(const struct strlist *list, const char *name, size_t length)
{
    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->items[i]) == length && memcmp(list->items[i], name, length) == 0)
            return true;
    return false;
}

/* The names that records refer to, and those whose visibility the text itself says. */
static void read_lines(const char *text, struct strlist *referenced, struct strlist *said)
{
    bool records = false;
    for (const char *line = text; line != NULL && *line != '\0';) {
        size_t n;
        const char *name;
        if ((name = operand(line, ".section", &n)) != NULL) {
            char *section = xprintf("%.*s", (int)n, name);
            records = holds_records(section);
            free(section);
        } else if (operand(line, ".text", &n) != NULL) {
            records = false;
        } else if (records && ((name = operand(line, ".quad", &n)) != NULL ||
                               (name = operand(line, ".xword", &n)) != NULL)) {
            list_add(referenced, "%.*s", (int)n, name);
        } else if ((name = operand(line, ".hidden", &n)) != NULL ||
                   (name = operand(line, ".internal", &n)) != NULL) {
            list_add(said, "%.*s", (int)n, name);
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
}

bool entities_protect_text(const char *path, struct diag *d)
{
    char *text = file_read(path, NULL, d);
    if (text == NULL)
        return false;
    struct strlist referenced = {0}, said = {0};
    struct strbuf out = {0};
    sb_append(&out, text, strlen(text));
    read_lines(text, &referenced, &said);
    for (const char *line = text; line != NULL && *line != '\0';) {
        size_t n;
        const char *name = operand(line, ".globl", &n);
        if (name == NULL)
            name = operand(line, ".weak", &n);
        const char *found = name != NULL ? strstr(name, stub) : NULL;
        if (name != NULL &&
            ((found != NULL && found < name + n) || names_listed(&referenced, name, n)) &&
            !names_listed(&said, name, n) && strncmp(name, ".offloading.", 12) != 0)
            sb_printf(&out, "\t.protected\t%.*s\n", (int)n, name);
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    bool ok = file_write(path, out.items, out.count, d);
    sb_free(&out);
    free(text);
    return ok;
}
