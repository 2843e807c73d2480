/* read: the PTX modules of any input of a link; see container.h. */
#include <ar.h>
#include <stdlib.h>
#include <string.h>

#include "container/elf.h"
#include "container/fatbin.h"

enum { MACHINE_CUDA = 190 }; /* e_machine of a vendor's cubin */

/* What the parts of one input came to. */
struct reading {
    unsigned sm;
    struct container_units *out;
    struct diag *d;
};

static enum container_status leave_out(struct reading *r, const struct diag *why)
{
    if (r->out->left_out++ == 0)
        r->out->first_left_out = *why;
    return CONTAINER_NO_PTX;
}

static enum container_status add_text(struct reading *r, const char *text, size_t size)
{
    struct ptx_module *m = ptx_parse(text, strnlen(text, size), r->d);
    if (m == NULL)
        return CONTAINER_BAD_PTX;
    vec_push(r->out, m);
    return CONTAINER_OK;
}

static enum container_status add_fatbin(struct reading *r, const void *data, size_t size)
{
    struct fatbin_ptx ptx;
    struct diag d = {0};
    switch (fatbin_find_ptx(data, size, r->sm, &ptx, &d)) {
    case FATBIN_OK: break;
    case FATBIN_NO_PTX: return leave_out(r, &d);
    default: diag_set(r->d, 0, 0, "%s", d.text); return CONTAINER_BROKEN;
    }
    enum container_status s = add_text(r, ptx.text, ptx.size);
    free(ptx.text);
    return s;
}

/* The worse of two parts' outcomes for the whole: an error before anything, PTX before none. */
static enum container_status both(enum container_status a, enum container_status b)
{
    static const int weight[] = {
        [CONTAINER_NO_CODE] = 0, [CONTAINER_NO_PTX] = 1,  [CONTAINER_OK] = 2,
        [CONTAINER_UNKNOWN] = 3, [CONTAINER_BAD_PTX] = 4, [CONTAINER_BROKEN] = 5};
    return weight[a] > weight[b] ? a : b;
}

/* Fat binaries one after the other, as linkers put them into one section. */
static enum container_status add_fatbins(struct reading *r, const char *at, size_t size)
{
    enum container_status s = CONTAINER_NO_CODE;
    struct fatbin_place one;
    enum fatbin_status f = FATBIN_OK;
    while (f == FATBIN_OK && s <= CONTAINER_NO_CODE &&
           (f = fatbin_next(&at, &size, &one)) != FATBIN_NOT_ONE)
        s = both(s, add_fatbin(r, one.at, f == FATBIN_OK ? one.header + one.body : size));
    return s; /* of damage add_fatbin has said what it is */
}

bool container_holds_fatbins(const char *section)
{
    static const char *const names[] = {".nv_fatbin", "__nv_relfatbin", "weir_rdc"};
    for (size_t n = 0; n < WEIR_COUNT(names); n++)
        if (strcmp(section, names[n]) == 0)
            return true;
    return false;
}

static enum container_status add_elf(struct reading *r, const void *data, size_t size)
{
    struct elf_file f;
    struct elf_bytes section;
    struct diag d = {0};
    size_t bytes;
    const char *ptx = container_find_ptx(data, size, &bytes, &d);
    if (ptx != NULL)
        return add_text(r, ptx, bytes);
    if (d.text[0] != '\0' || !container_elf_open(data, size, &f, &d)) {
        diag_set(r->d, 0, 0, "%s", d.text);
        return CONTAINER_BROKEN;
    }
    if (f.machine == MACHINE_CUDA) {
        diag_set(&d, 0, 0,
                 "it is machine code for a GPU: rebuild as PTX, e.g. -ptx or -gencode "
                 "arch=compute_80,code=compute_80");
        return leave_out(r, &d);
    }
    enum container_status s = CONTAINER_NO_CODE;
    for (unsigned n = 1; n < f.count; n++)
        if (container_elf_section(&f, n, &section) && container_holds_fatbins(section.name))
            s = both(s, add_fatbins(r, section.at, section.size));
    return s;
}

/* Members that are no object files (tables of symbols and of names) hold no device code. */
static enum container_status add_archive(struct reading *r, const char *data, size_t size)
{
    enum container_status s = CONTAINER_NO_CODE;
    size_t at = SARMAG;
    while (size - at >= sizeof(struct ar_hdr)) {
        struct ar_hdr head;
        char digits[sizeof head.ar_size + 1] = "";
        memcpy(&head, data + at, sizeof head);
        memcpy(digits, head.ar_size, sizeof head.ar_size);
        unsigned long long bytes = strtoull(digits, NULL, 10);
        at += sizeof head;
        if (memcmp(head.ar_fmag, ARFMAG, sizeof head.ar_fmag) != 0 || bytes > size - at) {
            diag_set(r->d, 0, 0, "the archive is damaged");
            return CONTAINER_BROKEN;
        }
        if (container_is_elf(data + at, (size_t)bytes)) {
            /* where sections are aligned, as in a file: members begin at any even place */
            s = both(s, add_elf(r, data + at, (size_t)bytes));
        }
        at += (size_t)bytes + (bytes & 1);
        if (at > size)
            break;
    }
    return s;
}

static bool begins(const void *data, size_t size, const char *magic, size_t length)
{
    return size >= length && memcmp(data, magic, length) == 0;
}

static bool is_bitcode(const void *data, size_t size)
{
    return begins(data, size, "BC\xc0\xde", 4) || begins(data, size, "\xde\xc0\x17\x0b", 4) ||
           begins(data, size, "\xed\x43\x4e\x7f", 4);
}

enum container_status container_read(const void *data, size_t size, unsigned sm,
                                     struct container_units *out, struct diag *d)
{
    struct reading r = {sm, out, d};
    size_t before = out->count;
    enum container_status s;
    if (size < 4 || begins(data, size, "!<thin>\n", SARMAG)) {
        diag_set(d, 0, 0,
                 size < 4 ? "it is too short for device code"
                          : "it is a thin archive, which only names its members");
        return CONTAINER_UNKNOWN;
    }
    if (is_bitcode(data, size)) {
        diag_set(d, 0, 0, "it is LTO-IR, which is not supported: give PTX");
        return CONTAINER_NO_PTX;
    }
    if (begins(data, size, ARMAG, SARMAG))
        s = add_archive(&r, data, size);
    else if (container_is_elf(data, size))
        s = add_elf(&r, data, size);
    else if (fatbin_is_header(data))
        s = add_fatbin(&r, data, size);
    else
        s = add_text(&r, data, size);
    if (s == CONTAINER_NO_CODE)
        diag_set(d, 0, 0, "it holds no device code");
    if (s == CONTAINER_NO_PTX && out->count == before)
        diag_set(d, 0, 0, "%s", out->first_left_out.text);
    return s;
}

void container_free(struct container_units *units)
{
    for (size_t n = 0; n < units->count; n++)
        ptx_free(units->items[n]);
    free(units->items);
    *units = (struct container_units){0};
}
