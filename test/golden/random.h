/* Made by make_random.py from the JAX fixtures (jax 0.10.2, flax 0.12.8,
 * numpy 2.4.6); not edited by hand. */
#ifndef GOLDEN_RANDOM_H
#define GOLDEN_RANDOM_H

#include <stdint.h>

// clang-format off

/* Keys are two words each, of PRNGKey(42) unless the name says otherwise. */

static const uint32_t golden_split[] = {
    0x6d3e048f, 0x1022172d, 0x03d7b32d, 0xadd083f4, 0x92fb20ea, 0x0f38d913,
};

static const uint32_t golden_fold_in_7[] = {
    0x97d0552f, 0x51bf719f,
};

static const uint32_t golden_bits[] = {
    0x7d1c13a2, 0xae0730d9, 0x9dc3f9f9, 0x8f9ec1d7,
};

static const uint32_t golden_nnx_keys_of_0[] = {
    0x6b200159, 0x99ba4efe, 0x375f238f, 0xcddb151d, 0xf71f4ea9, 0xa20e4081,
};

static const float golden_uniform[] = {
    0x1.f47048p-2f, 0x1.5c0e6p-1f, 0x1.3b87fp-1f, 0x1.1f3d8p-1f,
};

static const float golden_uniform_1_1[] = {
    -0x1.71f7p-6f, 0x1.70398p-2f, 0x1.dc3f8p-3f, 0x1.f3d8p-4f,
};

static const float golden_normal[] = {
    -0x1.cfbe2ap-6f, 0x1.de57dp-2f, 0x1.2eccc2p-2f, 0x1.3a7648p-3f,
};

static const float golden_truncated[] = {
    -0x1.baa368p-6f, 0x1.c70bc4p-2f, 0x1.20a462p-2f, 0x1.2c0c6ap-3f,
};

static const int64_t golden_randint[] = {
    44, 14, 71, 69, 9, 19, 77, 7,
};

static const int64_t golden_bernoulli[] = {
    1, 0, 0, 0, 1, 0, 1, 0,
};

static const int64_t golden_permutation[] = {
    7, 4, 2, 5, 3, 6, 8, 9, 0, 1,
};

static const float golden_erf_inv[][2] = {
    {0x0p+0f, 0x0p+0f}, {0x1.0624dep-10f, 0x1.d0a364p-11f},
    {0x1p-2f, 0x1.cd706ap-3f}, {0x1p-1f, 0x1.e861fcp-2f},
    {-0x1.8p-1f, -0x1.a0789p-1f}, {0x1.ep-1f, 0x1.5130c2p+0f},
    {0x1.ff8p-1f, 0x1.2a6d88p+1f}, {0x1.fffffep-1f, 0x1.ea8f94p+1f},
};

static const float golden_log1p[][2] = {
    {-0x1p-4f, -0x1.08598cp-4f}, {-0x1p-2f, -0x1.26962p-2f},
    {-0x1p-1f, -0x1.62e43p-1f}, {-0x1.ep-1f, -0x1.62e43p+1f},
};

/* Initial values of one layer made with nnx.Rngs(0). */
static const float golden_nnx_linear_3_2[] = {
    0x1.3c591ep-1f, -0x1.1ea79p-1f, -0x1.db98fcp-2f, -0x1.6e1bcp-1f,
    -0x1.13e2f8p-1f, 0x1.77b2eap-2f,
};

static const float golden_nnx_embed_4_3[] = {
    0x1.28ca3ap-1f, -0x1.0bea92p-1f, -0x1.ba530cp-2f, -0x1.5a428ep-1f,
    -0x1.018a1p-1f, 0x1.5c2p-2f, 0x1.abfe02p-2f, -0x1.2f2b94p-1f,
    0x1.eb2ecap-1f, -0x1.177f24p+0f, -0x1.7d035ep-1f, 0x1.3bf50ap-4f,
};

/* Keys of parameters in linen scopes, root PRNGKey(42). */
static const struct { const char *scope; uint32_t word[2]; } golden_linen[] = {
    {"tok_emb", {0xc6a612c1, 0xc405b01b}}, {"", {0x958ad7cc, 0x040d5416}},
    {"blocks_0.SelfAttention_0.query", {0x62dcc72f, 0xb8923241}},
    {"blocks_0.Dense_0", {0x98868d01, 0x5b182b75}},
    {"blocks_3.SelfAttention_0.out", {0x47b9d688, 0xf58eddc4}},
    {"head", {0x15081608, 0x88b1de33}},
};

/* 1 - b^n for n = 1, 2, 10. */
static const float golden_bias_0_9[] = {
    0x1.9999ap-4f, 0x1.851ecp-3f, 0x1.4d7a08p-1f,
};

static const float golden_bias_0_999[] = {
    0x1.0624p-10f, 0x1.0602p-9f, 0x1.46348p-7f,
};

