// Rays through a picture against spheres; what is hit is lit and mirrors once.
kernel void rays(global const float4 *spheres, global float *out, int width, int count)
{
    int x = get_global_id(0), y = get_global_id(1);
    float3 d = (float3)((x + 0.5f) / width - 0.5f, (y + 0.5f) / width - 0.5f, 1), o = 0;
    float light = 0, share = 1;
    d *= rsqrt(dot(d, d));
    for (int bounce = 0; bounce < 2; bounce++) {
        float best = 1e30f;
        int which = -1;
        for (int s = 0; s < count; s++) {
            float4 p = spheres[s];
            float3 l = p.xyz - o;
            float along = dot(l, d), rest = p.w * p.w - (dot(l, l) - along * along);
            if (along <= 0 || rest <= 0)
                continue;
            float t = along - sqrt(rest);
            if (t > 1e-3f && t < best) {
                best = t;
                which = s;
            }
        }
        if (which < 0)
            break;
        float4 s = spheres[which];
        o += best * d;
        float3 n = (o - s.xyz) / s.w;
        light += share * fmax(0.0f, 0.6f * n.x - 0.48f * n.y - 0.64f * n.z);
        d -= 2 * dot(d, n) * n;
        share *= 0.5f;
    }
    out[y * width + x] = light;
}
