// Scatters by loops of compare-and-swap, walks whose paths are in shared memory.
#define STEPS   16
#define WALKERS 128

kernel void scatter_start(global float *low, global float *high, global float *all, int places)
{
    int i = get_global_id(0);
    if (i < places)
        low[i] = high[i] = all[i] = 1;
}

#define CHANGE(to, op)                                                                             \
    {                                                                                              \
        volatile global int *word = (volatile global int *)(to);                                   \
        int seen = *word, before;                                                                  \
        do {                                                                                       \
            before = seen;                                                                         \
            seen = atomic_cmpxchg(word, before, as_int(op));                                       \
        } while (seen != before);                                                                  \
    }

kernel void scatter_cas(global const int *place, global const float *value, global float *low,
                        global float *high, global float *all, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    int to = place[i];
    float v = value[i];
    CHANGE(&low[to], fmin(v, as_float(before)));
    CHANGE(&high[to], fmax(v, as_float(before)));
    CHANGE(&all[to], v * as_float(before));
}

kernel void walks(global const int *neighbour, global int *out, int vertices)
{
    local int path[STEPS * WALKERS];
    int me = get_local_id(0), walker = get_global_id(0);
    unsigned state = walker * 2654435761u + 12345;
    int at = walker % vertices, length = 0, sum = 0;
    for (;;) {
        path[me + length++ * WALKERS] = at;
        sum = sum * 31 + at;
        if (length == STEPS)
            break;
        state = state * 1664525u + 1013904223u;
        int next = -1, way = state >> 30;
        for (int tried = 0; tried < 4 && next < 0; tried++) {
            int to = neighbour[at * 4 + (way + tried) % 4];
            bool visited = false;
            for (int k = 0; k < length; k++)
                visited |= path[me + k * WALKERS] == to;
            if (!visited)
                next = to;
        }
        if (next < 0)
            break;
        at = next;
    }
    out[walker] = sum;
}
