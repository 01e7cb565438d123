/* SPDX-License-Identifier: BSD-3-Clause */
/* Operators and layers: what the nodes of a graph compute.  Each is a function
 * from nodes to a node; its comment is its formula, per row. */
#ifndef LOCKSTEP_OPS_H
#define LOCKSTEP_OPS_H

#include <lockstep/norms.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------ Operators and layers ------ */

/* A name that is NULL is "", where it is not said otherwise. */

/* y[..,j] = sum_i x[..,i] w[i,j] + bias[j].  x (..,I) -> (..,n).
 * Parameters "<name>.kernel" (I,n) lecun_normal, "<name>.bias" (n) zeros. */
LS_API ls_node *ls_dense(ls_node *x, int64_t n, const char *name);

/* More of a dense layer, ls_sparse_dense included; ls_dense_defaults() writes
 * what those have. */
typedef struct ls_dense_options {
    size_t size;  /* ls_dense_defaults() writes it */
    bool no_bias; /* y = x w alone, without the parameter "<name>.bias" */
} ls_dense_options;

/* Write the default options into the program's struct of `size` bytes. */
LS_API void ls_dense_defaults_bytes(ls_dense_options *options, size_t size);
static inline ls_dense_options ls_dense_defaults(void)
{
    ls_dense_options o;

    ls_dense_defaults_bytes(&o, sizeof o);
    return o;
}

/* ls_dense with these options, NULL: the defaults. */
LS_API ls_node *ls_dense_with(ls_node *x, int64_t n,
                              const ls_dense_options *options,
                              const char *name);

/* y[..,:] = table[x[..],:].  x (..) of LS_I32 in [0,count) -> (..,width).
 * Parameter "<name>.embedding" (count,width), normal / sqrt(width). */
LS_API ls_node *ls_embed(ls_node *x, int64_t count, int64_t width,
                         const char *name);

/* y[t,:] = x[t,:] + table[t,:].  x (T,D).  Parameter "<name>" (T,D), started
 * from sinusoids (Vaswani et al. 2017, section 3.5) and trained. */
LS_API ls_node *ls_position(ls_node *x, const char *name);

/* Rotary positions (Su et al. 2021) of x (T,D) with D cut into heads of an even
 * width d: element i < d/2 of each head and element i + d/2 are a pair (a,b),
 * which position t turns by the angle w = t base^(-2i/d):
 *
 *     a' = a cos w - b sin w,   b' = b cos w + a sin w
 *
 * The base is above 0, as a rule 10000.  The pairs are halves, as in GPT-NeoX
 * and Llama; angles are rounded to float as programs on PyTorch do.  LS_ESHAPE:
 * heads do not divide D, or d is odd. */
LS_API ls_node *ls_rotary(ls_node *x, int heads, double base);

/* y = silu(x gate) (x up), silu(z) = z / (1 + e^-z): the gated unit of Shazeer
 * 2020.  x (..,I) -> (..,n).  Parameters "<name>.gate.kernel" and
 * "<name>.up.kernel" (I,n) lecun_normal. */
LS_API ls_node *ls_swiglu(ls_node *x, int64_t n, const char *name);

/* Multi-head attention of x (T,D) to itself, every position to every other (no
 * mask) or, with causal, to itself and earlier ones; no biases.
 * Parameters "<name>.query|key|value.kernel" (D,heads,D/heads) and
 * "<name>.out.kernel" (heads,D/heads,D). */
LS_API ls_node *ls_self_attention(ls_node *x, int heads, bool causal,
                                  const char *name);

/* Grouped-query attention (Ainslie et al. 2023): ls_self_attention with
 * kv_heads heads of keys and values, which must divide heads: heads / kv_heads
 * query heads, one after the other, share one.  Where rotary_base is not 0,
 * queries and keys go through ls_rotary.  Parameters "<name>.query.kernel"
 * (D,heads,D/heads), "<name>.key|value.kernel" (D,kv_heads,D/heads) and
 * "<name>.out.kernel". */
LS_API ls_node *ls_grouped_attention(ls_node *x, int heads, int kv_heads,
                                     double rotary_base, bool causal,
                                     const char *name);

