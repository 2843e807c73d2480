/* place: where in the program a call stands, and how that is written. */
#include <ctype.h>
#include <execinfo.h>
#include <string.h>

#include "findings/internal.h"

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Frames of ours are left out; those of the runtime are told by their names when they are needed.
 */
void finding_site_here(struct finding_site *out)
{
    enum { DEPTH = 24 };
    void *frames[DEPTH];
    int count = 0, all = backtrace(frames, DEPTH);
    memset(out, 0, sizeof *out);
    for (int i = 0; i < all && count < FINDING_FRAMES; i++)
        if ((uintptr_t)frames[i] - (uintptr_t)__ehdr_start >= (uintptr_t)(_end - __ehdr_start))
            out->frames[count++] = frames[i];
}

static bool is_stub(const char *function)
{
    return function != NULL && strstr(function, "__device_stub__") != NULL;
}

/* Functions between the program's code and ours: of the runtime and of its headers, and what a
 * compiler makes of a launch. */
static bool is_api(const char *function)
{
    if (function == NULL)
        return false;
    const char *name = function;
    size_t end = strcspn(function, "<(");
    for (size_t i = 0; i < end; i++)
        if (function[i] == ' ')
            name = function + i + 1;
    while (*name == '_')
        name++;
    if (strncmp(name, "device_stub", 11) == 0)
        return true;
    if (strncmp(name, "cuda", 4) == 0 && isupper((unsigned char)name[4]))
        return true;
    return strncmp(name, "cu", 2) == 0 && isupper((unsigned char)name[2]);
}

/* "fill(int*)" of "__device_stub__fill(int*)". */
static void put_kernel(struct strbuf *sb, const char *stub)
{
    sb_printf(sb, "%s", strstr(stub, "__device_stub__") + strlen("__device_stub__"));
}

void finding_resolve(const struct finding_site *site, struct finding_place *place,
                     const char **call, struct strbuf *kernel)
{
    struct finding_place at[FINDING_FRAMES] = {0};
    int count = 0, first = -1;
    for (; count < FINDING_FRAMES && site->frames[count] != NULL; count++) {
        findings_options.host(site->frames[count], &at[count]);
        if (first < 0 && is_api(at[count].function))
            first = count;
        if (first >= 0 && !is_api(at[count].function)) {
            count++;
            break;
        }
    }
    *call = NULL;
    *place = at[0];
    if (first < 0 || count == 0)
        return;
    *place = at[count - 1];
    if (count < 2)
        return;
    bool launch = is_stub(at[count - 2].function);
    *call = launch ? "<<<>>>" : at[count - 2].function;
    if (launch && kernel != NULL)
        put_kernel(kernel, at[count - 2].function);
}

void finding_site_from(struct finding_site *site, const void *returns)
{
    int first = 0;
    while (first < FINDING_FRAMES && site->frames[first] != returns)
        first++;
    if (first == FINDING_FRAMES) {
        *site = (struct finding_site){.frames = {returns}};
        return;
    }
    memmove(site->frames, site->frames + first,
            (size_t)(FINDING_FRAMES - first) * sizeof site->frames[0]);
    memset(site->frames + FINDING_FRAMES - first, 0, (size_t)first * sizeof site->frames[0]);
}

void finding_resolve_from(const struct finding_site *site, struct finding_place *place,
                          struct strbuf *kernel)
{
    *place = (struct finding_place){0};
    findings_options.host(site->frames[0], place);
    if (!is_stub(place->function))
        return;
    put_kernel(kernel, place->function);
    if (site->frames[1] != NULL)
        findings_options.host(site->frames[1], place);
}

void finding_put_place(struct strbuf *sb, const struct finding_place *p)
{
    if (p->file != NULL)
        sb_printf(sb, "%s:%d", p->file, p->line);
    else if (p->function != NULL)
        sb_printf(sb, "%s", p->function);
    else
        sb_printf(sb, "an unknown place");
}

/* "cudaMemcpyAsync" of "cudaMemcpyAsync(void*, ...)". */
static void put_name(struct strbuf *sb, const char *call)
{
    size_t end = strcspn(call, "<("), from = 0;
    if (end == 0) {
        sb_printf(sb, "%s", call);
        return;
    }
    for (size_t i = 0; i < end; i++)
        if (call[i] == ' ')
            from = i + 1;
    sb_printf(sb, "%.*s", (int)(end - from), call + from);
}

void finding_put_call(struct strbuf *sb, const char *call)
{
    if (call == NULL)
        return;
    sb_printf(sb, " (");
    put_name(sb, call);
    sb_printf(sb, ")");
}

void finding_put_string(struct strbuf *sb, const char *text)
{
    sb_printf(sb, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            sb_printf(sb, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            sb_printf(sb, "\\u%04x", (unsigned char)*text);
        else
            sb_printf(sb, "%c", *text);
    }
    sb_printf(sb, "\"");
}

void finding_put_json_place(struct strbuf *sb, const char *name, const struct finding_place *p)
{
    if (p->file == NULL)
        return;
    sb_printf(sb, ", \"%s\": {\"file\": ", name);
    finding_put_string(sb, p->file);
    sb_printf(sb, ", \"line\": %d}", p->line);
}

void finding_put_json_call(struct strbuf *sb, const char *call)
{
    struct strbuf name = {0};
    if (call == NULL)
        return;
    put_name(&name, call);
    sb_printf(sb, ", \"call\": ");
    finding_put_string(sb, name.items);
    sb_free(&name);
}
