/* Finds the PTX in a file: see input.h. */
#include "input.h"
#include "container/fatbin.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* What the device can take (compute capability 9.0). */
enum { DEVICE_SM = 90 };

/* ---- PTX text ---- */

static struct ptx_module *parse_text(const char *from, const char *text, size_t size,
                                     struct diag *d)
{
    struct diag own = {0};
    struct ptx_module *m = ptx_parse(text, size, &own);
    if (m == NULL) /* the message names the line */
        diag_set(d, own.line, own.column, "%s: %s", from, own.text);
    return m;
}

static void add_module(struct input *in, const char *from, struct ptx_module *m)
{
    struct input_module item = {xstrdup(from), m};
    vec_push(in, item);
}

static bool add_text(struct input *in, const char *from, const char *text, size_t size,
                     struct diag *d)
{
    struct ptx_module *m = parse_text(from, text, size, d);
    if (m != NULL)
        add_module(in, from, m);
    return m != NULL;
}

/* ---- fat binaries ---- */

/* What a run of fat binaries gave. */
struct scan {
    size_t binaries;     /* how many there were */
    struct diag without; /* why the first of those without PTX has none */
};

/* Header of a fat binary: the two fields that say how long it is. */
enum { FATBIN_HEADER = 16, FATBIN_HEADER_SIZE_AT = 6, FATBIN_LENGTH_AT = 8 };

static size_t fatbin_length(const char *data, size_t limit)
{
    uint16_t header;
    uint64_t length;
    memcpy(&header, data + FATBIN_HEADER_SIZE_AT, sizeof header);
    memcpy(&length, data + FATBIN_LENGTH_AT, sizeof length);
    return length > limit || header > limit - length ? limit : header + (size_t)length;
}

/* Adds the PTX of every fat binary in `data`, one after the other with padding between. */
static bool add_fatbins(struct input *in, struct scan *scan, const char *from, const char *data,
                        size_t size, struct diag *d)
{
    for (size_t at = 0; size - at >= FATBIN_HEADER;) {
        if (!fatbin_is_header(data + at)) {
            at += 8;
            continue;
        }
        struct fatbin_ptx ptx;
        struct diag why = {0};
        char *name = xprintf("%s, fat binary %zu", from, ++scan->binaries);
        enum fatbin_status status = fatbin_find_ptx(data + at, size - at, DEVICE_SM, &ptx, &why);
        bool ok = true;
        if (status == FATBIN_OK) {
            ok = add_text(in, name, ptx.text, ptx.size, d);
            free(ptx.text);
        } else if (status == FATBIN_NO_PTX) {
            diag_set(&scan->without, 0, 0, "%s: %s", name, why.text);
        } else {
            ok = diag_set(d, 0, 0, "%s: %s", name, why.text);
        }
        free(name);
        if (!ok)
            return false;
        size_t length = fatbin_length(data + at, size - at);
        at += length < FATBIN_HEADER ? FATBIN_HEADER : (length + 7) & ~(size_t)7;
        if (at > size)
            break;
    }
    return true;
}

/* Replaces the modules from `first` on by what they give linked. */
static bool link_modules(struct input *in, size_t first, const char *from, struct diag *d)
{
    size_t count = in->count - first;
    if (count == 0)
        return true;
    struct ptx_module **parts = xcalloc(count, sizeof *parts);
    for (size_t i = 0; i < count; i++)
        parts[i] = in->items[first + i].module;
    struct diag own = {0};
    struct ptx_module *linked = ptx_link(parts, (int)count, &own);
    free(parts);
    if (linked == NULL)
        return diag_set(d, 0, 0, "%s: linking its relocatable device code: %s", from, own.text);
    while (in->count > first) {
        in->count--;
        free(in->items[in->count].from);
        ptx_free(in->items[in->count].module);
    }
    char *name = xprintf("%s, %zu relocatable part%s linked", from, count, count == 1 ? "" : "s");
    add_module(in, name, linked);
    free(name);
    return true;
}