/* Multi-head attention of x (T,D) to memory (S,E), another sequence or x
 * itself, under a mask that is an input of the graph or any other node: 1 where
 * a position may look, 0 where not, of a shape that broadcasts to (heads,T,S),
 * as (S) for a memory whose rows are of different lengths, or (T,S).  Anything
 * below 1 is 0, so y is the same on both sides of almost any mask: the gradient
 * by it is 0.  A position that may look nowhere sees the mean of all.  mask
 * NULL: all see all.  No biases.  Parameters "<name>.query.kernel"
 * (D,heads,D/heads), "<name>.key|value.kernel" (E,heads,D/heads) and
 * "<name>.out.kernel" (heads,D/heads,D): linen.MultiHeadDotProductAttention. */
LS_API ls_node *ls_cross_attention(ls_node *x, ls_node *memory, ls_node *mask,
                                   int heads, const char *name);

/* Options of an attention; ls_attention_defaults() writes what
 * ls_self_attention has without a mask.  Each bias is zeros:
 * "<name>.query|key|value.bias" of one number for each output of its kernel,
 * "<name>.out.bias" (D).  dropout: ls_step drops elements of the softmax,
 * (heads,T,S), as ls_dropout with the layer's `name` does: PyTorch's, and
 * Flax's with broadcast_dropout False. */
typedef struct ls_attention_options {
    size_t size; /* ls_attention_defaults() writes it */
    bool causal;
    bool qkv_bias, out_bias;
    int kv_heads;       /* 0: as many as heads; see ls_grouped_attention */
    double rotary_base; /* 0: no rotary positions */
    double dropout;     /* in [0,1) */
} ls_attention_options;

/* Write the default options into the program's struct of `size` bytes. */
LS_API void ls_attention_defaults_bytes(ls_attention_options *options,
                                        size_t size);
static inline ls_attention_options ls_attention_defaults(void)
{
    ls_attention_options o;

    ls_attention_defaults_bytes(&o, sizeof o);
    return o;
}

/* ls_grouped_attention with these options, NULL: the defaults.  With both
 * biases nn.MultiheadAttention. */
LS_API ls_node *ls_attention_with(ls_node *x, int heads,
                                  const ls_attention_options *options,
                                  const char *name);

/* The attention itself, of queries q (T,D) to keys k and values v (T,K), each
 * cut into heads of D/heads: y = softmax(q k^T / sqrt(D/heads)) v in each head,
 * with causal over a position itself and earlier ones.  Where K is less than D
 * heads / (K heads / D) heads of q, one after the other, share one. */
LS_API ls_node *ls_dot_product_attention(ls_node *q, ls_node *k, ls_node *v,
                                         int heads, bool causal);

/* ls_cross_attention with biases and dropout.  LS_EINVAL: a causal mask, heads
 * that are shared or rotary positions, which it does not have. */
LS_API ls_node *ls_cross_attention_with(ls_node *x, ls_node *memory,
                                        ls_node *mask, int heads,
                                        const ls_attention_options *options,
                                        const char *name);

/* ------ Sequences: x (T,I), T steps of a row ------ */

/* A long short-term memory, nnx.OptimizedLSTMCell over all steps, from a state
 * of zeros.  x (T,I) -> y (T,n), y[t] being h after step t:
 *
 *     i, f, g, o = the four parts of x[t] w_i + h w_h + bias, of n each
 *     c = sigmoid(f) c + sigmoid(i) tanh(g),  h = sigmoid(o) tanh(c)
 *
 * Parameters "<name>.dense_i.kernel" (I,4 n) lecun_normal,
 * "<name>.dense_h.kernel" (n,4 n) orthogonal, "<name>.dense_h.bias" (4 n)
 * zeros.  Layers are stacked by giving one's y to the next. */
LS_API ls_node *ls_lstm(ls_node *x, int64_t n, const char *name);

