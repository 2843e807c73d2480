/* K3.2: broken objects: whatever the bytes, the loader refuses or loads, and touches nothing else.
 */
#include "check.h"
#include "loader/image.h"

#include <stdlib.h>
#include <string.h>

/* Opens, maps and unmaps; never runs. True when it could be mapped. */
static bool try_object(const void *data, size_t size, struct diag *d)
{
    /* An exact copy on the heap, so that a sanitizer sees a read past the end. */
    void *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    struct elf_object o;
    bool ok = elf_open(&o, copy, size, d);
    if (ok) {
        struct image im;
        uint64_t *undefined = calloc(o.nsymbols + 1, sizeof *undefined);
        for (uint32_t i = 0; i < o.nsymbols; i++)
            undefined[i] = 0x10000;
        ok = image_load(&im, &o, undefined, d);
        if (ok) {
            image_find(&im, &o, "weir_block");
            image_unload(&im);
        }
        free(undefined);
    }
    free(copy);
    return ok;
}

static void test_truncated(const char *data, size_t size)
{
    int loaded = 0;
    for (size_t n = 0; n < size; n += n < 128 ? 1 : 13) {
        struct diag d = {0};
        bool ok = try_object(data, n, &d);
        loaded += ok;
        CHECK(ok || d.text[0] != '\0');
    }
    CHECK_EQ_INT(loaded, 0); /* the section headers come last */
}

static void test_flipped(char *data, size_t size)
{
    static const unsigned char masks[] = {0xff, 0x01, 0x80};
    int refused = 0;
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < sizeof masks; k++) {
            struct diag d = {0};
            data[i] = (char)(data[i] ^ masks[k]);
            bool ok = try_object(data, size, &d);
            data[i] = (char)(data[i] ^ masks[k]);
            refused += !ok;
            if (!ok && d.text[0] == '\0')
                CHECK(!"refused without a message");
        }
    CHECK(refused > 0);
}

static void test_random(size_t size)
{
    char *data = malloc(size);
    srand(1);
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < size; i++)
            data[i] = (char)rand();
        memcpy(data, "\177ELF\2\1\1", 7);
        CHECK(!try_object(data, size, NULL));
    }
    free(data);
}

static void refuses(const char *name, const char *message)
{
    char *path = xprintf(OBJECTS "/%s.o", name);
    size_t size;
    struct diag d = {0};
    char *data = file_read(path, &size, &d);
    CHECK(data != NULL);
    if (data != NULL) {
        CHECK(!try_object(data, size, &d));
        if (strstr(d.text, message) == NULL)
            CHECK_STR(d.text, message);
    }
    free(data);
    free(path);
}

int main(void)
{
    static const char *const whole[] = {"basic", "basic_sections", "outside", "lines"};
    for (size_t i = 0; i < WEIR_COUNT(whole); i++) {
        char *path = xprintf(OBJECTS "/%s.o", whole[i]);
        size_t size;
        struct diag d = {0};
        char *data = file_read(path, &size, &d);
        CHECK_STR(d.text, "");
        if (data == NULL)
            return check_done();
        if (strncmp(whole[i], "basic", 5) == 0)
            CHECK(try_object(data, size, &d));
        test_truncated(data, size);
        test_flipped(data, size);
        free(data);
        free(path);
    }
    test_random(4096);
    refuses("tls", "thread-local");
    refuses("constructor", "init_array");
    CHECK(!try_object("", 0, NULL));
    return check_done();
}
