/* Containers and archives of them: what is written is read again, and no damage is followed. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "container/container.h"

static const char one[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .func one()\n{\nret;\n}\n";
static const char two[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .func two()\n{\nret;\n}\n";

static void add_member(struct strbuf *out, const char *name, const char *data, size_t size)
{
    if (out->count == 0)
        sb_printf(out, "!<arch>\n");
    sb_printf(out, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644, size);
    sb_append(out, data, size);
    if (size % 2 != 0)
        sb_append(out, "\n", 1);
}

/* Reads a copy that ends where its memory does, so that sanitizers see a step beyond. */
static enum container_status read_copy(const char *data, size_t size, size_t *modules)
{
    struct container_units units = {0};
    struct diag d = {0};
    char *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, data, size);
    enum container_status s = container_read(copy, size, 90, &units, &d);
    CHECK(s == CONTAINER_OK || d.text[0] != '\0');
    if (modules != NULL)
        *modules = units.count;
    container_free(&units);
    free(copy);
    return s;
}

static void round_trip(const struct strbuf *file)
{
    struct diag d = {0};
    size_t size = 0;
    const char *ptx = container_find_ptx(file->items, file->count, &size, &d);
    CHECK(ptx != NULL && size == sizeof one - 1 && strcmp(ptx, one) == 0);
    ptx = container_find_ptx(file->items, SIZE_MAX, &size, &d);
    CHECK(ptx != NULL && size == sizeof one - 1);
    Elf64_Ehdr head;
    memcpy(&head, file->items, sizeof head);
    CHECK(head.e_machine == EM_NONE && head.e_type == ET_REL && head.e_flags == 75 &&
          head.e_ident[EI_OSABI] == 'W');
    CHECK(container_find_ptx("\177ELF\2\1\1", SIZE_MAX, &size, &d) == NULL);
    CHECK(container_find_ptx("\177EL", SIZE_MAX, &size, &d) == NULL);
    CHECK_STR(d.text, "");
}

/* Every length, and every byte of what is no text changed in a few ways. */
static void damage(const struct strbuf *file, size_t header)
{
    for (size_t n = 0; n < file->count; n++)
        read_copy(file->items, n, NULL);
    char *bad = malloc(file->count);
    for (size_t n = 0; n < file->count; n++) {
        if (n >= header && n + 512 < file->count)
            continue;
        static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
        for (size_t v = 0; v < sizeof values; v++) {
            memcpy(bad, file->items, file->count);
            bad[n] = (char)values[v];
            read_copy(bad, file->count, NULL);
        }
    }
    free(bad);
}

int main(void)
{
    struct strbuf first = {0}, second = {0}, archive = {0}, thin = {0};
    size_t modules = 0;
    container_write(one, sizeof one - 1, 75, true, &first);
    container_write(two, sizeof two - 1, 75, true, &second);
    round_trip(&first);
    CHECK_EQ_INT(read_copy(first.items, first.count, &modules), CONTAINER_OK);
    CHECK_EQ_INT(modules, 1);
    add_member(&archive, "names/", "odd", 3);
    add_member(&archive, "one.o/", first.items, first.count);
    add_member(&archive, "two.o/", second.items, second.count);
    CHECK_EQ_INT(read_copy(archive.items, archive.count, &modules), CONTAINER_OK);
    CHECK_EQ_INT(modules, 2);
    CHECK_EQ_INT(read_copy(one, sizeof one, &modules), CONTAINER_OK);
    CHECK_EQ_INT(read_copy("BC\300\336....", 8, NULL), CONTAINER_NO_PTX);
    CHECK_EQ_INT(read_copy("\355CN\177....", 8, NULL), CONTAINER_NO_PTX);
    CHECK_EQ_INT(read_copy("no PTX", 6, NULL), CONTAINER_BAD_PTX);
    sb_printf(&thin, "!<thin>\n");
    CHECK_EQ_INT(read_copy(thin.items, thin.count, NULL), CONTAINER_UNKNOWN);
    CHECK_EQ_INT(read_copy("!<arch>\n", 8, NULL), CONTAINER_NO_CODE);
    damage(&first, sizeof(Elf64_Ehdr));
    damage(&archive, 80);
    sb_free(&first);
    sb_free(&second);
    sb_free(&archive);
    sb_free(&thin);
    return check_done();
}
