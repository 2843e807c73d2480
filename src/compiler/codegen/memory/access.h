/* access.h: what the files of memory/ share about one access. */
#ifndef WEIR_COMPILER_MEMORY_ACCESS_H
#define WEIR_COMPILER_MEMORY_ACCESS_H

#include "compiler/codegen/codegen.h"

/* An address in shared memory: segment s of warp w begins at first[s] + w * step[s]. */
struct shared_inside {
    int64_t first[MAX_SEGS], step[MAX_SEGS];
};

/* One access to memory. */
struct access {
    const struct ptx_instr *i;
    const struct ptx_operand *at; /* the address */
    unsigned space, type, bytes;  /* bytes of one element */
    int vec;                      /* elements a lane */
    bool is_volatile;
    bool backwards; /* a load; each lane's element lies before that of the last lane */
    bool windowed;  /* local memory, at one offset in all lanes' windows */
    bool inside;    /* known to stay in shared memory, at `at_shared` (shared_inside.c) */
    struct shared_inside at_shared;
    struct uniformity uniformity; /* of the address */
    LLVMTypeRef elem;             /* an element as it lies in memory */
};

/* Bytes that a lane accesses, which is what its address should be a multiple of. */
static inline unsigned mem_natural(const struct access *a) { return a->bytes * (unsigned)a->vec; }

/* What an address must be a multiple of. In local memory any word may be accessed as a vector,
 * which a GPU would refuse: nvcc lays out local arrays for the accesses that it finds, clang by
 * their type alone, and programs that treat an array of floats as one of float4 rely on the former.
 */
static inline unsigned mem_alignment(const struct access *a)
{
    if (a->space == PTX_SPACE_LOCAL)
        return a->bytes < 4 ? a->bytes : 1;
    return mem_natural(a);
}

/* ---- addresses.c ---- */

/* Faults where `address` (an i64, as it is in its space) is not a multiple of `due`: the same for
 * all active lanes. */
void mem_fault_if_misaligned(struct codegen *cg, unsigned space, LLVMValueRef address,
                             unsigned due);
/* The CPU takes any address, a GPU does not: each pointer of a segment that is not known to be
 * aligned is tested (E2). */
void mem_check_pointer(struct codegen *cg, const struct access *a, LLVMValueRef p, unsigned seg,
                       int s);
/* i1: is any lane of segment s active? There is a mask. */
LLVMValueRef mem_segment_active(struct codegen *cg, unsigned seg, int s);
/* Base of an address operand for one segment, as an i64 in its own space. */
LLVMValueRef mem_base(struct codegen *cg, const struct ptx_operand *o, unsigned seg, int s);
/* The same as a pointer. Where `windowed`: that of lane 0; each lane's is one window further. */
LLVMValueRef mem_pointer(struct codegen *cg, const struct access *a, unsigned seg, int s);

/* ---- gather_scatter.c ---- */

/* The addresses of lanes that are not neighbours, in the first of these forms that fits:
 *   base, index   base + index[lane] * scale, with 32-bit indices: what x86 gathers fastest
 *   offsets       <32 x i32> into the shared window
 *   addresses     <32 x i64> */
struct lane_addresses {
    LLVMValueRef base, index;     /* i64 and <32 x i32>, or NULL */
    unsigned scale;               /* 1, 2, 4 or 8 bytes an index */
    bool is_signed;               /* how indices become 64 bits wide */
    LLVMValueRef at;              /* offsets or addresses; NULL: not computed yet */
    const struct ptx_operand *of; /* what the index is of, and the instruction that reads it; or */
    int32_t read;                 /* NULL */
};

/* Finds the first of these forms, false: it is another one. */
bool find_lane_index(struct codegen *cg, const struct access *a, struct lane_addresses *w);

/* Finds the first form where the base is likely the same in all lanes: base and index are those of
 * lanes that have lane 0's base. i1: all active lanes have it. NULL: there is no such base. */
