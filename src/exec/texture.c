/* texture: what compiled code calls for textures and surfaces. A handle is the address of a
 * description (texture/texture.h); lanes of a warp normally hold the same one, otherwise the lanes
 * are served one handle at a time. */
#include <string.h>

#include "exec/check.h"
#include "exec/internal.h"
#include "texture/texture.h"

enum { LANES = TEXTURE_LANES };

/* The description of a handle; a wrong one is the kernel's fault, and reading one may fault. */
static const struct texture *described(struct jit_block *j, uint32_t mask, uint64_t handle,
                                       uint32_t tag)
{
    const struct texture *t = (const struct texture *)handle;
    if (handle != 0 && handle % _Alignof(struct texture) == 0 && t->tag == tag)
        return t;
    struct grid_block *b = j->grid;
    fault_leave(b->worker, &(struct trouble){.kind = GRID_FAULT_ADDRESS,
                                             .has_address = true,
                                             .address = handle,
                                             .mask = mask,
                                             .text = tag == TEXTURE_TAG
                                                         ? "no texture object has this handle"
                                                         : "no surface object has this handle"});
}

/* The lanes of `left` that hold the same handle as its first one. */
static uint32_t sharing(const uint64_t *handles, uint32_t left)
{
    uint64_t first = handles[__builtin_ctz(left)], others = 0;
    uint32_t same = 0;
    for (uint32_t l = 0; l < LANES; l++)
        others |= handles[l] ^ first;
    if (others == 0)
        return left; /* nearly always */
    for (uint32_t l = 0; l < LANES; l++)
        same |= (uint32_t)(handles[l] == first) << l;
    return same & left;
}

/* Results of some lanes into the arrays of all. */
static void merge(uint32_t mask, const uint32_t (*from)[LANES], uint32_t (*to)[LANES])
{
    for (int r = 0; r < 4; r++)
        for (uint32_t l = 0; l < LANES; l++)
            to[r][l] = mask >> l & 1 ? from[r][l] : to[r][l];
}

static void fetch(const struct texture *t, struct texture_instr i, uint32_t mask,
                  const uint32_t (*coordinates)[LANES], uint32_t (*out)[LANES])
{
    if (WEIR_UNLIKELY(t->mipmapped))
        texture_fetch_levels(t, i, mask, coordinates, out);
    else
        texture_fetch(t, i, coordinates, out);
}

/* All lanes hold one handle, as the compiler knows. */
void weir_rt_tex_one(struct jit_block *j, uint32_t instr, uint32_t mask, uint64_t handle,
                     const uint32_t (*coordinates)[LANES], uint32_t (*out)[LANES])
{
    const struct texture *t = described(j, mask, handle, TEXTURE_TAG);
    check_others(j, mask, (uint64_t)t->base, __builtin_return_address(0));
    fetch(t, texture_instr_of(instr), mask, coordinates, out);
}

void weir_rt_tex(struct jit_block *j, uint32_t instr, uint32_t mask, const uint64_t *handles,
                 const uint32_t (*coordinates)[LANES], uint32_t (*out)[LANES])
{
    struct texture_instr i = texture_instr_of(instr);
    uint32_t same;
    for (uint32_t left = mask; left != 0; left &= ~same) {
        same = sharing(handles, left);
        const struct texture *t = described(j, same, handles[__builtin_ctz(left)], TEXTURE_TAG);
        check_others(j, same, (uint64_t)t->base, __builtin_return_address(0));
        if (same == mask) {
            fetch(t, i, mask, coordinates, out);
            return;
        }
        uint32_t some[4][LANES];
        fetch(t, i, same, coordinates, some);
        merge(same, (const uint32_t(*)[LANES])some, out);
    }
}

/* With MIP_LEVEL the levels that are meant stand in `out`. */
void weir_rt_texture_query(struct jit_block *j, uint32_t instr, uint32_t mask,
                           const uint64_t *handles, uint32_t *out)
{
    struct texture_instr i = texture_instr_of(instr);
    uint32_t same;
    for (uint32_t left = mask; left != 0; left &= ~same) {
        same = sharing(handles, left);
        const struct texture *t =
            described(j, same, handles[__builtin_ctz(left)], i.surface ? SURFACE_TAG : TEXTURE_TAG);
        for (uint32_t l = 0; l < LANES && i.mip == MIP_LEVEL; l++)
            out[l] = same >> l & 1 ? texture_query_level(t, i, out[l]) : out[l];
        uint32_t answer = i.mip == MIP_LEVEL ? 0 : texture_query(t, i);
        for (uint32_t l = 0; l < LANES && i.mip != MIP_LEVEL; l++)
            out[l] = same >> l & 1 ? answer : out[l];
    }
}

void weir_rt_surface(struct jit_block *j, uint32_t instr, uint32_t mask, const uint64_t *handles,
                     const uint32_t (*coordinates)[LANES], uint64_t (*data)[LANES])
{
    struct texture_instr i = texture_instr_of(instr);
    uint32_t same;
    for (uint32_t left = mask; left != 0; left &= ~same) {
        same = sharing(handles, left);
        const struct texture *t = described(j, same, handles[__builtin_ctz(left)], SURFACE_TAG);
        check_others(j, same, (uint64_t)t->base, __builtin_return_address(0));
        uint32_t trapped = surface_access(t, i, same, coordinates, data);
        if (trapped == 0)
            continue;
        struct grid_block *b = j->grid;
        fault_leave(b->worker,
                    &(struct trouble){.kind = GRID_FAULT_TRAP,
                                      .pc = (uint64_t)__builtin_return_address(0),
                                      .mask = trapped & -trapped,
                                      .text = "access outside a surface, or not aligned in it"});
    }
}
