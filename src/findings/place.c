/* place: where in the program a call stands, and how that is written. */
#include <ctype.h>
#include <execinfo.h>
#include <string.h>

#include "base/short_name.h"
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
    out->python = finding_python_here();
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

/* Whether a kernel, as people write it, is the function of that name. */
static bool is_named(const char *kernel, const char *name)
{
    size_t length = strlen(name);
    const char *at = strstr(kernel, name);
    return at != NULL && (at[length] == '(' || at[length] == '<' || at[length] == '\0');
}

/* Looks up frame n. nvcc's code has around each kernel's stub a host function with the kernel's
 * name, which is stub as well; where a compiler has inlined it, who called it is meant. */
static void look_up(const struct finding_site *site, int n, struct finding_place at[FINDING_FRAMES])
{
    at[n] = (struct finding_place){0};
    findings_options.host(site->frames[n], &at[n]);
    if (n == 0 || !at[n - 1].stub || at[n - 1].kernel == NULL || at[n].kernel != NULL)
        return;
    if (at[n].inlined != NULL && is_named(at[n - 1].kernel, at[n].inlined)) {
        at[n].file = at[n].inlined_file;
        at[n].line = at[n].inlined_line;
    } else if (at[n].function != NULL && strcmp(at[n].function, at[n - 1].kernel) == 0) {
        at[n].kernel = at[n - 1].kernel;
        at[n].stub = true;
    }
}

/* A line of native code says more; libraries that Python calls have none. */
static void take_python(const struct finding_site *site, struct finding_place *place)
{
    if (place->file == NULL && site->python != NULL)
        *place = *site->python;
}

static void put_kernel(const char *name, struct strbuf *kernel)
{
    if (name != NULL && kernel != NULL)
        sb_printf(kernel, "%s", name);
}

void finding_resolve(const struct finding_site *site, struct finding_place *place,
                     const char **call, struct strbuf *kernel)
{
    struct finding_place at[FINDING_FRAMES];
    const char *launched = NULL;
    int count = 0, first = -1;
    *call = NULL;
    *place = (struct finding_place){0};
    for (; count < FINDING_FRAMES && site->frames[count] != NULL; count++) {
        look_up(site, count, at);
        if (at[count].kernel != NULL)
            launched = at[count].kernel;
        bool api = at[count].stub || is_api(at[count].function);
        if (first < 0 && api)
            first = count;
        if ((first >= 0 && !api) || (launched != NULL && !at[count].stub)) {
            count++;
            break;
        }
    }
    if (count > 0)
        *place = at[launched != NULL || first >= 0 ? count - 1 : 0];
    take_python(site, place);
    put_kernel(launched, kernel);
    if (launched != NULL)
        *call = "<<<>>>";
    else if (first >= 0 && count >= 2)
        *call = at[count - 2].function;
}

void finding_site_from(struct finding_site *site, const void *returns)
{
    int first = 0;
    while (first < FINDING_FRAMES && site->frames[first] != returns)
        first++;
    if (first == FINDING_FRAMES) {
        *site = (struct finding_site){.frames = {returns}, .python = site->python};
        return;
    }
    memmove(site->frames, site->frames + first,
            (size_t)(FINDING_FRAMES - first) * sizeof site->frames[0]);
    memset(site->frames + FINDING_FRAMES - first, 0, (size_t)first * sizeof site->frames[0]);
}

void finding_resolve_from(const struct finding_site *site, struct finding_place *place,
                          struct strbuf *kernel)
{
    struct finding_place at[FINDING_FRAMES];
    int n = 0;
    look_up(site, 0, at);
    while (at[n].stub && n + 1 < FINDING_FRAMES && site->frames[n + 1] != NULL)
        look_up(site, ++n, at);
    *place = at[n];
    take_python(site, place);
    put_kernel(at[n > 0 ? n - 1 : 0].kernel, kernel);
}

void finding_put_place(struct strbuf *sb, const struct finding_place *p)
{
    if (p->file != NULL)
        sb_printf(sb, "%s:%d", p->file, p->line);
    else if (p->function != NULL)
        short_name(sb, p->function);
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
