/* Made by make_modern_lm.py (jax 0.10.2, flax 0.12.8, optax
 * 0.2.8, numpy 2.4.6); not edited by hand. */
#ifndef GOLDEN_MODERN_LM_H
#define GOLDEN_MODERN_LM_H

#include <stdint.h>

// clang-format off

/* Tokens are randint (10 batch, length) from data_seed, a new batch each
 * step; sha256 is of the first parameters' values in canonical order. */
typedef struct golden_modern_lm {
    int64_t vocab, length, width;
    int heads, kv;
    int64_t layers, ff, batch;
    int rms, base, gated, tie;
    int64_t seed;
    uint32_t data_seed;
    double lr;
    const char *sha256;
    float loss[10];
} golden_modern_lm;

static const golden_modern_lm golden_modern_lms[] = {
    {37, 12, 24, 6, 2, 2, 40, 6, 1, 10000, 1, 1, 7, 70, 0.001,
     "9399f0836f236afe45094cb36a2ae0961a477d56d8be5581ec816dbc96fbee82", {
         0x1.131456p+2f, 0x1.0cedfcp+2f, 0x1.05360cp+2f, 0x1.0cdcdcp+2f,
         0x1.09762ap+2f, 0x1.f7c1bcp+1f, 0x1.ec77e4p+1f, 0x1.0b0d60p+2f,
         0x1.0868bep+2f, 0x1.f86c62p+1f,
    }},
    {53, 20, 32, 4, 4, 1, 72, 4, 0, 0, 0, 1, 8, 80, 0.001,
     "c481d320593689172df09acdaf8f2f5804f267852753fc584e699c85432641af", {
         0x1.2cb082p+2f, 0x1.27c9a6p+2f, 0x1.14817ep+2f, 0x1.18137cp+2f,
         0x1.15883cp+2f, 0x1.12ab2ap+2f, 0x1.118110p+2f, 0x1.09cc9cp+2f,
         0x1.147226p+2f, 0x1.0eddcap+2f,
    }},
    {29, 18, 20, 2, 1, 1, 31, 4, 0, 500, 1, 0, 9, 90, 0.001,
     "cd2b88667b26601500085e3ecd75ca0df28d5bff2e82cebc8073d56f313a0c13", {
         0x1.e3c212p+1f, 0x1.d1d6f2p+1f, 0x1.f3b172p+1f, 0x1.db5a50p+1f,
         0x1.cfe458p+1f, 0x1.dd86aap+1f, 0x1.cf4458p+1f, 0x1.ea0356p+1f,
         0x1.d43beap+1f, 0x1.e3fe1ap+1f,
    }},
};

// clang-format on

#endif
