/* Made by make_small_lm.py (jax 0.10.2, flax 0.12.8, optax 0.2.8,
 * numpy 2.4.6); not edited by hand. */
#ifndef GOLDEN_SMALL_LM_H
#define GOLDEN_SMALL_LM_H

#include <stdint.h>

// clang-format off

/* Tokens are randint (10 batch, length) from data_seed, a new batch each
 * step; sha256 is of the first parameters' values in canonical order. */
typedef struct golden_small_lm {
    int64_t vocab, length, width, heads, layers, ff, batch;
    int64_t seed;
    uint32_t data_seed;
    double lr;
    const char *sha256;
    float loss[10];
} golden_small_lm;

static const golden_small_lm golden_small_lms[] = {
    {37, 12, 24, 3, 2, 40, 6, 7, 70, 0.001,
     "74d69d601e61fd141b22a382461dcd89c4a3a352d22b738eaad2a6ad30d3153a", {
         0x1.fbcc9cp+1f, 0x1.ed13fep+1f, 0x1.00360ep+2f, 0x1.e91b66p+1f,
         0x1.f38edap+1f, 0x1.f07df2p+1f, 0x1.e9ed8cp+1f, 0x1.f1b77ep+1f,
         0x1.d06e1ap+1f, 0x1.e550dep+1f,
    }},
    {53, 300, 40, 5, 1, 72, 2, 8, 80, 0.001,
     "27ca16b77038a125b6a49cd8f4650519ad1fb2292635a0391582a47a773e33ee", {
         0x1.1c500ep+2f, 0x1.1a95c8p+2f, 0x1.16ee28p+2f, 0x1.12b7d2p+2f,
         0x1.11cd3ep+2f, 0x1.0c6a90p+2f, 0x1.0f6cecp+2f, 0x1.0b9fd2p+2f,
         0x1.0970b2p+2f, 0x1.0927fcp+2f,
    }},
};

// clang-format on

#endif
