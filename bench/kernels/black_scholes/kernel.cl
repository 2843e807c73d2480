// European options by the Black-Scholes formula, one per work item.

// The normal distribution's integral, by the polynomial of Abramowitz and Stegun 26.2.17.
static float normal(float x)
{
    float k = 1 / (1 + 0.2316419f * fabs(x));
    float tail = 0.39894228f * exp(-0.5f * x * x) *
                 (k * (0.31938153f +
                       k * (-0.356563782f +
                            k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return x > 0 ? 1 - tail : tail;
}

kernel void black_scholes(global const float *price, global const float *strike,
                          global const float *years, global float *call, global float *put,
                          float rate, float volatility, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    float s = price[i], x = strike[i], t = years[i], root = sqrt(t);
    float d1 = (log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root, n1 = normal(d1), n2 = normal(d2);
    float discounted = x * exp(-rate * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1 - n2) - s * (1 - n1);
}
