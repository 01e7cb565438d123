/* Made by make_dropout.py: jax 0.10.2, flax 0.12.8, optax 0.2.8,
 * numpy 2.4.6.  dropout -1: no key of its own. */
typedef struct golden_dropout {
    ls_keys keys;
    int seed, dropout, micro;
    float loss[6];
} golden_dropout;

static const golden_dropout golden_dropouts[] = {
    {LS_KEYS_NNX, 0, -1, 1,
     {0x1.2ccfa4p+1f, 0x1.07abf2p+1f, 0x1.ee7556p+0f,
      0x1.d0cf6cp+0f, 0x1.aebfe8p+0f, 0x1.b10a6cp+0f}},
    {LS_KEYS_NNX, 5, 7, 1,
     {0x1.ae3448p+0f, 0x1.8ef554p+0f, 0x1.a1ca1p+0f,
      0x1.9c0448p+0f, 0x1.6127b8p+0f, 0x1.799418p+0f}},
    {LS_KEYS_NNX, 0, -1, 3,
     {0x1.10bcecp+1f, 0x1.057108p+1f, 0x1.ab7df2p+0f,
      0x1.0b1c1ap+1f, 0x1.e18f4ep+0f, 0x1.8141bcp+0f}},
    {LS_KEYS_LINEN, 42, -1, 1,
     {0x1.f928bcp+0f, 0x1.d2e0eep+0f, 0x1.ab8f5p+0f,
      0x1.3c9dcep+0f, 0x1.dfc1d8p+0f, 0x1.7b5e48p+0f}},
    {LS_KEYS_LINEN, 42, 9, 1,
     {0x1.cfcc26p+0f, 0x1.088fd8p+1f, 0x1.9c80a4p+0f,
      0x1.72d0dp+0f, 0x1.bf079p+0f, 0x1.5428cp+0f}},
};
