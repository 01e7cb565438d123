/* Made by make_cnn.py from the JAX fixtures and with jax 0.10.2, flax
 * 0.12.8, optax 0.2.8, numpy 2.4.6; not edited by hand. */
#ifndef GOLDEN_CNN_H
#define GOLDEN_CNN_H

#include <stdint.h>

// clang-format off

/* 20 steps of batch 128 on each number of devices; its
 * parameters in canonical order, and the SHA-256 of their first values as
 * little-endian floats. */
typedef struct golden_cnn_run {
    int devices;
    float loss[20], accuracy[20];
} golden_cnn_run;

static const golden_cnn_run golden_cnn_runs[] = {
    {1, {
         0x1.2ef714p+1f, 0x1.697064p+1f, 0x1.349e8ep+1f, 0x1.327ep+1f,
         0x1.39a226p+1f, 0x1.39222p+1f, 0x1.31b694p+1f, 0x1.2597a4p+1f,
         0x1.3285e8p+1f, 0x1.2ca438p+1f, 0x1.2a358ap+1f, 0x1.2a6a08p+1f,
         0x1.267a7ep+1f, 0x1.2aeae6p+1f, 0x1.266e66p+1f, 0x1.28401ep+1f,
         0x1.2651b8p+1f, 0x1.25344ap+1f, 0x1.258306p+1f, 0x1.267b86p+1f,
    }, {
         0x1.2p-4f, 0x1.6p-4f, 0x1.5p-3f, 0x1.4p-4f,
         0x1.1p-3f, 0x1.cp-5f, 0x1.6p-4f, 0x1.5p-3f,
         0x1.4p-4f, 0x1.8p-4f, 0x1.ap-4f, 0x1.ap-4f,
         0x1.cp-4f, 0x1.ap-4f, 0x1.ep-4f, 0x1.8p-4f,
         0x1p-3f, 0x1.4p-3f, 0x1p-3f, 0x1p-3f,
    }},
    {2, {
         0x1.2ef714p+1f, 0x1.697064p+1f, 0x1.349e8cp+1f, 0x1.327ep+1f,
         0x1.39a226p+1f, 0x1.39222p+1f, 0x1.31b692p+1f, 0x1.2597a4p+1f,
         0x1.3285e8p+1f, 0x1.2ca438p+1f, 0x1.2a3588p+1f, 0x1.2a6a08p+1f,
         0x1.267a7ep+1f, 0x1.2aeae4p+1f, 0x1.266e68p+1f, 0x1.28401cp+1f,
         0x1.2651b8p+1f, 0x1.25344ap+1f, 0x1.258306p+1f, 0x1.267b86p+1f,
    }, {
         0x1.2p-4f, 0x1.6p-4f, 0x1.5p-3f, 0x1.4p-4f,
         0x1.1p-3f, 0x1.cp-5f, 0x1.6p-4f, 0x1.5p-3f,
         0x1.4p-4f, 0x1.8p-4f, 0x1.ap-4f, 0x1.ap-4f,
         0x1.cp-4f, 0x1.ap-4f, 0x1.ep-4f, 0x1.8p-4f,
         0x1p-3f, 0x1.4p-3f, 0x1p-3f, 0x1p-3f,
    }},
    {4, {
         0x1.2ef718p+1f, 0x1.697064p+1f, 0x1.349e8ep+1f, 0x1.327dfep+1f,
         0x1.39a228p+1f, 0x1.39222p+1f, 0x1.31b694p+1f, 0x1.2597a4p+1f,
         0x1.3285eap+1f, 0x1.2ca43ap+1f, 0x1.2a3588p+1f, 0x1.2a6a08p+1f,
         0x1.267a7cp+1f, 0x1.2aeae6p+1f, 0x1.266e68p+1f, 0x1.28401ep+1f,
         0x1.2651b8p+1f, 0x1.25344ap+1f, 0x1.258306p+1f, 0x1.267b86p+1f,
    }, {
         0x1.2p-4f, 0x1.6p-4f, 0x1.5p-3f, 0x1.4p-4f,
         0x1.1p-3f, 0x1.cp-5f, 0x1.6p-4f, 0x1.5p-3f,
         0x1.4p-4f, 0x1.8p-4f, 0x1.ap-4f, 0x1.ap-4f,
         0x1.cp-4f, 0x1.ap-4f, 0x1.ep-4f, 0x1.8p-4f,
         0x1p-3f, 0x1.4p-3f, 0x1p-3f, 0x1p-3f,
    }},
    {8, {
         0x1.2ef716p+1f, 0x1.697064p+1f, 0x1.349e8ep+1f, 0x1.327dfep+1f,
         0x1.39a224p+1f, 0x1.39222p+1f, 0x1.31b694p+1f, 0x1.2597a2p+1f,
         0x1.3285e8p+1f, 0x1.2ca43ap+1f, 0x1.2a3588p+1f, 0x1.2a6a08p+1f,
         0x1.267a7cp+1f, 0x1.2aeae6p+1f, 0x1.266e68p+1f, 0x1.28401ep+1f,
         0x1.2651b6p+1f, 0x1.253448p+1f, 0x1.258306p+1f, 0x1.267b86p+1f,
    }, {
         0x1.2p-4f, 0x1.6p-4f, 0x1.5p-3f, 0x1.4p-4f,
         0x1.1p-3f, 0x1.cp-5f, 0x1.6p-4f, 0x1.5p-3f,
         0x1.4p-4f, 0x1.8p-4f, 0x1.ap-4f, 0x1.ap-4f,
         0x1.cp-4f, 0x1.ap-4f, 0x1.ep-4f, 0x1.8p-4f,
         0x1p-3f, 0x1.4p-3f, 0x1p-3f, 0x1p-3f,
    }},
};