/* A gated recurrent unit, nnx.GRUCell over all steps, from a state of zeros.
 * x (T,I) -> y (T,n), y[t] being h after step t:
 *
 *     xr, xz, xn = the three parts of x[t] w_i + bias, of n each
 *     hr, hz, hn = those of h w_h
 *     r = sigmoid(xr + hr),  z = sigmoid(xz + hz)
 *     h = (1 - z) tanh(xn + r hn) + z h
 *
 * Parameters "<name>.dense_i.kernel" (I,3 n) lecun_normal,
 * "<name>.dense_i.bias" (3 n) zeros, "<name>.dense_h.kernel" (n,3 n)
 * orthogonal. */
LS_API ls_node *ls_gru(ls_node *x, int64_t n, const char *name);

/* Options of a recurrent layer: an initial state, rows of different lengths,
 * and the final state.  ls_recurrent_defaults() writes what ls_lstm and ls_gru
 * have, NULL and false.
 *
 * A stream of steps is predicted piece by piece by giving `last` of one piece
 * as `state` of the next: the bytes are those of one long row. */
typedef struct ls_recurrent_options {
    size_t size;      /* ls_recurrent_defaults() writes it */
    ls_node *state;   /* before the first step: of an LSTM (2,n), c and h as
                         Flax's carry has them, of a GRU (n); NULL: zeros */
    ls_node *lengths; /* one LS_I32 a row, 0 .. T: how many of its steps count.
                         Beyond them y is 0, the state stays, and x, which must
                         be finite, gets no gradient; NULL: all count */
    ls_node **last;   /* NULL, or where the state after the last step that
                         counts goes, of the shape of `state`; NULL goes there
                         where the builder returns NULL */
    bool two_biases;  /* what x and what h is multiplied by has a bias each, as
                         PyTorch's have: a GRU's state too, hr, hz, hn = the
                         parts of h w_h + bias_h, "<name>.dense_h.bias" (3 n)
                         zeros, of which only the last n make it another layer;
                         an LSTM's input too, "<name>.dense_i.bias" (4 n) */
    bool bidirectional; /* a second layer "<name>.reverse" of n units goes
                           through the steps from the last one (of a row's
                           length) to the first: y (T,2n) is the first layer's
                           and then the second's, step by step.  `state` and
                           what goes to `last` have an axis of 2 before theirs,
                           the first layer's in front */
} ls_recurrent_options;

/* Write the default options into the program's struct of `size` bytes. */
LS_API void ls_recurrent_defaults_bytes(ls_recurrent_options *options,
                                        size_t size);
static inline ls_recurrent_options ls_recurrent_defaults(void)
{
    ls_recurrent_options o;

    ls_recurrent_defaults_bytes(&o, sizeof o);
    return o;
}

/* ls_lstm with these options, NULL: the defaults. */
LS_API ls_node *ls_lstm_with(ls_node *x, int64_t n,
                             const ls_recurrent_options *options,
                             const char *name);

/* ls_gru with these options, NULL: the defaults. */
LS_API ls_node *ls_gru_with(ls_node *x, int64_t n,
                            const ls_recurrent_options *options,
                            const char *name);

/* ------ Parameters of one's own ------ */

/* y = a parameter of that shape, the same in every row: a scale, a bias or a
 * matrix for what no layer computes.  Where its shape is to meet another's,
 * ls_broadcast_to repeats it, ls_matmul by itself.  Parameter "<name>" zeros;
 * ls_init_params lets it start otherwise, its last axis being the outputs.  Its
 * value takes memory in every row of a chunk: weights of whole layers are
 * better left to ls_dense.  LS_EINVAL: an empty name, or a rank beyond
 * LS_MAX_RANK - 1. */
LS_API ls_node *ls_parameter(ls_graph *graph, const char *name, int rank,
                             const int64_t *shape);

/* The same of numbers that no optimizer moves (PyTorch's buffers): a mask, a
 * table of sines.  They are zeros until ls_init_params, ls_trainer_set or a
 * file says more. */
LS_API ls_node *ls_buffer(ls_graph *graph, const char *name, int rank,
                          const int64_t *shape);

/* ------ Weights that layers share ------ */

