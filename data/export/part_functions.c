/* SPDX-License-Identifier: BSD-3-Clause */
/* == horner: fma == */
/* c[0] x^(n-1) + ... + c[n-1] */
static float horner(float x, const float *c, int n)
{
    float p = c[0];
    int i;

    for (i = 1; i < n; i++)
        p = fused(p, x, c[i]);
    return p;
}

/* == size: numbers == */
static float size_of(float x)
{
    return number(bits(x) & 0x7fffffffu);
}

/* == lower: start == */
/* The lesser; b where one is NaN or both are equal. */
static float lower(float a, float b)
{
    return a < b ? a : b;
}

/* == upper: start == */
/* The greater, likewise. */
static float upper(float a, float b)
{
    return b < a ? a : b;
}

/* == clamp: lower upper == */
/* x within [low, high]; NaN stays. */
static float clamp(float x, float low, float high)
{
    return lower(high, upper(low, x));
}

/* == exp: mul add horner clamp == */
/* e^x = (1 + y) 2^n with n = round(x / ln 2): gives y, and 2^n as *power. */
static float exp_parts(float x, float *power)
{
    static const float c[] = {0x1.a0d2cep-13f, 0x1.6e879cp-10f, 0x1.11121p-7f,
                              0x1.555382p-5f,  0x1.555554p-3f,  0x1p-1f};
    float n, r;
    int whole;

    if (x != x) {
        *power = x;
        return x;
    }
    x = clamp(x, -87.8f, 88.8f);
    r = fused(x, 0x1.715476p+0f, 0.5f);
    whole = (int)r;
    whole -= (float)whole > r;
    whole = whole < -127 ? -127 : whole > 127 ? 127 : whole;
    n = (float)whole;
    r = fused(-n, 0x1.63p-1f, x);
    r = fused(-n, -0x1.bd0106p-13f, r);
    *power = number((uint32_t)(whole + 127) << 23);
    return fused(horner(r, c, 6), mul(r, r), r);
}

static float e_to(float x)
{
    float power, y = exp_parts(x, &power);

    return mul(add(y, 1.0f), power);
}

/* == expm1: sub exp == */
static float e_to_less_1(float x)
{
    float power, y = exp_parts(x, &power);

    return fused(y, power, sub(power, 1.0f));
}

/* == tanh: mul div horner size clamp == */
/* A rational function of x; x itself near 0, +-1 from 20 on. */
static float tangent(float x)
{
    static const float num[] = {-0x1.3e4b8p-52f, 0x1.c266fcp-43f,
                                -0x1.7a6ffep-34f, 0x1.b80082p-25f,
                                0x1.f28694p-17f, 0x1.4e1bdap-11f,
                                0x1.40b3b8p-8f};
    static const float den[] = {0x1.41a7bp-20f, 0x1.f12bacp-14f,
                                0x1.29540ap-9f, 0x1.40b3bap-8f};
    float v = clamp(x, -0x1.ffec88p+2f, 0x1.ffec88p+2f), z = mul(v, v);

    if (size_of(x) < 4e-4f)
        return x;
    if (size_of(x) >= 20.0f)
        return number(0x3f800000u | (bits(x) & 0x80000000u));
    return divide(mul(v, horner(z, num, 7)), horner(z, den, 4));
}

/* == log: mul sub horner == */
static float logarithm(float x)
{
    static const float ca[] = {0x1.204376p-4f, -0x1.d7a37p-4f, 0x1.de4a34p-4f};
    static const float cb[] = {-0x1.fcba9ep-4f, 0x1.23d37ep-3f, -0x1.555cap-3f};
    static const float cc[] = {0x1.999d58p-3f, -0x1.fffff8p-3f, 0x1.555554p-2f};
    float e, m, t, z, c, p, q, r;
    int low;

    if (x == 0)
        return number(0xff800000u);
    if (!(x > 0) || exponent(x) == 255)
        return x > 0 ? x : number(0x7fc00000u);
    e = (float)(exponent(x) - 127);
    m = number((bits(x) & 0x807fffffu) | 0x3f000000u);
    low = m < 0x1.6a09e6p-1f;
    e = sub(add(e, 1.0f), low ? 1.0f : 0);
    t = add(sub(m, 1.0f), low ? m : 0);
    z = mul(t, t);
    c = mul(z, t);
    p = fused(horner(t, ca, 3), c, horner(t, cb, 3));
    p = fused(p, c, horner(t, cc, 3));
    q = fused(c, p, mul(e, -0x1.bd0106p-13f));
    r = add(fused(-0.5f, z, t), q);
    return fused(e, 0x1.63p-1f, r);
}