typedef struct golden_cnn_array {
    const char *name;
    int64_t size;
    const char *sha256;
} golden_cnn_array;

static const golden_cnn_array golden_cnn_arrays[] = {
    {"conv1.bias", 32,
     "38723a2e5e8a17aa7950dc008209944e898f69a7bd10a23c839d341e935fd5ca"},
    {"conv1.kernel", 864,
     "1bbe6d791825a3fa8aabcad51dff16891b7a98e9851412a1636bf2385eac4e08"},
    {"conv2.bias", 64,
     "5341e6b2646979a70e57653007a1f310169421ec9bdd9f1a5648f75ade005af1"},
    {"conv2.kernel", 18432,
     "f32137e499f0f7b7d0a40a3e78bb4b81025819c6ce0ea3098fb0a5b541ff936b"},
    {"dense.bias", 10,
     "2c34ce1df23b838c5abf2a7f6437cca3d3067ed509ff25f11df6b11b582b51eb"},
    {"dense.kernel", 40960,
     "3318e0cb1ec89598d2fde2e78a332b3e565678e989a16d3ffd2175e1cd4d3e8c"},
};

/* Other networks, 10 steps; layers are named "layer<i>" by their place, the
 * dense one at the end "dense".  sha256 is of all first parameters' values in
 * canonical order. */
typedef enum golden_kind {
    GOLDEN_CONV, GOLDEN_MAX, GOLDEN_AVG, GOLDEN_NORM, GOLDEN_RELU, GOLDEN_END
} golden_kind;

typedef struct golden_layer {
    golden_kind kind;
    int64_t n; /* channels or groups */
    int64_t kh, kw, sy, sx;
    int padding; /* 0 SAME, 1 VALID */
} golden_layer;

typedef struct golden_net {
    int64_t image[3], classes, batch;
    int64_t seed;
    uint32_t data_seed;
    golden_layer layer[8];
    const char *sha256;
    float loss[10];
} golden_net;

