/* forms.c: parses forms.def once into bit sets, and matches an instruction's suffixes against it.
 * Operands are matched in check.c, which knows registers and variables. */
#include "ptx/forms.h"
#include "base/bits.h"
#include "ptx/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#define EVICTIONS                                                                                  \
    "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate|"         \
    "L2::evict_normal|L2::evict_first|L2::evict_last"

/* What the words in capitals stand for. */
static const struct {
    const char *name, *text;
} sets[] = {
    {"INT", "u16|s16|u32|s32|u64|s64"},
    {"INTS", "u8|s8|u16|s16|u32|s32|u64|s64"},
    {"FLT", "f32|f64"},
    {"FLTS", "f16|bf16|f32|f64"},
    {"BIT", "b16|b32|b64"},
    {"LDST", "b8|b16|b32|b64|b128|u8|s8|u16|s16|u32|s32|u64|s64|f32|f64"},
    {"RND", "rn|rz|rm|rp"},
    {"CMPI", "eq|ne|lt|le|gt|ge"},
    {"CMPU", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"},
    {"CMPF", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"},
    {"BOOL", "and|or|xor"},
    {"REDOP", "add|min|max|inc|dec|and|or|xor"},
    {"SCOPE", "cta|cluster|gpu|sys"},
    {"ORDER", "relaxed|acquire|release|acq_rel"},
    {"CACHE", "ca|cg|cs|lu|cv"},
    {"EVICT", EVICTIONS},
    {"PREFETCH", "L2::64B|L2::128B|L2::256B"},
    {"VEC", "v2|v4|v8"},
    {"SPACE", "global|shared|shared::cluster|local|const|param"},
    {"ST", "global|shared|shared::cluster|local|param"},
    {"ASPACE", "global|shared|shared::cluster"},
    {"DIM", "1d|2d|3d|4d|5d"},
    {"IMAGES", "3d|4d|5d"},
    {"CTAGROUP", "cta_group::1|cta_group::2"},
    {"SMALL", "e4m3|e5m2|e3m2|e2m3|e2m1"},
    {"GEOM", "1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms"},
    {"SGEOM", "1d|2d|3d|a1d|a2d"},
    {"MMA", "m8n8k4|m8n8k16|m8n8k32|m8n8k128|m16n8k4|m16n8k8|m16n8k16|m16n8k32|m16n8k64|m16n8k128|"
            "m16n8k256"},
    {"WMMA", "m16n16k16|m16n16k8|m32n8k16|m8n32k16|m8n8k4|m8n8k32|m8n8k128"},
};

static const struct {
    enum ptx_target target;
    enum ptx_op op;
    const char *mods, *spaces, *types, *operands;
} forms_rows[] = {
#define PTX_FORM_ON(target, op, mods, spaces, types, operands)                                     \
    {PTX_TARGET_##target, PTX_OP_##op, mods, spaces, types, operands},
#define PTX_FORM(op, mods, spaces, types, operands)                                                \
    PTX_FORM_ON(ANY, op, mods, spaces, types, operands)
#include "ptx/forms.def"
#undef PTX_FORM
#undef PTX_FORM_ON
};

static struct ptx_form forms_forms[WEIR_COUNT(forms_rows)];
static struct {
    uint16_t first, count;
} by_op[PTX_OP_COUNT];
static once_flag forms_once = ONCE_FLAG_INIT;

/* ---- targets ---- */

bool ptx_target_has(enum ptx_target target, int sm, char suffix)
{
    int family = sm / 10;
    switch (target) {
    case PTX_TARGET_90A: return sm == 90 && suffix == 'a';
    case PTX_TARGET_90AF: return sm >= 90 && suffix != 0;
    case PTX_TARGET_100: return sm >= 100;
    case PTX_TARGET_100AF: return sm >= 100 && suffix != 0;
    case PTX_TARGET_10XA: return family == 10 && suffix == 'a';
    case PTX_TARGET_10XAF: return family == 10 && suffix != 0;
    case PTX_TARGET_12XA: return family == 12 && suffix == 'a';
    case PTX_TARGET_12XAF: return family == 12 && suffix != 0;
    default: return true;
    }
}

const char *ptx_target_words(enum ptx_target target)
{
    static const char *const words[] = {
        [PTX_TARGET_ANY] = "any target",
        [PTX_TARGET_90A] = "target sm_90a",
        [PTX_TARGET_90AF] = "a target of one architecture or family, such as sm_90a or sm_100f",
        [PTX_TARGET_100] = "target sm_100 or newer",
        [PTX_TARGET_100AF] = "a target of one architecture or family, such as sm_100a or sm_120f",
        [PTX_TARGET_10XA] = "target sm_100a or sm_103a",
        [PTX_TARGET_10XAF] = "target sm_100a, sm_103a or sm_100f",
        [PTX_TARGET_12XA] = "target sm_120a or sm_121a",
        [PTX_TARGET_12XAF] = "target sm_120a, sm_121a or sm_120f",
    };
    return words[target];
}

/* ---- reading the table ---- */

/* The first mistake in the table, which is ours: a test fails then. */
static char mistake[128];

static void bad(const char *what, const char *s, size_t n)
{
    if (mistake[0] == '\0')
        snprintf(mistake, sizeof mistake, "forms.def: bad %s '%.*s'", what, (int)n, s);
}

/* The next word of a space-separated list; NULL at the end. */
static const char *forms_word(const char **list, size_t *n)
{
    while (**list == ' ')
        ++*list;
    const char *s = *list;
    *n = strcspn(s, " ");
    *list += *n;
    return *n > 0 ? s : NULL;
}

/* Calls add for each alternative of `a|b|SET`. */
static void each(const char *s, size_t n, void (*add)(void *to, const char *s, size_t n), void *to)
{
    const char *end = s + n;
    while (s < end) {
        const char *bar = memchr(s, '|', (size_t)(end - s));
        size_t k = (size_t)((bar != NULL ? bar : end) - s);
        const char *set = NULL;
        for (size_t i = 0; i < WEIR_COUNT(sets); i++)
            if (strlen(sets[i].name) == k && memcmp(sets[i].name, s, k) == 0)
                set = sets[i].text;
        if (set != NULL)
            each(set, strlen(set), add, to);
        else
            add(to, s, k);
        s += k + 1;
    }
}

static void add_mod(void *to, const char *s, size_t n)
{
    uint64_t *set = to;
    if (n > 5 && memcmp(s, "WGMMA", 5) == 0) { /* every m64n…k of that number */
        for (unsigned m = 1; m < PTX_M_COUNT; m++) {
            const char *name = ptx_mod_name((enum ptx_mod)m), *k = strrchr(name, 'k');
            if (strncmp(name, "m64n", 4) == 0 && strlen(k + 1) == n - 5 &&
                memcmp(k + 1, s + 5, n - 5) == 0)
                bit_set(set, (int32_t)m);
        }
        return;
    }
    struct ptx_suffix x = ptx_suffix_find(s, n);
    if (x.kind != PTX_SUFFIX_MOD)
        bad("modifier", s, n);
    bit_set(set, (int32_t)x.value);
}

static void add_type(void *to, const char *s, size_t n)
{
    struct ptx_suffix x = ptx_suffix_find(s, n);
    if (x.kind != PTX_SUFFIX_TYPE)
        bad("type", s, n);
    *(uint64_t *)to |= UINT64_C(1) << x.value;
}

static void add_space(void *to, const char *s, size_t n)
{
    struct ptx_suffix x = ptx_suffix_find(s, n);
    if (x.kind != PTX_SUFFIX_SPACE)
        bad("space", s, n);
    *(uint16_t *)to |= (uint16_t)(1u << x.value);
}

static void read_operand(struct ptx_form_operand *o, const char *s, size_t n)
{
    const char *all = s;
    size_t alln = n;
    o->index = -1;
    if (*s == '|') {
        o->bar = true;
        s++, n--;
    }
    if (s[n - 1] == '?') {
        o->optional = true;
        n--;
    }
    o->kind = *s++;
    n--;
    if (n > 0 && *s >= '0' && *s <= '3') {
        o->index = (int8_t)(*s - '0');
        o->wide = n == 2 && s[1] == 'w';
    } else if (n > 1 && *s == ':') {
        struct ptx_suffix x = ptx_suffix_find(s + 1, n - 1);
        if (x.kind != PTX_SUFFIX_TYPE)
            bad("operand", all, alln);
        o->type = (uint8_t)x.value;
    } else if (n != 0)
        bad("operand", all, alln);
}

static void read_form(struct ptx_form *f, size_t row)
{
    size_t n;
    const char *list = forms_rows[row].mods, *s;
    f->op = forms_rows[row].op;
    f->target = forms_rows[row].target;
    while ((s = forms_word(&list, &n)) != NULL) {
        if (f->ngroups == FORM_MAX_GROUPS) {
            bad("form, of too many groups:", s, n);
            break;
        }
        struct ptx_form_group *g = &f->groups[f->ngroups++];
        g->twice = s[n - 1] == '*';
        g->optional = g->twice || s[n - 1] == '?';
        if (g->optional)
            n--;
        g->text = s;
        g->length = (uint8_t)n;
        each(s, n, add_mod, g->set);
    }
    for (list = forms_rows[row].spaces; (s = forms_word(&list, &n)) != NULL; f->nspaces++) {
        f->space_optional[f->nspaces] = s[n - 1] == '?';
        each(s, s[n - 1] == '?' ? n - 1 : n, add_space, &f->spaces[f->nspaces]);
    }
    for (list = forms_rows[row].types; (s = forms_word(&list, &n)) != NULL; f->ntypes++) {
        f->type_optional[f->ntypes] = s[n - 1] == '?';
        each(s, s[n - 1] == '?' ? n - 1 : n, add_type, &f->types[f->ntypes]);
    }
    for (list = forms_rows[row].operands; (s = forms_word(&list, &n)) != NULL; f->noperands++) {
        if (f->noperands == FORM_MAX_OPERANDS) {
            bad("form, of too many operands:", s, n);
            break;
        }
        read_operand(&f->operands[f->noperands], s, n);
        f->required += !f->operands[f->noperands].optional;
    }
}

static void fill(void)
{
    for (size_t i = 0; i < WEIR_COUNT(forms_rows); i++) {
        read_form(&forms_forms[i], i);
        if (by_op[forms_rows[i].op].count++ == 0)
            by_op[forms_rows[i].op].first = (uint16_t)i;
        else if (forms_rows[i - 1].op != forms_rows[i].op)
            bad("order of", ptx_op_name(forms_rows[i].op), strlen(ptx_op_name(forms_rows[i].op)));
    }
}

const struct ptx_form *ptx_forms(enum ptx_op op, int *count)
{
    call_once(&forms_once, fill);
    *count = by_op[op].count;
    return &forms_forms[by_op[op].first];
}

const char *ptx_forms_mistake(void)
{
    call_once(&forms_once, fill);
    return mistake[0] != '\0' ? mistake : NULL;
}

/* ---- matching ---- */

static bool forms_has(const uint64_t *set, unsigned m) { return bit_get(set, (int32_t)m); }

static bool types_fit(const struct ptx_form *f, const struct ptx_instr *i)
{
    int k = 0;
    for (int t = 0; t < f->ntypes; t++) {
        if (k < i->ntypes && (f->types[t] >> i->types[k] & 1) != 0)
            k++;
        else if (!f->type_optional[t])
            return false;
    }
    return k == i->ntypes;
}

static bool spaces_fit(const struct ptx_form *f, const struct ptx_instr *i)
{
    int k = 0;
    for (int t = 0; t < f->nspaces; t++) {
        if (k < i->nspaces && (f->spaces[t] >> i->spaces[k] & 1) != 0)
            k++;
        else if (!f->space_optional[t])
            return false;
    }
    return k == i->nspaces;
}

/* Gives each modifier a group of its own. On failure *wrong is a modifier without a group, or
 * *missing a group that nothing fills. */
static bool mods_fit(const struct ptx_form *f, const struct ptx_instr *i, int *wrong,
                     const struct ptx_form_group **missing)
{
    uint8_t used[FORM_MAX_GROUPS] = {0};
    for (int k = 0; k < i->nmods; k++) {
        int g = 0;
        while (g < f->ngroups &&
               !(forms_has(f->groups[g].set, i->mods[k]) && used[g] < (f->groups[g].twice ? 2 : 1)))
            g++;
        if (g == f->ngroups) {
            *wrong = k;
            return false;
        }
        used[g]++;
    }
    for (int g = 0; g < f->ngroups; g++)
        if (used[g] == 0 && !f->groups[g].optional) {
            *missing = &f->groups[g];
            return false;
        }
    return true;
}

bool ptx_form_fits(const struct ptx_form *f, const struct ptx_instr *i)
{
    int wrong;
    const struct ptx_form_group *missing;
    return types_fit(f, i) && spaces_fit(f, i) && mods_fit(f, i, &wrong, &missing);
}

/* Is modifier number k one that some form of the opcode takes? Likewise types below. */
static bool mod_known(const struct ptx_instr *i, int k)
{
    int count;
    const struct ptx_form *f = ptx_forms((enum ptx_op)i->op, &count);
    for (int n = 0; n < count; n++)
        for (int g = 0; g < f[n].ngroups; g++)
            if (forms_has(f[n].groups[g].set, i->mods[k]))
                return true;
    return false;
}

static bool type_known(const struct ptx_instr *i, int k)
{
    int count;
    const struct ptx_form *f = ptx_forms((enum ptx_op)i->op, &count);
    for (int n = 0; n < count; n++)
        for (int t = 0; t < f[n].ntypes; t++)
            if ((f[n].types[t] >> i->types[k] & 1) != 0)
                return true;
    return false;
}

/* Names the alternatives, also those that a word in capitals stands for. */
static void explain_missing(const struct ptx_form_group *g, const char *text, int len, char *out,
                            size_t size)
{
    const char *words = g->text;
    int n = g->length;
    for (size_t k = 0; k < WEIR_COUNT(sets); k++)
        if (strlen(sets[k].name) == g->length && memcmp(sets[k].name, g->text, g->length) == 0) {
            words = sets[k].text;
            n = (int)strlen(words);
        }
    snprintf(out, size, "'%.*s': a modifier is missing (%.*s)", len, text, n, words);
}

void ptx_form_explain(const struct ptx_instr *i, const char *text, size_t n, char *out, size_t size)
{
    int count, wrong;
    const struct ptx_form *f = ptx_forms((enum ptx_op)i->op, &count);
    const struct ptx_form_group *missing = NULL;
    const char *op = ptx_op_name((enum ptx_op)i->op);
    int len = n < 200 ? (int)n : 200;
    for (int k = 0; k < i->nmods; k++)
        if (!mod_known(i, k)) {
            snprintf(out, size, "'%.*s': '%s' does not take the modifier '.%s'", len, text, op,
                     ptx_mod_name((enum ptx_mod)i->mods[k]));
            return;
        }
    for (int k = 0; k < i->ntypes; k++)
        if (!type_known(i, k)) {
            snprintf(out, size, "'%.*s': '%s' does not take the type '.%s'", len, text, op,
                     ptx_type_name((enum ptx_type)i->types[k]));
            return;
        }
    bool types = false, mods = false;
    for (int k = 0; k < count; k++) {
        const struct ptx_form_group *lacks = NULL;
        if (!types_fit(&f[k], i))
            continue;
        types = true;
        if (mods_fit(&f[k], i, &wrong, &lacks))
            mods = true;
        else if (lacks != NULL && missing == NULL)
            missing = lacks;
    }
    if (!types)
        snprintf(out, size, "'%.*s': wrong number or combination of types", len, text);
    else if (mods)
        snprintf(out, size, "'%.*s': wrong or missing state space", len, text);
    else if (missing != NULL)
        explain_missing(missing, text, len, out, size);
    else
        snprintf(out, size, "'%.*s': these modifiers and types do not go together", len, text);
}
