/* Choosing the architecture of device code; see arch.h. */
#include "weircc/options/arch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum arch_kind { KIND_VIRTUAL, KIND_REAL, KIND_LTO };

/* Every architecture that CUDA has had, and whether clang 19 generates PTX for it.
 */
static const struct {
    int number;
    bool generated;
} known[] = {
    {10, false},  {11, false},  {12, false},  {13, false}, {20, false},  {21, false},  {30, false},
    {32, false},  {35, false},  {37, false},  {50, false}, {52, true},   {53, true},   {60, true},
    {61, true},   {62, true},   {70, true},   {72, true},  {75, true},   {80, true},   {86, true},
    {87, true},   {88, false},  {89, true},   {90, true},  {100, false}, {101, false}, {103, false},
    {110, false}, {120, false}, {121, false},
};

enum { ARCH_DEFAULT = 75, ARCH_LOWEST = 52, ARCH_HIGHEST = 90 };

/* What a name such as sm_90a says. */
struct arch_spec {
    struct arch arch;
    enum arch_kind kind;
    const char *name; /* as given */
};

static bool parse_arch(const char *name, struct arch_spec *out, struct diag *d)
{
    static const struct {
        const char *prefix;
        enum arch_kind kind;
    } prefixes[] = {{"compute_", KIND_VIRTUAL}, {"sm_", KIND_REAL}, {"lto_", KIND_LTO}};
    for (size_t i = 0; i < WEIR_COUNT(prefixes); i++) {
        size_t n = strlen(prefixes[i].prefix);
        if (strncmp(name, prefixes[i].prefix, n) != 0 || !isdigit((unsigned char)name[n]))
            continue;
        char *end;
        long number = strtol(name + n, &end, 10);
        bool accelerated = *end == 'a' && number >= 90;
        if (accelerated || (*end == 'f' && number >= 100))
            end++;
        for (size_t k = 0; *end == '\0' && k < WEIR_COUNT(known); k++)
            if (known[k].number == number) {
                *out = (struct arch_spec){
                    {.number = (int)number, .accelerated = accelerated}, prefixes[i].kind, name};
                return true;
            }
    }
    return diag_set(d, 0, 0, "Unsupported gpu architecture '%s'", name);
}

/* The PTX to generate for what was asked: the same or the nearest that clang has. */
static struct arch nearest(const struct arch *asked)
{
    struct arch best = {.number = ARCH_LOWEST};
    for (size_t k = 0; k < WEIR_COUNT(known); k++)
        if (known[k].generated && known[k].number <= asked->number)
            best.number = known[k].number;
    best.accelerated = asked->number == ARCH_HIGHEST && asked->accelerated;
    return best;
}

/* Takes `asked` if it is higher than what was asked before. */
static void raise_to(struct arch_spec *highest, const struct arch_spec *asked)
{
    const struct arch *a = &asked->arch, *b = &highest->arch;
    /* What clang cannot generate counts only when nothing else is asked for. */
    bool a_fits = a->number <= ARCH_HIGHEST, b_fits = b->number <= ARCH_HIGHEST;
    bool higher = a->number > b->number || (a->number == b->number && a->accelerated);
    if (b->number == 0 || (a_fits == b_fits ? higher : a_fits))
        *highest = *asked;
}

/* A virtual architecture and the list of codes made from it must fit together. */
static bool check_codes(const struct arch_spec *arch, const struct strlist *codes, struct diag *d)
{
    if (arch->kind == KIND_REAL)
        return diag_set(d, 0, 0, "Value of -arch option ('%s') must be a virtual code architecture",
                        arch->name);
    for (size_t i = 0; i < codes->count; i++) {
        struct arch_spec code = {0};
        if (!parse_arch(codes->items[i], &code, d))
            return false;
        if (code.arch.number < arch->arch.number)
            return diag_set(d, 0, 0, "Incompatible code generation requested: arch='%s', code='%s'",
                            arch->name, code.name);
    }
    return true;
}

/* Takes the value of `keyword=` out of a -gencode specification: up to the next keyword. */
static char *keyword_value(const char *spec, const char *keyword)
{
    size_t n = strlen(keyword);
    for (const char *p = spec; p != NULL; p = strchr(p, ',') != NULL ? strchr(p, ',') + 1 : NULL) {
        if (strncmp(p, keyword, n) != 0 || p[n] != '=')
            continue;
        const char *start = p + n + 1;
        const char *end = start;
        while (*end != '\0' && strncmp(end, ",arch=", 6) != 0 && strncmp(end, ",code=", 6) != 0)
            end++;
        return xprintf("%.*s", (int)(end - start), start);
    }
    return NULL;
}

