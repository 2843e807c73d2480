/* K3.2: damaged inputs of every kind that device code comes in, at random: the readers answer,
 * whatever the answer, say why where it is no, and read nothing outside. Built with the address and
 * undefined-behaviour sanitizers.
 *
 *     container_fuzz [SECONDS [SEED]]
 *
 * What fails is in container_fuzz.input, which `container_fuzz FILE` reads. */
#include <stdlib.h>
#include <time.h>

#include "check.h"
#include "container/container.h"
#include "container/fatbin.h"
#include "damage.h"

static unsigned long tried, accepted;

static void keep(const struct strbuf *input)
{
    FILE *f = fopen("container_fuzz.input", "wb");
    if (f != NULL) {
        fwrite(input->items, 1, input->count, f);
        fclose(f);
    }
}

/* Reads a copy that ends where its memory does. */
static void read_all_ways(const struct strbuf *input)
{
    struct container_units units = {0};
    struct diag d = {0}, of_ptx = {0}, of_fatbin = {0};
    struct fatbin_ptx ptx = {0};
    size_t size;
    char *copy = malloc(input->count > 0 ? input->count : 1);
    if (input->count > 0)
        memcpy(copy, input->items, input->count);
    enum container_status s = container_read(copy, input->count, 90, &units, &d);
    if (!check_count(s == CONTAINER_OK || d.text[0] != '\0')) {
        printf("%zu bytes: status %d without a reason\n", input->count, (int)s);
        keep(input);
    }
    container_free(&units);
    if (input->count >= 4) {
        container_find_ptx(copy, input->count, &size, &of_ptx);
        enum fatbin_status f = fatbin_find_ptx(copy, input->count, 90, &ptx, &of_fatbin);
        CHECK(f == FATBIN_OK || f == FATBIN_NOT_ONE || of_fatbin.text[0] != '\0');
        free(ptx.text);
    }
    free(copy);
    tried++;
    accepted += s == CONTAINER_OK;
}

static struct strbuf now; /* what is read; looked at when the process ends */

void __asan_on_error(void);
void __asan_on_error(void) { keep(&now); }

static int read_one(const char *path)
{
    struct diag d = {0};
    size_t size;
    char *text = file_read(path, &size, &d);
    CHECK(text != NULL);
    if (text != NULL)
        sb_append(&now, text, size);
    free(text);
    read_all_ways(&now);
    return check_done();
}

int main(int argc, char **argv)
{
    char *end = NULL;
    double seconds = argc > 1 ? strtod(argv[1], &end) : 4;
    if (argc > 1 && *end != '\0')
        return read_one(argv[1]);
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 88172645463325252ull;
    struct strbuf whole[WHOLE_INPUTS] = {0};
    for (unsigned n = 0; n < WHOLE_INPUTS; n++) {
        damage_whole(n, &whole[n]);
        read_all_ways(&whole[n]);
    }
    CHECK_EQ_INT(accepted, WHOLE_INPUTS - 1); /* all but the cubin */
    struct timespec begun, t;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do {
        for (int n = 0; n < 256; n++) {
            const struct strbuf *from = &whole[damage_below(&seed, WHOLE_INPUTS)];
            now.count = 0;
            sb_append(&now, from->items, from->count);
            for (uint64_t k = 1 + damage_below(&seed, 4); k > 0; k--)
                damage_once(&now, &whole[damage_below(&seed, WHOLE_INPUTS)], &seed);
            read_all_ways(&now);
        }
        clock_gettime(CLOCK_MONOTONIC, &t);
    } while ((double)(t.tv_sec - begun.tv_sec) + (double)(t.tv_nsec - begun.tv_nsec) / 1e9 <
             seconds);
    for (unsigned n = 0; n < WHOLE_INPUTS; n++)
        sb_free(&whole[n]);
    sb_free(&now);
    printf("%lu inputs, %lu accepted\n", tried, accepted);
    return check_done();
}
