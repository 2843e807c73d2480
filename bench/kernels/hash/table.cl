// A hash table with open addressing.
uint mixed(uint k)
{
    k ^= k >> 16;
    k *= 0x85ebca6bu;
    k ^= k >> 13;
    k *= 0xc2b2ae35u;
    return k ^ k >> 16;
}

kernel void hash_insert(global const int *keys, global int *table, global int *counts, int n,
                        int slots)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    int key = keys[i];
    for (uint at = mixed(key) & (slots - 1);; at = (at + 1) & (slots - 1)) {
        int was = atomic_cmpxchg(&table[at], 0, key);
        if (was == 0 || was == key) {
            atomic_add(&counts[0], was == 0);
            return;
        }
    }
}

kernel void hash_lookup(global const int *keys, global const int *table, global const int *values,
                        global int *out, int n, int slots)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    int key = keys[i], found = -1;
    for (uint at = mixed(key) & (slots - 1); table[at] != 0; at = (at + 1) & (slots - 1))
        if (table[at] == key) {
            found = values[at];
            break;
        }
    out[i] = found;
}