/* Weight tying: the parameter `name` ("head.kernel") of a layer that is built
 * later is parameter `with` ("tok_emb.embedding"), of the same shape; or its
 * transpose, (n,I), for the weights (I,n) of a dense layer: the table of an
 * embedding as the output layer.  It is one parameter in files, hashes and
 * counts, under the name `with`, and draws no random numbers of its own.  Its
 * gradient is summed over its layers, last built first, within each
 * chunk of rows.  LS_ENOTFOUND: no layer has declared `with`; LS_EINVAL: `name`
 * is there, or tied, already; LS_ENOMEM.  The builder of the layer fails with
 * LS_ESHAPE where shapes differ, and a trainer or predictor with LS_EINVAL when
 * no layer has declared `name` after all.  Without this call a name that stands
 * there twice is an error. */
LS_API int ls_tie(ls_graph *graph, const char *name, const char *with,
                  bool transposed);

/* ------ Names of others ------ */

/* The parameter `name` ("fc.kernel") of a layer that is built later is called
 * `as` ("fc.weight") instead, in files, patterns and messages.  LS_EINVAL: a
 * layer has declared `name` already, or `as` is empty; LS_ENOMEM. */
LS_API int ls_rename(ls_graph *graph, const char *name, const char *as);

/* ------ Images: x (H,W,C), channels last ------ */

/* The mean or the largest of each channel of a whole image is ls_mean_over or
 * ls_max_over with the axes 0 and 1. */

/* A window that moves over an image.  Padding is JAX's, on each axis of size
 * `in` with window k and stride s:
 *
 *     LS_SAME   out = ceil(in / s); of P = max((out - 1) s + k - in, 0) missing
 *               pixels P / 2 (rounded down) are before the image, the rest
 *               after it
 *     LS_VALID  out = (in - k) / s + 1, rounded down; k > in is LS_ESHAPE
 *     LS_CAUSAL out = ceil(in / s); k - 1 pixels before the image, none after
 *               it: what comes out at i s depends on no later pixel
 *     LS_EXPLICIT  as many as ls_conv_options or ls_pooling_options say */
typedef enum ls_padding {
    LS_SAME, LS_VALID, LS_CAUSAL, LS_EXPLICIT
} ls_padding;

/* The size of a window, how far it moves, and its padding. */
typedef struct ls_window {
    int64_t height, width;
    int64_t stride_y, stride_x; /* 0: 1 */
    ls_padding padding;
} ls_window;

/* y[i,j,o] = bias[o] + sum_{a,b,c} x[i s_y + a - top, j s_x + b - left, c]
 * w[a,b,c,o], pixels outside x being 0 (no flip: a cross-correlation).
 * x (H,W,C) -> (out_y,out_x,n).  Parameters "<name>.kernel" (height,width,C,n)
 * lecun_normal, "<name>.bias" (n) zeros: nnx.Conv. */
LS_API ls_node *ls_conv2d(ls_node *x, int64_t n, ls_window window,
                          const char *name);

/* Options of a convolution; ls_conv_defaults() writes what ls_conv2d has,
 * LS_SAME and ones.  Taps are `dilation` pixels apart: a window k wide covers
 * (k - 1) dilation + 1, which stands for k in the formulas of padding.  Groups
 * of channels, one after the other, make equally many outputs each and must
 * divide both.  As many groups as channels: a depthwise convolution.  With
 * LS_EXPLICIT, `top`, `bottom`, `left` and `right` are pixels of zeros around
 * the image, and out = (in + both - covered) / s + 1, rounded down; else they
 * are 0. */
typedef struct ls_conv_options {
    size_t size; /* ls_conv_defaults() writes it */
    ls_padding padding;
    bool no_bias;
    int64_t groups;                   /* 0: 1 */
    int64_t stride_y, stride_x;       /* 0: 1 */
    int64_t dilation_y, dilation_x;   /* 0: 1 */
    int64_t top, bottom, left, right; /* LS_EXPLICIT */
} ls_conv_options;

/* Write the default options into the program's struct of `size` bytes. */
LS_API void ls_conv_defaults_bytes(ls_conv_options *options, size_t size);
static inline ls_conv_options ls_conv_defaults(void)
{
    ls_conv_options o;

    ls_conv_defaults_bytes(&o, sizeof o);
    return o;
}

