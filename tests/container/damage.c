/* See damage.h. */
#include "damage.h"

#include <elf.h>
#include <lz4.h>
#include <string.h>
#include <zstd.h>

#include "container/container.h"
#include "container/fatbin.h"

static const char ptx[] = ".version 7.8\n.target sm_70\n.address_size 64\n"
                          ".extern .func (.param .b32 r) other(.param .b32 a);\n"
                          ".visible .global .align 4 .u32 words[4] = {1, 2, 3, 4};\n"
                          ".const .align 8 .u64 where = generic(words);\n"
                          ".visible .entry k(.param .u64 p)\n{\n.reg .u64 %a;\n.reg .u32 %v;\n"
                          "ld.param.u64 %a, [p];\nld.global.u32 %v, [words+4];\n"
                          "st.global.u32 [%a], %v;\nret;\n}\n";

static void put(struct strbuf *out, const void *data, size_t size)
{
    sb_append(out, (const char *)data, size);
}

static void pad(struct strbuf *out, size_t to)
{
    while (out->count % to != 0)
        put(out, "", 1);
}

/* ---- fat binaries ---- */

struct packed_entry {
    uint16_t kind, version;
    uint32_t header;
    uint64_t payload;
    uint32_t packed, unused[2], arch;
    uint64_t more, flags, rest, unpacked;
    uint64_t spare[2]; /* up to where weircc's own form stands */
};

enum { PLAIN, LZ4, ZSTD, OWN, MACHINE, PACKINGS };

static void add_entry(struct strbuf *out, int packing)
{
    static const uint64_t flags[PACKINGS] = {0x11, 0x2011, 0x8011, 0x11, 0x11};
    char bytes[4096];
    struct packed_entry e = {.kind = packing == MACHINE ? 2 : 1,
                             .version = 0x101,
                             .header = 64,
                             .arch = 70 + (unsigned)packing,
                             .flags = flags[packing]};
    size_t size = sizeof ptx;
    if (packing == LZ4)
        size = (size_t)LZ4_compress_default(ptx, bytes, sizeof ptx, sizeof bytes);
    else if (packing == ZSTD)
        size = ZSTD_compress(bytes, sizeof bytes, ptx, sizeof ptx, 3);
    else
        memcpy(bytes, ptx, sizeof ptx);
    if (packing == LZ4 || packing == ZSTD) {
        e.packed = (uint32_t)size;
        e.unpacked = sizeof ptx;
    }
    e.payload = (size + 7) / 8 * 8;
    struct fatbin_own own = {FATBIN_OWN_MAGIC, sizeof ptx - 1};
    if (packing == OWN)
        e.header = (uint32_t)((sizeof e + sizeof own + sizeof ptx + 7) / 8 * 8);
    put(out, &e, packing == OWN ? sizeof e : 64);
    if (packing == OWN) {
        put(out, &own, sizeof own);
        put(out, ptx, sizeof ptx);
        pad(out, 8);
    }
    put(out, bytes, size);
    pad(out, 8);
}

/* Entries of the packings from `first` to `last`. */
static void add_fatbin(struct strbuf *out, int first, int last)
{
    struct strbuf body = {0};
    for (int packing = first; packing <= last; packing++)
        add_entry(&body, packing);
    struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t bytes;
    } head = {0xBA55ED50u, 1, 16, body.count};
    put(out, &head, sizeof head);
    put(out, body.items, body.count);
    sb_free(&body);
}

/* ---- objects, archives ---- */

/* An object of the host, or a vendor's cubin, with one section of fat binaries. */
static void add_object(struct strbuf *out, const char *section, unsigned machine)
{
    struct strbuf fat = {0}, names = {0};
    add_fatbin(&fat, PLAIN, PLAIN);
    add_fatbin(&fat, LZ4, ZSTD);
    sb_append(&names, "", 1);
    sb_append(&names, section, strlen(section) + 1);
    size_t at_names = sizeof(Elf64_Ehdr) + fat.count;
    size_t table = (at_names + names.count + 7) / 8 * 8;
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1},
                       .e_type = ET_REL,
                       .e_machine = (Elf64_Half)machine,
                       .e_version = 1,
                       .e_ehsize = sizeof head,
                       .e_shoff = table,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = 3,
                       .e_shstrndx = 2};
    Elf64_Shdr sections[3] = {
        {0},
        {.sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof head, .sh_size = fat.count},
        {.sh_name = 0, .sh_type = SHT_STRTAB, .sh_offset = at_names, .sh_size = names.count}};
    size_t start = out->count;
    put(out, &head, sizeof head);
    put(out, fat.items, fat.count);
    put(out, names.items, names.count);
    while (out->count - start < table)
        put(out, "", 1);
    put(out, sections, sizeof sections);
    sb_free(&fat);
    sb_free(&names);
}

