/* Writing fat binaries; see fatbin.h. */
#include "container/fatbin.h"

#include <string.h>

/* The area for options of the assembler, which drivers of GPUs read in each entry with PTX. */
struct fatbin_options {
    uint32_t text_offset, text_length; /* without its NUL */
};

/* Bytes of a text with its NUL, padded. */
static size_t padded(size_t size) { return (size + 1 + 7) & ~(size_t)7; }

static void add_padded(struct strbuf *out, const char *text, size_t size, size_t all)
{
    sb_append(out, text, size);
    for (size_t i = size; i < all; i++)
        sb_append(out, "", 1);
}

static size_t length_of(const char *text) { return text != NULL ? strlen(text) : 0; }

size_t fatbin_begin(struct strbuf *out)
{
    struct fatbin_header header = {
        .magic = FATBIN_MAGIC, .version = 1, .header_size = sizeof header};
    size_t at = out->count;
    sb_append(out, (const char *)&header, sizeof header);
    return at;
}

void fatbin_end(struct strbuf *out, size_t begin)
{
    uint64_t size = out->count - begin - sizeof(struct fatbin_header);
    memcpy(out->items + begin + offsetof(struct fatbin_header, size), &size, sizeof size);
}

void fatbin_add(struct strbuf *out, const struct fatbin_part *part)
{
    size_t name = length_of(part->name), options = length_of(part->options);
    size_t name_size = name > 0 ? padded(name) : 0;
    size_t options_at = sizeof(struct fatbin_entry) + name_size;
    size_t text_at = options_at + sizeof(struct fatbin_options);
    struct fatbin_own mark = {FATBIN_OWN_MAGIC, part->own_size};
    size_t header = part->options == NULL ? options_at : text_at + padded(options);
    if (part->own != NULL)
        header += sizeof mark + padded(part->own_size);
    size_t payload = part->is_text ? padded(part->size) : (part->size + 7) & ~(size_t)7;
    struct fatbin_entry entry = {
        .kind = (uint16_t)part->kind,
        .always_0x101 = 0x101,
        .header_size = (uint32_t)header,
        .payload_size = payload,
        .options_offset = part->options != NULL ? (uint32_t)options_at : 0,
        .minor = part->minor,
        .major = part->major,
        .arch = part->arch,
        .name_offset = name > 0 ? (uint32_t)sizeof entry : 0,
        .name_length = (uint32_t)name,
        .flags = part->flags,
    };
    sb_append(out, (const char *)&entry, sizeof entry);
    add_padded(out, part->name, name, name_size);
    if (part->options != NULL) {
        struct fatbin_options area = {(uint32_t)text_at, (uint32_t)options};
        sb_append(out, (const char *)&area, sizeof area);
        add_padded(out, part->options, options, padded(options));
    }
    if (part->own != NULL) {
        sb_append(out, (const char *)&mark, sizeof mark);
        add_padded(out, part->own, part->own_size, padded(part->own_size));
    }
    add_padded(out, part->payload, part->size, payload);
}
