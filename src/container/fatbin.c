/* fatbin: see fatbin.h. The format as read off the compilers' output: a 16-byte header, then
 * entries, each with a header of its own that says what the payload is and how it is packed. */
#include "container/fatbin.h"
#include "container/container.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
    WRAPPER_MAGIC = 0x466243b1,
    HEADER_BYTES = 16,
    ENTRY_MIN = 64,
    KIND_PTX = 1,
    KIND_ELF = 2,
    FLAG_LZ4 = 0x2000,
    FLAG_ZSTD = 0x8000,
};
static const uint64_t MAX_PTX = 1u << 30; /* larger is damage */

static uint64_t fatbin_get(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, (size_t)bytes); /* little-endian, as the format is */
    return v;
}

/* Byte by byte, so that a text shorter than 4 bytes is not read beyond its end. */
static bool starts_with(const uint8_t *p, uint32_t magic)
{
    for (int n = 0; n < 4; n++)
        if (p[n] != (uint8_t)(magic >> 8 * n))
            return false;
    return true;
}

bool fatbin_is_header(const void *data) { return starts_with(data, FATBIN_MAGIC); }
bool fatbin_is_wrapper(const void *data) { return starts_with(data, WRAPPER_MAGIC); }

enum fatbin_status fatbin_next(const char **at, size_t *size, struct fatbin_place *one)
{
    enum { ALIGN = 8 };
    for (; *size >= HEADER_BYTES && !fatbin_is_header(*at); *size -= ALIGN)
        *at += ALIGN;
    if (*size < HEADER_BYTES)
        return FATBIN_NOT_ONE;
    const uint8_t *p = (const uint8_t *)*at;
    *one = (struct fatbin_place){*at, fatbin_get(p + 6, 2), fatbin_get(p + 8, 8)};
    if (one->header < HEADER_BYTES || one->header > *size || one->body > *size - one->header)
        return FATBIN_BROKEN;
    size_t all = one->header + one->body, rest = *size - all, padding = -all % ALIGN;
    padding = padding < rest ? padding : rest;
    *at += all + padding;
    *size = rest - padding;
    return FATBIN_OK;
}

bool fatbin_read_wrapper(const void *wrapper, struct fatbin_wrapper *out)
{
    if (!fatbin_is_wrapper(wrapper))
        return false;
    const uint8_t *p = wrapper;
    out->version = (unsigned)fatbin_get(p + 4, 4);
    memcpy(&out->data, p + 8, sizeof out->data);
    out->list = NULL;
    if (out->version == 2)
        memcpy(&out->list, p + 16, sizeof out->list);
    return out->version == 1 || out->version == 2;
}

/* One entry, checked to be within the fat binary. */
struct entry {
    unsigned kind, arch;
    uint64_t flags, packed, unpacked; /* bytes as stored and unpacked */
    const uint8_t *payload;
};