static void add_archive(struct strbuf *out)
{
    sb_printf(out, "!<arch>\n%-16s%-12d%-6d%-6d%-8o%-10d`\nodd\n", "names/", 0, 0, 0, 0644, 3);
    for (int n = 0; n < 2; n++) {
        struct strbuf member = {0};
        if (n == 0)
            add_object(&member, "weir_rdc", EM_X86_64);
        else
            container_write(ptx, sizeof ptx - 1, 75, true, &member);
        sb_printf(out, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", "member.o/", 0, 0, 0, 0644, member.count);
        put(out, member.items, member.count);
        if (member.count % 2 != 0)
            put(out, "\n", 1);
        sb_free(&member);
    }
}

void damage_whole(unsigned n, struct strbuf *out)
{
    switch (n) {
    case 0: sb_append(out, ptx, sizeof ptx - 1); break;
    case 1: container_write(ptx, sizeof ptx - 1, 75, true, out); break;
    case 2: container_write(ptx, sizeof ptx - 1, 80, false, out); break;
    case 3: add_fatbin(out, PLAIN, MACHINE); break;
    case 4: add_fatbin(out, ZSTD, ZSTD); break;
    case 5: add_fatbin(out, OWN, OWN); break;
    case 6: add_object(out, ".nv_fatbin", EM_X86_64); break;
    case 7: add_object(out, "__nv_relfatbin", 190); break;
    default: add_archive(out); break;
    }
}

/* ---- damage ---- */

uint64_t damage_below(uint64_t *seed, uint64_t n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return n == 0 ? 0 : (*seed >> 16) % n;
}

/* A number that sizes and offsets go wrong at, in that input. */
static uint64_t odd_number(const struct strbuf *input, uint64_t *seed)
{
    const uint64_t numbers[] = {0,
                                1,
                                8,
                                16,
                                0x7f,
                                0xffff,
                                INT32_MAX,
                                (uint64_t)INT32_MAX + 1,
                                UINT32_MAX,
                                (uint64_t)1 << 40,
                                INT64_MAX,
                                UINT64_MAX,
                                UINT64_MAX - 15,
                                input->count,
                                input->count - 1,
                                input->count + 1,
                                input->count / 2,
                                -(uint64_t)input->count,
                                damage_below(seed, input->count + 1)};
    return numbers[damage_below(seed, WEIR_COUNT(numbers))];
}

static void set_field(struct strbuf *input, uint64_t *seed)
{
    size_t bytes = (size_t)1 << damage_below(seed, 4);
    if (input->count < bytes)
        return;
    size_t at = damage_below(seed, input->count - bytes + 1);
    if (damage_below(seed, 4) != 0) /* where fields mostly are */
        at &= ~(bytes - 1);
    uint64_t value = odd_number(input, seed);
    if (damage_below(seed, 3) == 0) { /* near what it was */
        value = 0;
        memcpy(&value, input->items + at, bytes);
        value += damage_below(seed, 33) - 16;
    }
    memcpy(input->items + at, &value, bytes);
}

/* Puts `size` bytes of `from` to `at`: in place of what is there, or before it. */
static void put_part(struct strbuf *input, size_t at, const char *from, size_t size, bool insert)
{
    struct strbuf out = {0};
    sb_append(&out, input->items, at);
    sb_append(&out, from, size);
    size_t left = insert ? at : at + size;
    if (left < input->count)
        sb_append(&out, input->items + left, input->count - left);
    sb_free(input);
    *input = out;
}

void damage_once(struct strbuf *input, const struct strbuf *other, uint64_t *seed)
{
    if (input->count == 0)
        return;
    size_t at = damage_below(seed, input->count), size = damage_below(seed, input->count - at + 1);
    struct strbuf part = {0};
    switch (damage_below(seed, 12)) {
    case 0: input->count = at; break;
    case 1: /* missing */
        memmove(input->items + at, input->items + at + size, input->count - at - size);
        input->count -= size;
        break;
    case 2: /* twice there, or moved */
        sb_append(&part, input->items + at, size);
        put_part(input, damage_below(seed, input->count), part.items, size,
                 damage_below(seed, 2) != 0 && input->count < 1 << 16);
        sb_free(&part);
        break;
    case 3:
        at = damage_below(seed, other->count);
        size = damage_below(seed, other->count - at + 1);
        put_part(input, damage_below(seed, input->count), other->items + at, size,
                 damage_below(seed, 2) != 0 && input->count < 1 << 16);
        break;
    case 4:
    case 5: input->items[at] = (char)damage_below(seed, 256); break;
    case 6: input->items[at] ^= (char)(1 << damage_below(seed, 8)); break;
    default: set_field(input, seed); break;
    }
}