/* ---- ELF files ---- */

/* The sections that hold device code: whole programs, and parts to be linked. */
static bool add_section(struct input *in, struct scan *scan, const char *from, const char *name,
                        const char *data, size_t size, struct diag *d)
{
    if (strcmp(name, ".weir.ptx") == 0) /* what stands for a cubin (container/container.h) */
        return add_text(in, from, data, strnlen(data, size), d);
    if (strcmp(name, ".nv_fatbin") == 0)
        return add_fatbins(in, scan, from, data, size, d);
    if (strcmp(name, "__nv_relfatbin") == 0 || strcmp(name, "weir_rdc") == 0) {
        size_t first = in->count;
        return add_fatbins(in, scan, from, data, size, d) && link_modules(in, first, from, d);
    }
    return true;
}

static bool inside(uint64_t offset, uint64_t bytes, size_t size)
{
    return offset <= size && bytes <= size - offset;
}

static bool add_elf(struct input *in, struct scan *scan, const char *from, const char *data,
                    size_t size, struct diag *d)
{
    Elf64_Ehdr h;
    if (size < sizeof h)
        return diag_set(d, 0, 0, "%s: truncated ELF file", from);
    memcpy(&h, data, sizeof h);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
        (h.e_shnum > 0 && (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shstrndx >= h.e_shnum)) ||
        !inside(h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr), size))
        return diag_set(d, 0, 0, "%s: not a 64-bit ELF file, or a damaged one", from);
    if (h.e_shnum == 0)
        return diag_set(d, 0, 0, "%s: its section headers were stripped", from);
    Elf64_Shdr names;
    memcpy(&names, data + h.e_shoff + (size_t)h.e_shstrndx * sizeof names, sizeof names);
    for (unsigned i = 1; i < h.e_shnum; i++) {
        Elf64_Shdr s;
        memcpy(&s, data + h.e_shoff + i * sizeof s, sizeof s);
        if (s.sh_type == SHT_NOBITS || !inside(s.sh_offset, s.sh_size, size) ||
            !inside(names.sh_offset, names.sh_size, size) || s.sh_name >= names.sh_size)
            continue;
        const char *name = data + names.sh_offset + s.sh_name;
        if (memchr(name, '\0', names.sh_size - s.sh_name) != NULL &&
            !add_section(in, scan, from, name, data + s.sh_offset, s.sh_size, d))
            return false;
    }
    return true;
}

/* ---- any file ---- */

static bool add_file(struct input *in, const char *path, const char *data, size_t size,
                     struct diag *d)
{
    struct scan scan = {0};
    if (memchr(data, '\0', size) == NULL)
        return add_text(in, path, data, size, d);
    if (size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0) {
        if (!add_elf(in, &scan, path, data, size, d))
            return false;
    } else if (size >= FATBIN_HEADER && fatbin_is_header(data)) {
        if (!add_fatbins(in, &scan, path, data, size, d))
            return false;
    } else {
        return diag_set(d, 0, 0, "%s is neither PTX, a fat binary nor an ELF file", path);
    }
    if (in->count == 0 && scan.without.text[0] != '\0')
        return diag_set(d, 0, 0, "%s", scan.without.text);
    return in->count > 0 || diag_set(d, 0, 0, "%s holds no device code", path);
}

bool input_read(struct input *in, const char *path, struct diag *d)
{
    size_t size;
    char *data = file_read(path, &size, d);
    if (data == NULL)
        return false;
    bool ok = add_file(in, path, data, size, d);
    free(data);
    if (!ok)
        input_free(in);
    return ok;
}

void input_free(struct input *in)
{
    for (size_t i = 0; i < in->count; i++) {
        free(in->items[i].from);
        ptx_free(in->items[i].module);
    }
    free(in->items);
    *in = (struct input){0};
}