LLVMValueRef find_likely_base(struct codegen *cg, const struct access *a, struct lane_addresses *w);

/* An index of lanes, or one lane's, 64 bits wide. */
LLVMValueRef mem_widened(struct codegen *cg, const struct lane_addresses *w, LLVMValueRef index);
/* Offsets or addresses of all lanes, in whichever form `w` is. */
LLVMValueRef mem_all_addresses(struct codegen *cg, const struct lane_addresses *w);

/* How lanes that are likely neighbours access memory: if i1 `near` holds, at the segments' pointers
 * first[], otherwise at `at`. */
struct likely {
    LLVMValueRef near, first[MAX_SEGS];
    struct lane_addresses at;
    unsigned seg;
};

/* False: lanes are known not to be neighbours, and likely->at has their addresses. */
bool probe_adjacent(struct codegen *cg, const struct access *a, struct likely *l);
/* Gathers the elements at `at` (empty: it is computed first); scatters them. */
void gather_lanes(struct codegen *cg, const struct access *a, struct lane_addresses *at,
                  LLVMValueRef *out);
void scatter_lanes(struct codegen *cg, const struct access *a, struct lane_addresses *at,
                   LLVMValueRef *v);

/* ---- packed_store.c ---- */

/* Stores v of the active lanes where their elements follow each other without gaps, and goes on at
 * `done`; the builder is left where they do not. False: nothing is emitted. */
bool packed_store(struct codegen *cg, const struct access *a, const struct lane_addresses *w,
                  LLVMValueRef v, LLVMBasicBlockRef done);

/* ---- two_runs.c ---- */

/* Lanes in two runs, of neighbours each: those in lanes[n], a mask, are at first[n] plus their
 * number times what a lane accesses; the first run's numbers are the lower. */
struct two_runs {
    LLVMValueRef first[2], lanes[2];
    LLVMValueRef mask, mask_vec; /* of all lanes */
    LLVMBasicBlockRef scattered; /* where lanes go that are not in two runs */
    LLVMBasicBlockRef joined;    /* where both go afterwards */
};

/* Where lanes that are no neighbours are likely to lie in two runs: tests that, and begins what is
 * done if they do. False: they are not likely to, and nothing is emitted. Then one run is the
 * active lanes after the other, and code for scattered lanes follows, and what both come to. Each
 * end gives the block that comes from there, for a phi. */
bool two_runs_begin(struct codegen *cg, const struct access *a, const struct lane_addresses *at,
                    struct two_runs *r);
void two_runs_activate(struct codegen *cg, const struct two_runs *r, int n);
LLVMBasicBlockRef two_runs_else(struct codegen *cg, const struct two_runs *r);
LLVMBasicBlockRef two_runs_end(struct codegen *cg, const struct two_runs *r);

/* ---- monotone.c ---- */

/* i1: do the indices rise by one from lane to lane, in each segment, from its first lane to the
 * last active one? first[]: those of the first lanes. NULL: it does not follow from the ends. */
LLVMValueRef monotone_adjacent(struct codegen *cg, const struct access *a,
                               const struct lane_addresses *w, unsigned seg, LLVMValueRef *first);

/* ---- window_gather.c ---- */

struct window_gather {
    LLVMValueRef v;               /* what the windows have */
    LLVMBasicBlockRef near, join; /* the block that loads them, and what comes afterwards */
};

/* Where lanes that are likely to access one element may access few that are neighbours: tests that,
 * loads windows of memory if they do, and goes on with code for when they do not, whose value is
 * joined to the windows' at the end. False: nothing is emitted. */
bool window_gather_begin(struct codegen *cg, const struct access *a,
                         const struct lane_addresses *at, struct window_gather *w);
LLVMValueRef window_gather_end(struct codegen *cg, const struct window_gather *w, LLVMValueRef v);

/* ---- masked.c ---- */

