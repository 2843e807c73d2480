/* Names of kernels in messages: what is short stays, of what is long the function's name stays. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/short_name.h"

static void stays(const char *name)
{
    char *text = short_name_of(name);
    CHECK_STR(text, name);
    free(text);
}

static void becomes(const char *name, const char *expected)
{
    struct strbuf sb = {0};
    short_name(&sb, name);
    CHECK_STR(sb.items, expected);
    CHECK(sb.count <= SHORT_NAME_MAX);
    sb_free(&sb);
}

/* A name of `depth` lists of template arguments within each other, `wide` in each. */
static void nest(struct strbuf *sb, int depth, int wide)
{
    sb_printf(sb, "type%d", depth);
    for (int i = 0; depth > 0 && i < wide; i++) {
        sb_printf(sb, i == 0 ? "<" : ", ");
        nest(sb, depth - 1, wide);
    }
    if (depth > 0)
        sb_printf(sb, ">");
}

static void long_ones(void)
{
    /* from the inside out, and only what must be */
    becomes("void cub::CUB_300001_SM_900::DeviceReduceKernel<cub::policy_hub<int, unsigned int, "
            "thrust::plus<int> >::Policy1000, thrust::zip_iterator<thrust::tuple<int*, float*> >, "
            "unsigned int, thrust::plus<int> >(int, int*)",
            "void cub::CUB_300001_SM_900::DeviceReduceKernel<cub::policy_hub<...>::Policy1000, "
            "thru... thrust::plus<int> >(int, int*)");
    /* operators and comparisons are no brackets */
    becomes("void compare<&(a_namespace::operator< <int>(int, int)), (bool)((1)>(0)), "
            "(a_namespace::an_enumeration)7, a_namespace::another_one<long, long, long, long> >(a)",
            "void compare<&(...), (bool)((1)>(0)), (a_namespace::a...eration)7, "
            "a_namespace::another_one<long, long, long, long> >(a)");
    /* without brackets, and with the function's name alone too long */
    char name[301];
    memset(name, 'x', 300);
    name[300] = '\0';
    char *text = short_name_of(name);
    CHECK_EQ_INT((int)strlen(text), SHORT_NAME_MAX);
    CHECK(strncmp(text, "xxxx", 4) == 0 && strstr(text, "...") != NULL);
    free(text);
    memcpy(name + 290, "<int>(int)", 10);
    text = short_name_of(name);
    CHECK_EQ_INT((int)strlen(text), SHORT_NAME_MAX);
    free(text);
    /* brackets that nothing closes, or opens */
    memset(name, '<', 150);
    memset(name + 150, ')', 150);
    text = short_name_of(name);
    CHECK_EQ_INT((int)strlen(text), SHORT_NAME_MAX);
    free(text);
}

static void very_long(void)
{
    struct strbuf sb = {0};
    sb_printf(&sb, "void kernel<");
    nest(&sb, 12, 3);
    sb_printf(&sb, ">(int)");
    CHECK(sb.count > 1000000);
    char *text = short_name_of(sb.items);
    CHECK(strlen(text) <= SHORT_NAME_MAX);
    CHECK(strncmp(text, "void kernel<type12<type11<", 26) == 0);
    CHECK(strcmp(text + strlen(text) - 6, ">(int)") == 0);
    free(text);
    sb_free(&sb);
}

int main(void)
{
    stays("");
    stays("kernel(int*, unsigned int)");
    stays("void axpy<float>(float*, float const*, float, unsigned long)");
    long_ones();
    very_long();
    return check_done();
}