/* Splits the codes of -gencode: a,b or [a,b] or "a,b". */
static bool split_codes(char *text, struct strlist *codes, struct diag *d)
{
    size_t n = strlen(text);
    bool bracket = n > 0 && text[0] == '[', quote = n > 0 && text[0] == '"';
    if (bracket || quote) {
        if (n < 2 || text[n - 1] != (bracket ? ']' : '"'))
            return diag_set(d, 0, 0, "Stray '%c' character", text[0]);
        text[n - 1] = '\0';
        text++;
    }
    list_split(codes, text);
    return true;
}

static bool read_gencode(const char *spec, struct arch_spec *highest, struct diag *d)
{
    size_t n = strcspn(spec, "=");
    if (spec[n] == '\0' ||
        ((n != 4 || strncmp(spec, "arch", n) != 0) && (n != 4 || strncmp(spec, "code", n) != 0)))
        return diag_set(d, 0, 0, "Keyword '%.*s' is not defined for option 'generate-code'", (int)n,
                        spec);
    char *arch_text = keyword_value(spec, "arch");
    char *code_text = keyword_value(spec, "code");
    if (arch_text == NULL || code_text == NULL)
        return diag_set(d, 0, 0, "Option '--generate-code %s', missing %s", spec,
                        arch_text == NULL ? "architecture" : "code");
    struct strlist codes = {0};
    struct arch_spec arch = {0};
    if (!split_codes(code_text, &codes, d) || !parse_arch(arch_text, &arch, d) ||
        !check_codes(&arch, &codes, d))
        return false;
    if (codes.count == 0)
        return diag_set(d, 0, 0, "Option '--generate-code %s', missing code", spec);
    raise_to(highest, &arch);
    return true;
}

/* -arch, alone or with -code. */
static bool read_arch_option(const struct cmdline *c, struct arch_spec *highest, struct diag *d)
{
    const char *value = c->value[OPT_gpu_architecture];
    const struct strlist *codes = &c->list[OPT_gpu_code];
    if (value == NULL)
        return codes->count == 0 || diag_set(d, 0, 0, "-arch option not specified");
    static const char *const groups[] = {"native", "all", "all-major"};
    for (size_t i = 0; i < WEIR_COUNT(groups); i++)
        if (strcmp(value, groups[i]) == 0) {
            if (codes->count > 0)
                return diag_set(d, 0, 0, "Option '-arch=%s' cannot be used with '-code'", value);
            /* the software device runs all that can be generated: the most is its own */
            raise_to(highest, &(struct arch_spec){{.number = ARCH_HIGHEST}, KIND_VIRTUAL, value});
            return true;
        }
    struct arch_spec arch = {0};
    if (!parse_arch(value, &arch, d))
        return false;
    if (codes->count > 0 && !check_codes(&arch, codes, d))
        return false;
    raise_to(highest, &arch);
    return true;
}

bool arch_choose(struct cmdline *c, struct arch *chosen, struct diag *d)
{
    struct arch_spec asked = {0};
    if (!read_arch_option(c, &asked, d))
        return false;
    for (size_t i = 0; i < c->list[OPT_generate_code].count; i++)
        if (!read_gencode(c->list[OPT_generate_code].items[i], &asked, d))
            return false;
    if (asked.arch.number == 0)
        asked.arch.number = ARCH_DEFAULT;
    *chosen = nearest(&asked.arch);
    chosen->old = asked.arch.number < 50;
    bool other =
        chosen->number != asked.arch.number || chosen->accelerated != asked.arch.accelerated;
    if (other && !c->given[OPT_Wno_deprecated_gpu_targets])
        list_add(&c->warnings, "clang generates no code for '%s': compiled for compute_%d instead",
                 asked.name, chosen->number);
    return true;
}

const char *arch_name(const struct arch *a)
{
    static char name[16];
    snprintf(name, sizeof name, "sm_%d%s", a->number, a->accelerated ? "a" : "");
    return name;
}

void arch_list(bool virtual_names, bool real_names)
{
    for (size_t k = 0; k < WEIR_COUNT(known); k++) {
        int n = known[k].number;
        if (!known[k].generated)
            continue;
        if (virtual_names && real_names)
            printf("arch=compute_%d,code=sm_%d\n", n, n);
        else
            printf("%s_%d\n", virtual_names ? "compute" : "sm", n);
    }
}