/* Does the machine load and store elements of this size under a mask, by instructions? */
bool masked_native(const struct codegen *cg, unsigned bytes);
/* <lanes * vec x i1>: which elements of `lanes` lanes from `first` on are active lanes'. */
LLVMValueRef masked_elements(struct codegen *cg, const struct access *a, int first, int lanes);
/* The elements of `lanes` neighbouring lanes from `first` on, at p; anything in inactive ones. By a
 * function, where the machine cannot. */
LLVMValueRef masked_load(struct codegen *cg, const struct access *a, LLVMValueRef p, int first,
                         int lanes);
void masked_store(struct codegen *cg, const struct access *a, LLVMValueRef v, LLVMValueRef p,
                  int first, int lanes);
/* Is a load under a mask faster as one of all elements, where these can be read? On CPUs without
 * AVX-512: hardware prefetchers of AMD's (Zen 3) follow loads, and not masked ones. */
bool masked_load_pays_whole(const struct codegen *cg, const struct access *a);
/* The elements of each segment of lanes, at p[s], zero where mask[s] is false. */
void masked_load_whole(struct codegen *cg, const struct access *a, unsigned seg,
                       const LLVMValueRef *p, const LLVMValueRef *mask, LLVMValueRef *out);

/* ---- vector_gather.c ---- */

/* Does each lane access up to 16 bytes as a vector, or does it store where the machine cannot
 * scatter? Then the active lanes' bytes can be copied at once, by vector_gather and
 * vector_scatter. */
bool vector_gather_fits(const struct codegen *cg, const struct access *a, bool load);
/* Is the stride of the lanes' addresses known? Then `first` below is lane 0's pointer, else NULL,
 * and `at` has the addresses of all. */
bool vector_gather_strided(const struct access *a);
void vector_gather(struct codegen *cg, const struct access *a, const struct lane_addresses *at,
                   LLVMValueRef first, LLVMValueRef *out);
void vector_scatter(struct codegen *cg, const struct access *a, const struct lane_addresses *at,
                    LLVMValueRef first, LLVMValueRef *v);
/* Is this one of so many accesses that the function is to test the addresses itself? */
bool vector_gather_probes(struct codegen *cg, const struct access *a);
void vector_gather_probing(struct codegen *cg, const struct access *a, LLVMValueRef *out);
/* Of these: is it a load whose address follows from data, by lanes that are hardly ever neighbours,
 * and that the machine gathers? Then it needs no test. */
bool scattered_by_data(const struct codegen *cg, const struct access *a);
void vector_scatter_probing(struct codegen *cg, const struct access *a, LLVMValueRef *v);

/* ---- small_table.c ---- */

/* A load that may be one of a few elements, which are loaded and permuted. True: the builder is
 * where they are not accessible as a whole; what is loaded there goes to small_table_end, which
 * returns what the access loads. */
struct small_table {
    LLVMBasicBlockRef from, join;
    LLVMValueRef v;
};
bool small_table_begin(struct codegen *cg, const struct access *a, struct small_table *s);
LLVMValueRef small_table_end(struct codegen *cg, const struct small_table *s, LLVMValueRef v);

/* ---- shared_inside.c ---- */

/* Finds out whether it is known that an access stays within accessible memory in all threads of the
 * block, active or not, and is aligned. */
void shared_inside_find(const struct codegen *cg, struct access *a);
/* Where segment s of the warp that runs begins, of an access that does. */
LLVMValueRef shared_inside_pointer(struct codegen *cg, const struct access *a, int s);
/* tag_memory (values.h) of a load or store of the access, which is marked if it stays inside. */
void tag_access(struct codegen *cg, const struct access *a, LLVMValueRef v);

/* ---- shared_permutation.c ---- */

/* Do the lanes access shared memory in a pattern that is known at compile time? */
bool permutation_fits(struct codegen *cg, const struct access *a);
/* Loads or stores one element a lane in that pattern; false: there is none. */
bool permutation_load(struct codegen *cg, const struct access *a, LLVMValueRef *out);
bool permutation_store(struct codegen *cg, const struct access *a, LLVMValueRef v);

#endif