/* Unpacks a PTX entry. NULL and a message when it is damaged. */
static char *unpack(const struct entry *e, size_t *size, struct diag *d)
{
    bool packed = (e->flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0;
    uint64_t bytes = packed ? e->unpacked : e->packed;
    if (bytes > MAX_PTX || e->packed > MAX_PTX) {
        diag_set(d, 0, 0, "fat binary: a PTX entry claims %llu bytes",
                 (unsigned long long)(bytes > e->packed ? bytes : e->packed));
        return NULL;
    }
    char *text = xmalloc((size_t)bytes + 1);
    bool ok = true;
    if (e->flags & FLAG_ZSTD) {
        size_t n = ZSTD_decompress(text, (size_t)bytes, e->payload, (size_t)e->packed);
        ok = !ZSTD_isError(n) && n == bytes;
    } else if (e->flags & FLAG_LZ4) {
        int n = LZ4_decompress_safe((const char *)e->payload, text, (int)e->packed, (int)bytes);
        ok = n >= 0 && (uint64_t)n == bytes;
    } else {
        memcpy(text, e->payload, (size_t)bytes);
    }
    if (!ok) {
        free(text);
        diag_set(d, 0, 0, "fat binary: the packed PTX is damaged");
        return NULL;
    }
    text[bytes] = '\0';
    *size = strlen(text);
    return text;
}

/* weircc's own form of the code, if the entry's header has it. */
static void take_own(struct entry *e, const uint8_t *h, uint64_t header)
{
    const uint64_t text = FATBIN_OWN_OFFSET + sizeof(struct fatbin_own);
    if (e->kind != KIND_PTX || header <= text ||
        fatbin_get(h + FATBIN_OWN_OFFSET, 8) != FATBIN_OWN_MAGIC)
        return;
    uint64_t bytes = fatbin_get(h + FATBIN_OWN_OFFSET + 8, 8);
    if (bytes > header - text)
        return;
    e->payload = h + text;
    e->packed = bytes;
    e->flags &= ~(uint64_t)(FLAG_LZ4 | FLAG_ZSTD);
}

/* What stands for a cubin (container.h) has PTX in it. */
static void open_container(struct entry *e)
{
    size_t size = 0;
    struct diag ignored = {0};
    bool packed = (e->flags & (FLAG_LZ4 | FLAG_ZSTD)) != 0;
    const char *ptx = e->kind == KIND_ELF && !packed && container_is_elf(e->payload, e->packed)
                          ? container_find_ptx(e->payload, e->packed, &size, &ignored)
                          : NULL;
    if (ptx == NULL)
        return;
    e->kind = KIND_PTX;
    e->payload = (const uint8_t *)ptx;
    e->packed = size;
}

/* Reads the entry at `at`; *next is where the following one starts. */
static bool read_entry(const uint8_t *p, uint64_t total, uint64_t at, struct entry *e,
                       uint64_t *next, struct diag *d)
{
    if (total - at < ENTRY_MIN)
        return diag_set(d, 0, 0, "fat binary: an entry is cut off");
    const uint8_t *h = p + at;
    uint64_t header = fatbin_get(h + 4, 4), payload = fatbin_get(h + 8, 8);
    if (header < ENTRY_MIN || header > total - at || payload > total - at - header)
        return diag_set(d, 0, 0, "fat binary: an entry does not fit");
    e->kind = (unsigned)fatbin_get(h, 2);
    e->arch = (unsigned)fatbin_get(h + 28, 4);
    e->flags = fatbin_get(h + 40, 8);
    e->unpacked = fatbin_get(h + 56, 8);
    e->payload = h + header;
    e->packed = fatbin_get(h + 16, 4);
    if ((e->flags & (FLAG_LZ4 | FLAG_ZSTD)) == 0)
        e->packed = payload;
    if (e->packed > payload)
        return diag_set(d, 0, 0, "fat binary: packed bytes beyond their entry");
    take_own(e, h, header);
    open_container(e);
    *next = at + header + payload;
    return true;
}

static enum fatbin_status no_ptx(const unsigned *archs, int count, unsigned newer, unsigned sm,
                                 struct diag *d)
{
    if (newer != 0) {
        diag_set(d, 0, 0,
                 "compiled for compute_%u and newer, this device is sm_%u: rebuild with older PTX, "
                 "e.g. -gencode arch=compute_%u,code=compute_%u",
                 newer, sm, sm, sm);
        return FATBIN_NO_PTX;
    }
    struct strbuf sb = {0};
    for (int n = 0; n < count; n++)
        sb_printf(&sb, "%ssm_%u", n == 0 ? "" : n + 1 == count ? " and " : ", ", archs[n]);
    unsigned first = count > 0 ? archs[0] : 80;
    if (count > 0)
        diag_set(d, 0, 0,
                 "compiled for %s only: rebuild with PTX, e.g. -gencode "
                 "arch=compute_%u,code=compute_%u",
                 sb.items, first, first);
    else
        diag_set(d, 0, 0, "the fat binary holds no code");
    sb_free(&sb);
    return FATBIN_NO_PTX;
}

enum fatbin_status fatbin_find_ptx(const void *data, size_t limit, unsigned sm,
                                   struct fatbin_ptx *out, struct diag *d)
{
    const uint8_t *p = data;
    if (limit < sizeof(uint32_t) || !fatbin_is_header(p))
        return FATBIN_NOT_ONE;
    if (limit < HEADER_BYTES) {
        diag_set(d, 0, 0, "fat binary: its header is cut off");
        return FATBIN_BROKEN;
    }
    uint64_t header = fatbin_get(p + 6, 2), body = fatbin_get(p + 8, 8);
    if (fatbin_get(p + 4, 2) != 1 || header < HEADER_BYTES || header > limit ||
        body > limit - header || body > (uint64_t)1 << 40) {
        diag_set(d, 0, 0, "fat binary: its header is damaged or of a newer format");
        return FATBIN_BROKEN;
    }
    uint64_t total = header + body, at = header;
    struct entry best = {0}, e = {0};
    unsigned archs[16], newer = 0;
    int narchs = 0;
    while (at < total) {
        uint64_t next = total;
        if (!read_entry(p, total, at, &e, &next, d))
            return FATBIN_BROKEN;
        if (e.kind == KIND_PTX && e.arch <= sm && e.arch >= best.arch)
            best = e;
        else if (e.kind == KIND_PTX && e.arch > sm && (newer == 0 || e.arch < newer))
            newer = e.arch;
        else if (e.kind == KIND_ELF && narchs < (int)WEIR_COUNT(archs))
            archs[narchs++] = e.arch;
        at = next;
    }
    if (best.payload == NULL)
        return no_ptx(archs, narchs, newer, sm, d);
    out->arch = best.arch;
    out->text = unpack(&best, &out->size, d);
    return out->text != NULL ? FATBIN_OK : FATBIN_BROKEN;
}