/* A convolution of x (H,W,C) with a window of height by width and these
 * options, NULL: the defaults.  With dilations d and groups of q = C / groups
 * channels,
 *
 *     y[i,j,o] = bias[o] + sum_{a,b,c<q}
 *         x[i s_y + a d_y - top, j s_x + b d_x - left, o / (n / groups) q + c]
 *         w[a,b,c,o]
 *
 * with o / (n / groups) rounded down.  Parameters "<name>.kernel"
 * (height,width,q,n) lecun_normal, "<name>.bias" (n) zeros: nnx.Conv with
 * kernel_dilation, feature_group_count and padding.  LS_ESHAPE: groups that do
 * not divide C and n, or a window that covers more than the padded image;
 * LS_EINVAL: sizes out of range, or pixels without LS_EXPLICIT.  With bf16
 * layers, dilated and grouped ones are done by im2col; a depthwise one
 * (n = C = groups) rounds what it multiplies, and sums as f32. */
LS_API ls_node *ls_conv2d_with(ls_node *x, int64_t n, int64_t height,
                               int64_t width, const ls_conv_options *options,
                               const char *name);

/* ls_conv2d_with over the steps of x (T,C), an image of height 1: the window
 * has width, stride_x, dilation_x, left and right.  The options for y must stay
 * as they are: LS_EINVAL. */
LS_API ls_node *ls_conv1d_with(ls_node *x, int64_t n, int64_t width,
                               const ls_conv_options *options,
                               const char *name);

/* A convolution over steps: y[t,o] = bias[o] + sum_{a,c} x[t stride + a -
 * before, c] w[a,c,o], steps outside x being 0.  x (T,C) -> (out,n).  It is
 * ls_conv2d on an image of height 1, so "<name>.kernel" is (1,width,C,n):
 * nnx.Conv's with an axis more.  stride 0: 1. */
LS_API ls_node *ls_conv1d(ls_node *x, int64_t n, int64_t width,
                          int64_t stride, ls_padding padding,
                          const char *name);

/* y[i,j,c] = the largest x in the window; its gradient goes to the first of
 * equals, by rows.  Pixels outside x count as -infinity; NaN stays NaN. */
LS_API ls_node *ls_max_pool(ls_node *x, ls_window window);

/* y[i,j,c] = sum of x over the window / (height width); pixels outside x count
 * as 0 (nnx.avg_pool). */
LS_API ls_node *ls_avg_pool(ls_node *x, ls_window window);

/* Options of a pooling; ls_pooling_defaults() writes what ls_max_pool has,
 * LS_SAME and ones.  Dilation, and pixels with LS_EXPLICIT, are as in
 * ls_conv_options.  ceil_mode: where LS_VALID or LS_EXPLICIT would leave pixels
 * over, one window more hangs over, unless it would begin behind the image
 * (with `before` pixels of padding, from in + before on): PyTorch's ceil_mode.
 * exclude_padding: ls_avg_pool_with divides by the pixels of the image in each
 * window, count_include_pad=False; else by those of the image and its padding,
 * without those that a window hangs over. */
typedef struct ls_pooling_options {
    size_t size; /* ls_pooling_defaults() writes it */
    ls_padding padding;
    bool ceil_mode, exclude_padding;
    int64_t stride_y, stride_x;       /* 0: 1 */
    int64_t dilation_y, dilation_x;   /* 0: 1; ls_max_pool_with alone */
    int64_t top, bottom, left, right; /* LS_EXPLICIT */
} ls_pooling_options;

/* Write the default options into the program's struct of `size` bytes. */
LS_API void ls_pooling_defaults_bytes(ls_pooling_options *options,
                                      size_t size);
static inline ls_pooling_options ls_pooling_defaults(void)
{
    ls_pooling_options o;

    ls_pooling_defaults_bytes(&o, sizeof o);
    return o;
}

/* ls_max_pool of windows of height by width with these options, NULL: the
 * defaults.  nn.MaxPool2d's padding p is top = bottom = left = right = p.
 * LS_ESHAPE: the image is too small, or a window would hold none of its pixels;
 * LS_EINVAL: sizes out of range, or pixels without LS_EXPLICIT. */