/* == log1p: div size log == */
/* log(1 + x), by a rational function for |x| < sqrt(2) - 1. */
static float log_1_and(float x)
{
    static const float num[] = {0x1.7bc096p-15f, 0x1.fe818ap-2f,
                                0x1.a509f4p+2f, 0x1.de9738p+4f,
                                0x1.e798ecp+5f, 0x1.c8e75ap+5f,
                                0x1.40a202p+4f};
    static const float den[] = {0x1p+0f, 0x1.e2035ap+3f, 0x1.4c30b6p+6f,
                                0x1.bb865ap+7f, 0x1.351946p+8f,
                                0x1.b0db14p+7f, 0x1.e0f304p+5f};
    float x2, x3, r;

    if (!(size_of(x) < 0x1.a8279ap-2f))
        return logarithm(add(x, 1.0f));
    x2 = mul(x, x);
    x3 = mul(x, x2);
    r = divide(horner(x, num, 7), horner(x, den, 7));
    return add(x, fused(-0.5f, x2, mul(x3, r)));
}

/* == log_tail: exp log1p == */
/* log(1 + e^-|x|) */
static float log_tail(float x)
{
    return log_1_and(e_to(-size_of(x)));
}

/* == relu: start == */
/* max(0,x): what is positive and counts, and NaN. */
static float relu(float x)
{
    uint32_t u = bits(x);

    return number(u & all_if((u - 0x800000u < 0x7f800000u) |
                             (u > 0xff800000u)));
}

/* == sigmoid: div exp == */
static float sigmoid(float x)
{
    return divide(1.0f, add(1.0f, e_to(-x)));
}

/* == gelu: add tanh == */
/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
static float gelu(float x)
{
    float u = mul(mul(x, x), x);
    float t = tangent(mul(0x1.988454p-1f, fused(0.044715f, u, x)));

    return mul(mul(0.5f, x), add(1.0f, t));
}

/* == silu: sigmoid == */
static float silu(float x)
{
    return mul(x, sigmoid(x));
}

/* == softplus: log_tail == */
static float softplus(float x)
{
    return add(upper(0, x), log_tail(x));
}

/* == leaky_relu: mul == */
static float leaky_relu(float x, float slope)
{
    return x < 0 ? mul(slope, x) : x;
}

/* == elu: expm1 == */
static float elu(float x, float alpha)
{
    return 0 < x ? x : mul(alpha, e_to_less_1(x));
}

/* == pow: div exp log == */
/* x^p; a whole power by squaring. */
static float power(float x, float p)
{
    float y = 1.0f;
    int n;

    if (!(p > -0x1p20f && p < 0x1p20f && p == (float)(int)p))
        return e_to(mul(p, logarithm(x)));
    for (n = p < 0 ? -(int)p : (int)p; n; n >>= 1) {
        if (n & 1)
            y = mul(y, x);
        x = mul(x, x);
    }
    return p < 0 ? divide(1.0f, y) : y;
}

/* == lesser: lower == */
/* The lesser of two; NaN where either is. */
static float lesser(float a, float b)
{
    return a == a ? lower(a, b) : a;
}

/* == greater: upper == */
static float greater(float a, float b)
{
    return a == a ? upper(a, b) : a;
}

/* == binary_entropy: log_tail == */
static float binary_entropy(float x, float t)
{
    return add(sub(upper(0, x), mul(x, t)), log_tail(x));
}

/* == divergence: log == */
static float divergence(float x, float t)
{
    return t == 0 ? 0 : mul(t, sub(logarithm(t), x));
}

/* == round_bf16: numbers == */
static float round_bf16(float x)
{
    uint32_t u = bits(x);

    if (x != x)
        return number((u & 0xffff0000u) | 0x400000);
    return number((u + (u >> 16 & 1) + 0x7fff) & 0xffff0000u);
}

