/* Binding device entities to their library; see entities.h. */
#include "weircc/objects/entities.h"

#include <stdlib.h>
#include <string.h>

#include "weircc/files/files.h"
#include "weircc/objects/elf.h"
#include "weircc/options/options.h"

static const char stub[] = "__device_stub__";

/* The sections of records: clang's, and that of ccbin/host_records.h. */
static bool holds_records(const char *section)
{
    return strcmp(section, "cuda_offloading_entries") == 0 ||
           strcmp(section, ".data.rel.ro.weir_entries") == 0;
}

/* ---- objects ---- */

/* Marks the symbols that the section's relocations name. */
static void mark_referenced(const struct elf_object *o, const Elf64_Shdr *relocations, bool *marks)
{
    size_t symbols = o->symbols->sh_size / sizeof(Elf64_Sym);
    if (!elf_within(o, relocations, sizeof(Elf64_Rela)))
        return;
    for (size_t at = 0; at < relocations->sh_size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela r;
        memcpy(&r, o->bytes + relocations->sh_offset + at, sizeof r);
        if (ELF64_R_SYM(r.r_info) < symbols)
            marks[ELF64_R_SYM(r.r_info)] = true;
    }
}

static bool is_entity(const struct elf_object *o, const Elf64_Sym *s, bool referenced)
{
    unsigned type = ELF64_ST_TYPE(s->st_info);
    return s->st_shndx != SHN_UNDEF && ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
           ELF64_ST_VISIBILITY(s->st_other) == STV_DEFAULT &&
           (type == STT_FUNC || type == STT_OBJECT) &&
           (referenced || strstr(elf_string(o, o->strings, s->st_name), stub) != NULL);
}

/* Returns how many symbols were changed. */
static size_t protect(struct elf_object *o)
{
    size_t symbols = o->symbols->sh_size / sizeof(Elf64_Sym), changed = 0;
    bool *referenced = xcalloc(symbols + 1, sizeof *referenced);
    for (size_t i = 0; i < o->count; i++) {
        const Elf64_Shdr *s = &o->sections[i];
        const Elf64_Shdr *of = s->sh_type == SHT_RELA ? elf_section(o, s->sh_info) : NULL;
        if (of != NULL && holds_records(elf_string(o, o->names, of->sh_name)))
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
    struct elf_object o = {0};
    o.bytes = file_read(path, &o.size, d);
    if (o.bytes == NULL)
        return false;
    bool ok = true; /* what the linker is to compile has no symbols yet */
    if (elf_sections(&o) && o.symbols != NULL && protect(&o) > 0)
        ok = file_write(path, o.bytes, o.size, d);
    elf_free(&o);
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