/* RandomState(seed in the name). */
static const int64_t golden_mt_raw_1234[] = {
    822569775, 2137449171, 2671936806, 3512589365,
};

static const int64_t golden_mt_randint_1234[] = {
    303, 211, 294, 53, 204, 372, 152, 505,
};

static const float golden_mt_rand_7[] = {
    0x1.388f0ap-4f, 0x1.8f5184p-1f, 0x1.c0ee5ap-2f,
};

static const float golden_mt_randn_100[] = {
    -0x1.bff0a2p+0f, 0x1.5ee79cp-2f, 0x1.272d5ap+0f,
};

static const int64_t golden_mt_permutation_0[] = {
    6, 2, 1, 7, 3, 0, 5, 4,
};

static const int64_t golden_mt_wide_5[] = {
    622681974857, -1064766111004, 2093353043902, 667240942192,
    1780206554832, 1133831942348, 780178485223, -752394635237,
};

/* SHA-256 of RandomState(0): rand(5001) as float64, permutation(4001),
 * and of RandomState(1234).randint(0, 512, (8192, 64), int32), the tokens
 * of the lm. */
static const char *const golden_mt_sha[] = {
    "34888fcd700da5c596278a011ee340d4d61ec7afa94291f840c9686ee0630206",
    "7ca9e99c3937faa5752e6cfc7bbe4df955fb388930ae56610d4aeb234ae7caa8",
    "e668d460037933b9613647b8059a960ed0bbb90e5e61824664a798ea2a165e64",
};

/* Linear regression: nnx.Linear's initial weights, and the data as float32;
 * SHA-256 of little-endian float32. */
static const struct { int64_t seed; uint32_t data_seed; int64_t n, d_in, d_out;
    const char *kernel, *x, *y; } golden_linear[] = {
    {0, 100, 8, 3, 2,
     "b0ed1eab9c1332d4cd37ade7a830eddc84e7f29b158ef31a2006558de2901fea",
     "9647f1c27ea87c6bd2e91fdca6681375f060d213a96dfa6a12ae362e71acf257",
     "e36730a908d9e480e4d74971f4e4ef5e4cba9ad792d90b291d0ad43eb1cd4fd4"},
    {0, 100, 8, 3, 2,
     "b0ed1eab9c1332d4cd37ade7a830eddc84e7f29b158ef31a2006558de2901fea",
     "9647f1c27ea87c6bd2e91fdca6681375f060d213a96dfa6a12ae362e71acf257",
     "e36730a908d9e480e4d74971f4e4ef5e4cba9ad792d90b291d0ad43eb1cd4fd4"},
    {0, 100, 8, 3, 2,
     "b0ed1eab9c1332d4cd37ade7a830eddc84e7f29b158ef31a2006558de2901fea",
     "9647f1c27ea87c6bd2e91fdca6681375f060d213a96dfa6a12ae362e71acf257",
     "e36730a908d9e480e4d74971f4e4ef5e4cba9ad792d90b291d0ad43eb1cd4fd4"},
    {0, 100, 8, 3, 2,
     "b0ed1eab9c1332d4cd37ade7a830eddc84e7f29b158ef31a2006558de2901fea",
     "9647f1c27ea87c6bd2e91fdca6681375f060d213a96dfa6a12ae362e71acf257",
     "e36730a908d9e480e4d74971f4e4ef5e4cba9ad792d90b291d0ad43eb1cd4fd4"},
    {1, 101, 16, 4, 1,
     "794040b2350218a22e502cc06a330e023e2e40bf68c7c67fb7b2125621ab6e6a",
     "62fd71540351d2e9b3c26651fd5d129aa358e232eb80e29ddb7a9e068e548a0a",
     "959bc35dbdcaffd4141a956f7e3132381a7c3adc882fadbe80e0a7e6085e9afe"},
    {42, 102, 64, 16, 8,
     "83a2eb5925b5a6f74af7c5b4e9e33673289085c052f6e0ef2201c59cd15b13d1",
     "fb622b4fcde571e09e1916176a9a87ffa292e9b23c53fe59e1a2a936754d688d",
     "97efa75a1d186a0574909f5ab12bf29cc75e7ac0d86d0322af1391d5bf6b3ae8"},
    {7, 103, 32, 1, 1,
     "0c60d45664d73ec517dd7534f493208c001d0f80317ccc17af9db8e5ae65f32e",
     "a79b03a90e6312fcc12f2147cbad3f227d244ee7057d9faa29d73e9c77586d93",
     "48b5eb6827aceabbf51c9a1ab9e618c36749633dc1761b0868cea7c097c7f2a3"},
    {123456789, 104, 24, 10, 5,
     "9c6fb68a4467583f84d8dfc25e2471f6b64541247fefa8ffe4d72ebe041c0c18",
     "c8ba2924820ced35e10227b3b5f64c5c92e94c9084460ad8b920e092bb4f06df",
     "062c3aba45332ce694a7e53efc9c2c77cc8efe3ed866ca6495a4a5523fa1362b"},
    {2147483647, 105, 128, 64, 32,
     "2f6f9e89dc12173320092666000ccb065270fb528848f9a95d94d45e982c94f1",
     "6ebb69b5fb7b710b6de9712a93b07fd7b305e0f4e15ce801984147402bd9845a",
     "9f3133bdd45438ff0cf63189884655700ae271e8c7274498427a192c0c74dc59"},
    {3, 106, 8, 5, 7,
     "0d481ead6cebc88e6dc99e3466db1799bef0389582097acd79bc9ed496039781",
     "1bd6e8453fcb52e9fc178d9297dfb5bcda6d7c2bdef6d6e546b46a9d81e79569",
     "d41e51b7c9db574f684966736a635447d92cbca20b9bea8b0e439a2ea1547ecd"},
    {11, 107, 256, 33, 17,
     "742077784aee86e71455aa6adb95e5c376349f8d534bfab44994e40ad2c8a47a",
     "39addaf7ac20a21124d4f668a3930cacb5e872b8e4c9f996d802c6f799c33486",
     "09002823494a3e2bb8a7b8dd86f159bf105f6561f47beb1965bb664992e282ba"},
};

