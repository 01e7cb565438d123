/* Made by make_train.py from the JAX fixtures (jax 0.10.2, flax 0.12.8,
 * optax 0.2.8, numpy 2.4.6); not edited by hand. */
#ifndef GOLDEN_TRAIN_H
#define GOLDEN_TRAIN_H

#include <stdint.h>

// clang-format off

/* Linear regression: 20 steps on one batch, randn x then y from data_seed. */
typedef struct golden_linear {
    int64_t seed;
    uint32_t data_seed;
    int64_t rows, d_in, d_out;
    int devices;
    double lr;
} golden_linear;

static const golden_linear golden_linears[] = {
    {0, 100, 8, 3, 2, 1, 0.1},
    {0, 100, 8, 3, 2, 2, 0.1},
    {0, 100, 8, 3, 2, 4, 0.1},
    {0, 100, 8, 3, 2, 8, 0.1},
    {1, 101, 16, 4, 1, 4, 0.05},
    {42, 102, 64, 16, 8, 8, 0.01},
    {7, 103, 32, 1, 1, 2, 0.5},
    {123456789, 104, 24, 10, 5, 3, 0.02},
    {2147483647, 105, 128, 64, 32, 8, 0.1},
    {3, 106, 8, 5, 7, 8, 0.0},
    {11, 107, 256, 33, 17, 4, 0.2},
};

/* The lm's parameters in canonical order, and the SHA-256 of their first
 * values as little-endian floats. */
typedef struct golden_array {
    const char *name;
    int64_t size;
    const char *sha256;
} golden_array;

static const golden_array golden_lm_arrays[] = {
    {"blocks_0.Dense_0.bias", 1024,
     "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7"},
    {"blocks_0.Dense_0.kernel", 262144,
     "a7c01d05d60742a7de6650812dbf4cb7f0b97d6149003e135aff89d5fa54d167"},
    {"blocks_0.Dense_1.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_0.Dense_1.kernel", 262144,
     "6718eae4b12710f0721520796f27474505d69a50d4dc3fe816379d67ddd9fed3"},
    {"blocks_0.LayerNorm_0.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_0.LayerNorm_0.scale", 256,
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_0.LayerNorm_1.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_0.LayerNorm_1.scale", 256,
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_0.SelfAttention_0.key.kernel", 65536,
     "48ddfcf434f724a8ebebbf9ed959e4a97a34cd14b3f0792c581ac18cea97fabd"},
    {"blocks_0.SelfAttention_0.out.kernel", 65536,
     "1e302f5034944e84596f4dbb74aeee7d976b174fa7fbf3913c36343656b17e9d"},
    {"blocks_0.SelfAttention_0.query.kernel", 65536,
     "37849ebda401516f79fe29767a858ca0cedcba0b27c53c24c70cb3624f57dd5f"},
    {"blocks_0.SelfAttention_0.value.kernel", 65536,
     "36a530e4f1fe2eb4f00801ff73d6a7ed32285234df969067e95914de61cf71f2"},
    {"blocks_1.Dense_0.bias", 1024,
     "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7"},
    {"blocks_1.Dense_0.kernel", 262144,
     "15bf0a64d1d081cd57f83abcf40c332acd7429ee69c5ef977f9758524b0e577c"},
    {"blocks_1.Dense_1.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_1.Dense_1.kernel", 262144,
     "2996eee4524a75d3523bcc096f83a604591e039956cc69a6015ed961c7174447"},
    {"blocks_1.LayerNorm_0.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_1.LayerNorm_0.scale", 256,
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_1.LayerNorm_1.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_1.LayerNorm_1.scale", 256,
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_1.SelfAttention_0.key.kernel", 65536,
     "05832fd3205e17d9af389e19d5007d40d5e3692f7e540f3011e4debc9176eb9f"},
    {"blocks_1.SelfAttention_0.out.kernel", 65536,
     "c8a63c1ec342ea8933521bdee01aa86a536b6e571a503f189037c7827824240c"},
    {"blocks_1.SelfAttention_0.query.kernel", 65536,
     "5d303ef9d76756bdfb54df80be50d77fe0d185e18a0782c6862bf8196a82b3d5"},
    {"blocks_1.SelfAttention_0.value.kernel", 65536,
     "3b674dec8ff03685b567f13ee945db4bd90d0362fcf239125a2f571b7181701f"},
    {"blocks_2.Dense_0.bias", 1024,
     "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7"},
    {"blocks_2.Dense_0.kernel", 262144,
     "9aaf3ea4b7d8fda86cf64fae8c1ce24db869b543a5f36f418e441cd4b1ce8f3e"},
    {"blocks_2.Dense_1.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_2.Dense_1.kernel", 262144,
     "91a53a2d1f5c5d91587b36578588d55f70865ccfe9be1f53d73ad5426b6ac5d3"},
    {"blocks_2.LayerNorm_0.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_2.LayerNorm_0.scale", 256,
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_2.LayerNorm_1.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_2.LayerNorm_1.scale", 256,
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_2.SelfAttention_0.key.kernel", 65536,
     "e1717f1019dbbe308c5799d842ea7018fbce57987fb1327bb1b1824a92a627e2"},
    {"blocks_2.SelfAttention_0.out.kernel", 65536,
     "5092b153aedd1b17c4ad89768b8b4c36bc258e2ff8e7c8b7ea7fedb09a1d5301"},
    {"blocks_2.SelfAttention_0.query.kernel", 65536,
     "901335d4393e46aa5a909582162be6a29267d34d7563c94d99ea04895044de00"},
    {"blocks_2.SelfAttention_0.value.kernel", 65536,
     "3ec204c672dda52878b34725d6cc21d7e65010968c44afb2ad5f9098f5f6bc77"},
    {"blocks_3.Dense_0.bias", 1024,
     "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7"},
    {"blocks_3.Dense_0.kernel", 262144,
     "8e6406f8bcdb43c58c021df9b947c6419f912288f75db9552f063905c3091697"},
    {"blocks_3.Dense_1.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_3.Dense_1.kernel", 262144,
     "959af2f9ea7b5a0d8c999da0ab7997784e04f9b2e10bda68dd77b4405760ed4e"},
    {"blocks_3.LayerNorm_0.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_3.LayerNorm_0.scale", 256,
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_3.LayerNorm_1.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_3.LayerNorm_1.scale", 256,
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_3.SelfAttention_0.key.kernel", 65536,
     "c4b5e854a35d93191340b3802a407c0badd24d00504e2b70fa2f85382e85013f"},
    {"blocks_3.SelfAttention_0.out.kernel", 65536,
     "293a0164cf48a344e98c486531aca33372f7e36e4c7f95c7bcb5aa47cba00a1c"},
    {"blocks_3.SelfAttention_0.query.kernel", 65536,
     "20d3a3e8b81302ea301b3196a26af8a2b0eb8b0d19167c73d65f97f8238b0367"},
    {"blocks_3.SelfAttention_0.value.kernel", 65536,
     "47b2cbb3669ac45669af1466d58c06d048c56eb2e3d97cd773a0ef067e8b407f"},
    {"head.kernel", 131072,
     "697a0b09f1906c642fe2848c267d08bf4c697bb7d7cbdfc0b3af9af3528b5eb0"},
    {"ln_f.bias", 256,
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"ln_f.scale", 256,
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"pos_emb", 16384,
     "601aa639033801823095122dd8fb985fdd20591514c7e86ee481b271b6035d0f"},
    {"tok_emb.embedding", 131072,
     "f0ba6d8571c974230eceb17f588410fee4b43c48f1741ea5449f6047d9d1b2ee"},
};

// clang-format on

#endif