LS_API ls_node *ls_max_pool_with(ls_node *x, int64_t height, int64_t width,
                                 const ls_pooling_options *options);

/* The same of ls_avg_pool: nn.AvgPool2d.  LS_EINVAL: a dilation too. */
LS_API ls_node *ls_avg_pool_with(ls_node *x, int64_t height, int64_t width,
                                 const ls_pooling_options *options);

/* Upsampling by nearest neighbours: y[i,j,c] = x[i / high, j / wide, c].
 * x (H,W,C) -> (H high, W wide, C).  A reshape, ls_broadcast_to and a reshape.
 * LS_ESHAPE. */
LS_API ls_node *ls_upsample(ls_node *x, int64_t high, int64_t wide);

/* A transposed convolution, which makes images larger: ls_conv2d with stride 1
 * of x with zeros between its pixels, stride_y - 1 and stride_x - 1, and
 * around them as jax.lax.conv_transpose has them.  x (H,W,C) -> (H stride_y,
 * W stride_x, n) with LS_SAME; with LS_VALID more by height - stride_y and
 * width - stride_x, where these are above 0.  Parameters as ls_conv2d's:
 * nnx.ConvTranspose; torch.nn.ConvTranspose2d has the window turned round by
 * both axes.  LS_ESHAPE; LS_EINVAL: LS_EXPLICIT. */
LS_API ls_node *ls_conv2d_transpose(ls_node *x, int64_t n, ls_window window,
                                    const char *name);

/* x (..) -> (size of a row), the last axis fastest. */
LS_API ls_node *ls_flatten(ls_node *x);

/* ------ Activations, sums, outputs ------ */

/* y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
LS_API ls_node *ls_gelu(ls_node *x);

/* y = max(0, x), 0 for -0, NaN for NaN; its derivative at 0 is 0. */
LS_API ls_node *ls_relu(ls_node *x);

/* y = tanh(x). */
LS_API ls_node *ls_tanh(ls_node *x);

/* y = 1 / (1 + e^-x). */
LS_API ls_node *ls_sigmoid(ls_node *x);

/* y = a + b, equal shapes. */
LS_API ls_node *ls_add(ls_node *a, ls_node *b);

/* Dropout: in ls_step, each element is x / (1 - rate) with probability 1 -
 * rate, else 0 (Srivastava et al. 2014); ls_evaluate and ls_predict pass x
 * through.  rate in [0,1); 0 is x itself.  Element i of a micro-batch (its rows
 * one after the other) is kept where element i of jax.random.uniform is below 1
 * - rate, with Flax's key for the layer in this call of the model, call number
 * step x micro-batches + micro-batch: the bits depend on no device or worker,
 * and a resumed run needs no more than its step.  See ls_trainer_options for
 * the keys; with linen's, name is the layer's path, "blocks_0.Dropout_0". */
LS_API ls_node *ls_dropout(ls_node *x, double rate, const char *name);

/* y = x rounded to bfloat16 (8 bits of mantissa, to nearest, ties to even; NaN
 * stays NaN).  Its gradient is rounded in the same way, as in
 * JAX's cast. */
LS_API ls_node *ls_round_bf16(ls_node *x);

/* ------ Losses: one number a row, and how many terms it sums ------ */

/* sum_j (y[j] - target[j])^2 over all elements of a row, each a term. */
LS_API ls_node *ls_mean_squared_error(ls_node *y, ls_node *target);

/* -log softmax(logits)[label], a term for each label.  logits (..,V), labels
 * (..) of LS_I32 in [0,V).  Also counts the labels that are the argmax, the
 * first of equals: the accuracy.  Labels below 0 (-1, -100) are ignored: they
 * add no loss, no weight and no gradient.  If any other operator reads the same
 * input, a batch with a negative label is LS_ERANGE. */
LS_API ls_node *ls_cross_entropy(ls_node *logits, ls_node *labels);

/* ls_cross_entropy of the logits (T,V) at each position t and the token (T) at
 * t + 1: T - 1 terms. */
LS_API ls_node *ls_next_token_loss(ls_node *logits, ls_node *tokens);

#ifdef __cplusplus
}
#endif

#endif