/* The cnn and the lm: initial parameters. */
static const struct { const char *name; int rank; int64_t shape[4];
    const char *sha; } golden_cnn[] = {
    {"conv1.kernel", 4, {3, 3, 3, 32},
     "1bbe6d791825a3fa8aabcad51dff16891b7a98e9851412a1636bf2385eac4e08"},
    {"conv1.bias", 1, {32},
     "38723a2e5e8a17aa7950dc008209944e898f69a7bd10a23c839d341e935fd5ca"},
    {"conv2.kernel", 4, {3, 3, 32, 64},
     "f32137e499f0f7b7d0a40a3e78bb4b81025819c6ce0ea3098fb0a5b541ff936b"},
    {"conv2.bias", 1, {64},
     "5341e6b2646979a70e57653007a1f310169421ec9bdd9f1a5648f75ade005af1"},
    {"dense.kernel", 2, {4096, 10},
     "3318e0cb1ec89598d2fde2e78a332b3e565678e989a16d3ffd2175e1cd4d3e8c"},
    {"dense.bias", 1, {10},
     "2c34ce1df23b838c5abf2a7f6437cca3d3067ed509ff25f11df6b11b582b51eb"},
};

static const struct { const char *name; int rank; int64_t shape[4];
    const char *sha; } golden_lm[] = {
    {"blocks_0.Dense_0.bias", 1, {1024},
     "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7"},
    {"blocks_0.Dense_0.kernel", 2, {256, 1024},
     "a7c01d05d60742a7de6650812dbf4cb7f0b97d6149003e135aff89d5fa54d167"},
    {"blocks_0.Dense_1.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_0.Dense_1.kernel", 2, {1024, 256},
     "6718eae4b12710f0721520796f27474505d69a50d4dc3fe816379d67ddd9fed3"},
    {"blocks_0.LayerNorm_0.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_0.LayerNorm_0.scale", 1, {256},
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_0.LayerNorm_1.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_0.LayerNorm_1.scale", 1, {256},
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_0.SelfAttention_0.key.kernel", 3, {256, 8, 32},
     "48ddfcf434f724a8ebebbf9ed959e4a97a34cd14b3f0792c581ac18cea97fabd"},
    {"blocks_0.SelfAttention_0.out.kernel", 3, {8, 32, 256},
     "1e302f5034944e84596f4dbb74aeee7d976b174fa7fbf3913c36343656b17e9d"},
    {"blocks_0.SelfAttention_0.query.kernel", 3, {256, 8, 32},
     "37849ebda401516f79fe29767a858ca0cedcba0b27c53c24c70cb3624f57dd5f"},
    {"blocks_0.SelfAttention_0.value.kernel", 3, {256, 8, 32},
     "36a530e4f1fe2eb4f00801ff73d6a7ed32285234df969067e95914de61cf71f2"},
    {"blocks_1.Dense_0.bias", 1, {1024},
     "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7"},
    {"blocks_1.Dense_0.kernel", 2, {256, 1024},
     "15bf0a64d1d081cd57f83abcf40c332acd7429ee69c5ef977f9758524b0e577c"},
    {"blocks_1.Dense_1.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_1.Dense_1.kernel", 2, {1024, 256},
     "2996eee4524a75d3523bcc096f83a604591e039956cc69a6015ed961c7174447"},
    {"blocks_1.LayerNorm_0.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_1.LayerNorm_0.scale", 1, {256},
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_1.LayerNorm_1.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_1.LayerNorm_1.scale", 1, {256},
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_1.SelfAttention_0.key.kernel", 3, {256, 8, 32},
     "05832fd3205e17d9af389e19d5007d40d5e3692f7e540f3011e4debc9176eb9f"},
    {"blocks_1.SelfAttention_0.out.kernel", 3, {8, 32, 256},
     "c8a63c1ec342ea8933521bdee01aa86a536b6e571a503f189037c7827824240c"},
    {"blocks_1.SelfAttention_0.query.kernel", 3, {256, 8, 32},
     "5d303ef9d76756bdfb54df80be50d77fe0d185e18a0782c6862bf8196a82b3d5"},
    {"blocks_1.SelfAttention_0.value.kernel", 3, {256, 8, 32},
     "3b674dec8ff03685b567f13ee945db4bd90d0362fcf239125a2f571b7181701f"},
    {"blocks_2.Dense_0.bias", 1, {1024},
     "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7"},
    {"blocks_2.Dense_0.kernel", 2, {256, 1024},
     "9aaf3ea4b7d8fda86cf64fae8c1ce24db869b543a5f36f418e441cd4b1ce8f3e"},
    {"blocks_2.Dense_1.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_2.Dense_1.kernel", 2, {1024, 256},
     "91a53a2d1f5c5d91587b36578588d55f70865ccfe9be1f53d73ad5426b6ac5d3"},
    {"blocks_2.LayerNorm_0.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_2.LayerNorm_0.scale", 1, {256},
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_2.LayerNorm_1.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_2.LayerNorm_1.scale", 1, {256},
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_2.SelfAttention_0.key.kernel", 3, {256, 8, 32},
     "e1717f1019dbbe308c5799d842ea7018fbce57987fb1327bb1b1824a92a627e2"},
    {"blocks_2.SelfAttention_0.out.kernel", 3, {8, 32, 256},
     "5092b153aedd1b17c4ad89768b8b4c36bc258e2ff8e7c8b7ea7fedb09a1d5301"},
    {"blocks_2.SelfAttention_0.query.kernel", 3, {256, 8, 32},
     "901335d4393e46aa5a909582162be6a29267d34d7563c94d99ea04895044de00"},
    {"blocks_2.SelfAttention_0.value.kernel", 3, {256, 8, 32},
     "3ec204c672dda52878b34725d6cc21d7e65010968c44afb2ad5f9098f5f6bc77"},
    {"blocks_3.Dense_0.bias", 1, {1024},
     "ad7facb2586fc6e966c004d7d1d16b024f5805ff7cb47c7a85dabd8b48892ca7"},
    {"blocks_3.Dense_0.kernel", 2, {256, 1024},
     "8e6406f8bcdb43c58c021df9b947c6419f912288f75db9552f063905c3091697"},
    {"blocks_3.Dense_1.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_3.Dense_1.kernel", 2, {1024, 256},
     "959af2f9ea7b5a0d8c999da0ab7997784e04f9b2e10bda68dd77b4405760ed4e"},
    {"blocks_3.LayerNorm_0.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_3.LayerNorm_0.scale", 1, {256},
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_3.LayerNorm_1.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"blocks_3.LayerNorm_1.scale", 1, {256},
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"blocks_3.SelfAttention_0.key.kernel", 3, {256, 8, 32},
     "c4b5e854a35d93191340b3802a407c0badd24d00504e2b70fa2f85382e85013f"},
    {"blocks_3.SelfAttention_0.out.kernel", 3, {8, 32, 256},
     "293a0164cf48a344e98c486531aca33372f7e36e4c7f95c7bcb5aa47cba00a1c"},
    {"blocks_3.SelfAttention_0.query.kernel", 3, {256, 8, 32},
     "20d3a3e8b81302ea301b3196a26af8a2b0eb8b0d19167c73d65f97f8238b0367"},
    {"blocks_3.SelfAttention_0.value.kernel", 3, {256, 8, 32},
     "47b2cbb3669ac45669af1466d58c06d048c56eb2e3d97cd773a0ef067e8b407f"},
    {"head.kernel", 2, {256, 512},
     "697a0b09f1906c642fe2848c267d08bf4c697bb7d7cbdfc0b3af9af3528b5eb0"},
    {"ln_f.bias", 1, {256},
     "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef"},
    {"ln_f.scale", 1, {256},
     "893a106828fbdb9521e1d868c985aab7ad2ae2f606edc55329265a5e7676006c"},
    {"pos_emb", 2, {64, 256},
     "601aa639033801823095122dd8fb985fdd20591514c7e86ee481b271b6035d0f"},
    {"tok_emb.embedding", 2, {512, 256},
     "f0ba6d8571c974230eceb17f588410fee4b43c48f1741ea5449f6047d9d1b2ee"},
};

// clang-format on

#endif
