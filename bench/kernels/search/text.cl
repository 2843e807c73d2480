// Searching: places of a word in a text, edit distances by wavefronts in local memory.
kernel void find_word(global const uchar *text, global const uchar *word, global int *count, int n,
                      int length)
{
    int i = get_global_id(0);
    if (i + length > n)
        return;
    int k = 0;
    while (k < length && text[i + k] == word[k])
        k++;
    if (k == length)
        atomic_add(count, 1);
}

kernel void edit(global const uchar *a, global const uchar *b, global int *distance)
{
    local int line[3][129];
    local uchar other[128];
    int t = get_local_id(0), pair = get_group_id(0);
    uchar mine = a[pair * 128 + t];
    other[t] = b[pair * 128 + t];
    if (t == 0)
        line[0][0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d <= 256; d++) {
        local int *now = line[d % 3], *last = line[(d + 2) % 3], *before = line[(d + 1) % 3];
        int i = t + 1, j = d - i;
        if (j >= 1 && j <= 128)
            now[i] = min(min(last[i - 1], last[i]) + 1, before[i - 1] + (mine != other[j - 1]));
        else if (j == 0)
            now[i] = d;
        if (t == 0 && d <= 128)
            now[0] = d;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 127)
        distance[pair] = line[1][128];
}