static const golden_net golden_nets[] = {
    {{9, 14, 1}, 3, 12, 1, 11,
     {{GOLDEN_CONV, 5, 3, 3, 1, 1, 0},
      {GOLDEN_RELU, 0, 0, 0, 0, 0, 0},
      {GOLDEN_MAX, 0, 2, 2, 2, 2, 1},
      {GOLDEN_CONV, 17, 3, 3, 1, 1, 0},
      {GOLDEN_RELU, 0, 0, 0, 0, 0, 0},
      {GOLDEN_MAX, 0, 2, 2, 2, 2, 1},
      {GOLDEN_END, 0, 0, 0, 0, 0, 0}},
     "c5b40e69dfe5bacb6ef4dbf3a1502e260d2627f1229f0c75d73ac21862374205", {
         0x1.4638eep+0f, 0x1.35b878p+0f, 0x1.2088d8p+0f, 0x1.14886p+0f,
         0x1.11d84cp+0f, 0x1.11843cp+0f, 0x1.21b39ep+0f, 0x1.14c436p+0f,
         0x1.217608p+0f, 0x1.1badc8p+0f,
    }},
    {{17, 7, 5}, 7, 18, 2, 12,
     {{GOLDEN_CONV, 33, 3, 3, 1, 1, 0},
      {GOLDEN_RELU, 0, 0, 0, 0, 0, 0},
      {GOLDEN_MAX, 0, 2, 2, 2, 2, 1},
      {GOLDEN_CONV, 6, 3, 3, 1, 1, 0},
      {GOLDEN_RELU, 0, 0, 0, 0, 0, 0},
      {GOLDEN_END, 0, 0, 0, 0, 0, 0}},
     "9b2de1e9f5c2df0cd9388e24786a22fc1111979fbb7b83ed80be626f4474c53c", {
         0x1.003c1cp+1f, 0x1.0f4a68p+1f, 0x1.ff3bep+0f, 0x1.f54708p+0f,
         0x1.fa6ac4p+0f, 0x1.f4299ap+0f, 0x1.ff47fcp+0f, 0x1.f99b2ep+0f,
         0x1.f76ea4p+0f, 0x1.f34bdap+0f,
    }},
    {{15, 12, 3}, 4, 6, 3, 13,
     {{GOLDEN_CONV, 12, 5, 3, 2, 1, 0},
      {GOLDEN_NORM, 4, 0, 0, 0, 0, 0},
      {GOLDEN_RELU, 0, 0, 0, 0, 0, 0},
      {GOLDEN_AVG, 0, 3, 2, 1, 2, 0},
      {GOLDEN_CONV, 8, 2, 4, 1, 1, 0},
      {GOLDEN_MAX, 0, 3, 3, 2, 2, 0},
      {GOLDEN_CONV, 10, 2, 2, 2, 1, 1},
      {GOLDEN_END, 0, 0, 0, 0, 0, 0}},
     "23c4b981194c37cfdec06a5ca209296070a912a341e237d319b5044a86e4dbe3", {
         0x1.52d4ep+0f, 0x1.6ee0ap+0f, 0x1.958e58p+0f, 0x1.628a66p+0f,
         0x1.59bfacp+0f, 0x1.6b40c8p+0f, 0x1.68bea4p+0f, 0x1.68a68p+0f,
         0x1.66d1e6p+0f, 0x1.5ca4e6p+0f,
    }},
    {{11, 11, 2}, 5, 6, 4, 14,
     {{GOLDEN_CONV, 6, 4, 4, 3, 2, 0},
      {GOLDEN_MAX, 0, 2, 3, 1, 2, 0},
      {GOLDEN_RELU, 0, 0, 0, 0, 0, 0},
      {GOLDEN_CONV, 9, 1, 1, 1, 1, 1},
      {GOLDEN_NORM, 3, 0, 0, 0, 0, 0},
      {GOLDEN_AVG, 0, 2, 2, 1, 1, 1},
      {GOLDEN_END, 0, 0, 0, 0, 0, 0}},
     "d7639be5ccc99cc466047277209cac3b393f04dfe94e72a53f4cd9cf6d1885dc", {
         0x1.467b16p+1f, 0x1.ee729ep+0f, 0x1.d95a86p+0f, 0x1.3fe436p+0f,
         0x1.978a44p+0f, 0x1.2ef14p+1f, 0x1.e810ccp+0f, 0x1.11e494p+1f,
         0x1.bb07d8p+0f, 0x1.b2366ep+0f,
    }},
};

// clang-format on

#endif