/* == sine: mul size horner == */
/* x = n pi/2 + r for |x| of 2^16 or more, n modulo 4: the mantissa times 96
 * bits of 2/pi. */
static float far_turn(float x, int *n)
{
    static const uint32_t two_by_pi[] = {0,          0xa2f9836e, 0x4e441529,
                                         0xfc2757d1, 0xf534ddc0, 0xdb629599,
                                         0x3c439041, 0xfe5163ab};
    int at = exponent(x) - 120, k;
    uint64_t w[3], m = mantissa(x), turn;
    EXACT double r;

    for (k = 0; k < 3; k++) {
        const uint32_t *from = two_by_pi + at / 32 + k;

        w[k] = ((uint64_t)from[0] << 32 | from[1]) >> (32 - at % 32) &
               0xffffffffu;
    }
    turn = (m * w[0] << 32) + m * w[1] + (m * w[2] >> 32);
    *n = (int)((turn + ((uint64_t)1 << 61)) >> 62);
    turn -= (uint64_t)*n << 62;
    r = turn >> 63 ? -(double)(uint64_t)-turn : (double)turn;
    r = r * 0x1.921fb54442d18p-62;
    *n = x < 0 ? -*n : *n;
    return x < 0 ? -(float)r : (float)r;
}

/* The same of any x that is finite. */
static float quarter_turns(float x, int *n)
{
    float k, r;

    if (size_of(x) >= 0x1p16f)
        return far_turn(x, n);
    r = fused(x, 0x1.45f306p-1f, 0.5f);
    *n = (int)r;
    *n -= (float)*n > r;
    k = -(float)*n;
    r = fused(k, 0x1.921fb4p+0f, x);
    r = fused(k, 0x1.4442dp-24f, r);
    return fused(k, 0x1.846988p-48f, r);
}

/* sin(x + more pi/2) */
static float sine(float x, int more)
{
    static const float of_sine[] = {-0x1.9907fcp-13f, 0x1.1106bp-7f,
                                    -0x1.555544p-3f};
    static const float of_cosine[] = {0x1.998f92p-16f, -0x1.6c0af2p-10f,
                                      0x1.555548p-5f};
    float r, z, y;
    int n;

    if (exponent(x) == 255)
        return number(0x7fc00000u);
    if (x == 0 && !more)
        return x;
    r = quarter_turns(x, &n);
    n = (n + more) & 3;
    z = mul(r, r);
    if (n & 1)
        y = fused(mul(z, z), horner(z, of_cosine, 3),
                  fused(-0.5f, z, 1.0f));
    else
        y = fused(mul(r, z), horner(z, of_sine, 3), r);
    return number(bits(y) ^ (uint32_t)(n & 2) << 30);
}

/* == selu: mul expm1 == */
static float selu(float x)
{
    return 0 < x ? mul(0x1.0cfabep+0f, x)
                 : mul(0x1.c212ccp+0f, e_to_less_1(x));
}

/* == mish: mul add div exp lower == */
/* x n / (n + 2) with n = e^x (e^x + 2) */
static float mish(float x)
{
    float e = e_to(lower(20.0f, x)), n = mul(e, add(e, 2.0f));

    return mul(x, divide(n, add(n, 2.0f)));
}

/* == gelu_exact: mul sub div exp size lower == */
/* x times the chance of a normal number to be below x. */
static float gelu_exact(float x)
{
    static const float c[] = {
        0x1.0fa3f6p-6f, -0x1.013224p-4f, 0x1.a721aap-5f, 0x1.d1e842p-6f,
        0x1.a0832cp-7f, 0x1.62f2fp-4f,   0x1.26e89ep-4f, 0x1.873b8ep-4f,
        0x1.97858p-4f,  0x1.989142p-4f};
    float u = lower(14.0f, size_of(x));
    float t = divide(1.0f, fused(0.25f, u, 1.0f)), square = mul(u, u);
    float low = fused(u, u, -square), e = e_to(mul(-0.5f, square)), p;

    e = fused(e, mul(-0.5f, low), e);
    p = mul(e, mul(horner(t, c, 10), t));
    return mul(x, x < 0 ? p : sub(1.0f, p));
}
