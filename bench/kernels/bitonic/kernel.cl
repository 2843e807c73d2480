// Bitonic sort, ascending: steps that stay within 1024 neighbours in local memory, wider ones in
// global memory.
enum { PART = 1024, THREADS = PART / 2 };

void order(uint *a, uint *b, bool up)
{
    if ((*a > *b) == up) {
        uint t = *a;
        *a = *b;
        *b = t;
    }
}

kernel void bitonic_parts(global uint *keys)
{
    local uint part[PART];
    uint t = get_local_id(0), first = get_group_id(0) * PART;
    part[t] = keys[first + t];
    part[t + THREADS] = keys[first + t + THREADS];
    for (uint size = 2; size <= PART; size *= 2)
        for (uint step = size / 2; step > 0; step /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            uint at = 2 * t - (t & (step - 1)), a = part[at], b = part[at + step];
            order(&a, &b, ((first + at) & size) == 0);
            part[at] = a;
            part[at + step] = b;
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    keys[first + t] = part[t];
    keys[first + t + THREADS] = part[t + THREADS];
}

kernel void bitonic_merge(global uint *keys, uint size)
{
    local uint part[PART];
    uint t = get_local_id(0), first = get_group_id(0) * PART;
    bool up = (first & size) == 0;
    part[t] = keys[first + t];
    part[t + THREADS] = keys[first + t + THREADS];
    for (uint step = PART / 2; step > 0; step /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint at = 2 * t - (t & (step - 1)), a = part[at], b = part[at + step];
        order(&a, &b, up);
        part[at] = a;
        part[at + step] = b;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    keys[first + t] = part[t];
    keys[first + t + THREADS] = part[t + THREADS];
}

kernel void bitonic_step(global uint *keys, uint size, uint step)
{
    uint t = get_global_id(0), at = 2 * t - (t & (step - 1)), a = keys[at], b = keys[at + step];
    order(&a, &b, (at & size) == 0);
    keys[at] = a;
    keys[at + step] = b;
}
