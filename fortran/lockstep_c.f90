! SPDX-License-Identifier: BSD-3-Clause
! What the headers of lockstep declare, for lockstep.f90.  Written by
! fortran/declare.py.
module lockstep_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  integer, parameter :: LS_ENOMEM = -1
  integer, parameter :: LS_EINVAL = -2
  integer, parameter :: LS_ESHAPE = -3
  integer, parameter :: LS_ERANGE = -4
  integer, parameter :: LS_ENONFINITE = -5
  integer, parameter :: LS_EIO = -6
  integer, parameter :: LS_EFORMAT = -7
  integer, parameter :: LS_ETHREAD = -8
  integer, parameter :: LS_ENOTFOUND = -9
  integer, parameter :: LS_EUSER = -10
  integer, parameter :: LS_ENOTSUP = -11
  integer, parameter :: LS_EBUSY = -12
  integer, parameter :: LS_EDIFFERS = -13
  integer, parameter :: LS_F32 = 1
  integer, parameter :: LS_I32 = 2
  integer, parameter :: LS_F64 = 3
  integer, parameter :: LS_I64 = 4
  integer, parameter :: LS_U8 = 5
  integer, parameter :: LS_MAX_RANK = 8
  integer, parameter :: LS_TEXT = 256
  integer, parameter :: LS_UNEVEN_ERROR = 0
  integer, parameter :: LS_UNEVEN_PAD = 1
  integer, parameter :: LS_UNEVEN_CUT = 2
  integer, parameter :: LS_METRICS = 8
  integer, parameter :: LS_CONSTANT = 0
  integer, parameter :: LS_LINEAR = 1
  integer, parameter :: LS_COSINE = 2
  integer, parameter :: LS_EXPONENTIAL = 3
  integer, parameter :: LS_PIECEWISE = 4
  integer, parameter :: LS_POLYNOMIAL = 5
  integer, parameter :: LS_RESTARTS = 6
  integer, parameter :: LS_ONE_CYCLE = 7
  integer, parameter :: LS_LINEAR_ONE_CYCLE = 8
  integer, parameter :: LS_WARM_RESTARTS = 9
  integer, parameter :: LS_COSLOG = 10
  integer, parameter :: LS_FLAT_COSINE = 11
  integer, parameter :: LS_F32_LAYERS = 0
  integer, parameter :: LS_BF16_LAYERS = 1
  integer, parameter :: LS_F32X3_LAYERS = 2
  integer, parameter :: LS_F32X6_LAYERS = 3
  integer, parameter :: LS_MEAN_EXACT = 0
  integer, parameter :: LS_MEAN_OF_SHARDS = 1
  integer, parameter :: LS_SUM = 2
  integer, parameter :: LS_REPLICATE = 0
  integer, parameter :: LS_SHARD = 1
  integer, parameter :: LS_KEYS_NNX = 0
  integer, parameter :: LS_KEYS_LINEN = 1
  integer, parameter :: LS_ROWS_ALL = 0
  integer, parameter :: LS_ROWS_MOVED = 1
  integer, parameter :: LS_ROWS_KEPT = 2
  integer, parameter :: LS_REDUCE_MEAN = 1
  integer, parameter :: LS_REDUCE_SUM = 2
  integer, parameter :: LS_UNIFORM = 0
  integer, parameter :: LS_NORMAL = 1
  integer, parameter :: LS_TRUNCATED_NORMAL = 2
  integer, parameter :: LS_FAN_IN = 0
  integer, parameter :: LS_FAN_OUT = 1
  integer, parameter :: LS_FAN_AVERAGE = 2
  integer, parameter :: LS_INIT_LAYER = 0
  integer, parameter :: LS_INIT_OWN = 5
  integer, parameter :: LS_SAVE_MODEL = 0
  integer, parameter :: LS_SAVE_ADAPTERS = 1
  integer, parameter :: LS_SAVE_MERGED = 2
  integer, parameter :: LS_STATISTICS_STORED = 0
  integer, parameter :: LS_STATISTICS_OF_SHARD = 1
  integer, parameter :: LS_STATISTICS_OF_BATCH = 2
  integer, parameter :: LS_SAME = 0
  integer, parameter :: LS_VALID = 1
  integer, parameter :: LS_CAUSAL = 2
  integer, parameter :: LS_EXPLICIT = 3
  integer, parameter :: LS_OWN_INPUTS = 3
  integer, parameter :: LS_STATE_PARAMS = 1
  integer, parameter :: LS_STATE_OPTIMIZER = 2
  integer, parameter :: LS_STATE_ALL = 3
  integer, parameter :: LS_BAG_SUM = 0
  integer, parameter :: LS_BAG_MEAN = 1
  integer, parameter :: LS_TRANSCRIPT_TEXT = 512
  integer, parameter :: LS_RECORD_TEXT = 512
  integer, parameter :: LS_RANK_SOUND = 0
  integer, parameter :: LS_RANK_DIES = 1
  integer, parameter :: LS_RANK_STALLS = 2
  integer, parameter :: LS_RANK_LIES = 3

  type, bind(c) :: c_array_spec
    type(c_ptr) :: name
    integer(c_int) :: dtype
    integer(c_int) :: rank
    integer(c_int64_t) :: shape(8)
  end type c_array_spec

  type, bind(c) :: c_array
    type(c_ptr) :: name
    integer(c_int) :: dtype
    integer(c_int) :: rank
    integer(c_int64_t) :: shape(8)
    type(c_ptr) :: data
  end type c_array

  type, bind(c) :: c_setting
    type(c_ptr) :: name
    type(c_ptr) :: value
  end type c_setting

  type, bind(c) :: ls_optimizer
    integer(c_int) :: kind
    real(c_double) :: lr
    real(c_double) :: momentum
    real(c_double) :: b1
    real(c_double) :: b2
    real(c_double) :: eps
    real(c_double) :: weight_decay
    real(c_double) :: decay
    real(c_double) :: l2
    real(c_double) :: initial_accumulator
    logical(c_bool) :: lazy
    real(c_double) :: room(8)
  end type ls_optimizer

  type, bind(c) :: c_group
    type(c_ptr) :: names
    logical(c_bool) :: vectors
    logical(c_bool) :: frozen
    real(c_double) :: rate
    real(c_double) :: decay
    real(c_double) :: room(8)
  end type c_group

  type, bind(c) :: ls_boundary
    integer(c_int64_t) :: update
    real(c_double) :: factor
  end type ls_boundary

  type, bind(c) :: ls_schedule
    integer(c_int) :: kind
    integer(c_int64_t) :: warmup
    integer(c_int64_t) :: decay_steps
    real(c_double) :: decay_rate
    real(c_double) :: end_lr
    integer(c_int) :: n_boundaries
    type(c_ptr) :: boundaries
    real(c_double) :: power
    integer(c_int64_t) :: cycle_factor
    real(c_double) :: restart_factor
    real(c_double) :: pct_start
    real(c_double) :: div_factor
    real(c_double) :: final_div_factor
    real(c_double) :: pct_final
    integer(c_int64_t) :: cycles
    real(c_double) :: room(7)
  end type ls_schedule

  type, bind(c) :: c_mesh_options
    integer(c_size_t) :: size
    integer(c_int) :: devices
    integer(c_int) :: workers
    type(c_ptr) :: axes
    type(c_ptr) :: topology
    type(c_ptr) :: cpus
    logical(c_bool) :: details
    type(c_ptr) :: log
    type(c_ptr) :: log_user
  end type c_mesh_options

  type, bind(c) :: c_pool_options
    integer(c_size_t) :: size
    logical(c_bool) :: no_pin
    logical(c_bool) :: pin_caller
  end type c_pool_options

  type, bind(c) :: ls_key
    integer(c_int32_t) :: word(2)
  end type ls_key

  type, bind(c) :: c_trainer_options
    integer(c_size_t) :: size
    integer(c_int64_t) :: seed
    integer(c_int) :: keys
    type(ls_optimizer) :: optimizer
    type(ls_schedule) :: schedule
    real(c_double) :: clip_norm
    integer(c_int) :: accumulate
    integer(c_int) :: mean
    integer(c_int) :: state
    type(c_ptr) :: backend
    type(c_ptr) :: data_axis
    logical(c_bool) :: check_divergence
    logical(c_bool) :: own_dropout_key
    type(ls_key) :: dropout_key
    integer(c_int) :: precision
    type(c_ptr) :: transport
    logical(c_bool) :: even_rows
    real(c_double) :: average
    integer(c_int) :: n_groups
    type(c_ptr) :: groups
    real(c_double) :: clip_value
    integer(c_int64_t) :: bucket
    integer(c_int) :: rows
    real(c_double) :: check
    type(ls_schedule) :: decay_schedule
    type(ls_schedule) :: dropout_schedule
  end type c_trainer_options

  type, bind(c) :: c_result
    integer(c_int64_t) :: step
    integer(c_int64_t) :: rows
    real(c_float) :: loss
    real(c_float) :: accuracy
    real(c_float) :: lr
    real(c_float) :: grad_norm
    logical(c_bool) :: updated
    real(c_double) :: weight
    real(c_float) :: metric(8)
    real(c_double) :: gradient_seconds
    real(c_double) :: reduce_seconds
    real(c_double) :: update_seconds
  end type c_result

  type, bind(c) :: c_checkpoints_options
    integer(c_size_t) :: size
    type(c_ptr) :: folder
    integer(c_int) :: keep
    integer(c_int) :: n_settings
    type(c_ptr) :: settings
    type(c_ptr) :: may_change
    logical(c_bool) :: keep_first
  end type c_checkpoints_options

  type, bind(c) :: c_init
    integer(c_int) :: kind
    integer(c_int) :: distribution
    integer(c_int) :: fan
    real(c_double) :: scale
    type(c_ptr) :: fn
    type(c_ptr) :: user
    real(c_double) :: room(8)
  end type c_init

  type, bind(c) :: c_source
    integer(c_int64_t) :: rows
    integer(c_int64_t) :: classes
    integer(c_int) :: n_arrays
    type(c_ptr) :: arrays
    logical(c_bool) :: weighted
    logical(c_bool) :: by_epoch
    type(c_ptr) :: fill
    type(c_ptr) :: close
    type(c_ptr) :: user
  end type c_source

  type, bind(c) :: c_series
    type(c_array) :: array
    integer(c_int64_t) :: at
    integer(c_int64_t) :: length
  end type c_series

  type, bind(c) :: c_loader_options
    integer(c_size_t) :: size
    integer(c_int64_t) :: batch
    logical(c_bool) :: shuffle
    type(ls_key) :: key
    integer(c_int) :: uneven
    logical(c_bool) :: no_thread
  end type c_loader_options

  type, bind(c) :: c_norm_options
    integer(c_size_t) :: size
    real(c_double) :: epsilon
  end type c_norm_options

  type, bind(c) :: c_batch_norm_options
    integer(c_size_t) :: size
    integer(c_int) :: statistics
    real(c_double) :: epsilon
    real(c_double) :: momentum
  end type c_batch_norm_options

  type, bind(c) :: c_dense_options
    integer(c_size_t) :: size
    logical(c_bool) :: no_bias
  end type c_dense_options

  type, bind(c) :: c_attention_options
    integer(c_size_t) :: size
    logical(c_bool) :: causal
    logical(c_bool) :: qkv_bias
    logical(c_bool) :: out_bias
    integer(c_int) :: kv_heads
    real(c_double) :: rotary_base
    real(c_double) :: dropout
  end type c_attention_options

  type, bind(c) :: c_recurrent_options
    integer(c_size_t) :: size
    type(c_ptr) :: state
    type(c_ptr) :: lengths
    type(c_ptr) :: last
    logical(c_bool) :: two_biases
    logical(c_bool) :: bidirectional
  end type c_recurrent_options

  type, bind(c) :: ls_window
    integer(c_int64_t) :: height
    integer(c_int64_t) :: width
    integer(c_int64_t) :: stride_y
    integer(c_int64_t) :: stride_x
    integer(c_int) :: padding
  end type ls_window

  type, bind(c) :: c_conv_options
    integer(c_size_t) :: size
    integer(c_int) :: padding
    logical(c_bool) :: no_bias
    integer(c_int64_t) :: groups
    integer(c_int64_t) :: stride_y
    integer(c_int64_t) :: stride_x
    integer(c_int64_t) :: dilation_y
    integer(c_int64_t) :: dilation_x
    integer(c_int64_t) :: top
    integer(c_int64_t) :: bottom
    integer(c_int64_t) :: left
    integer(c_int64_t) :: right
  end type c_conv_options

  type, bind(c) :: c_pooling_options
    integer(c_size_t) :: size
    integer(c_int) :: padding
    logical(c_bool) :: ceil_mode
    logical(c_bool) :: exclude_padding
    integer(c_int64_t) :: stride_y
    integer(c_int64_t) :: stride_x
    integer(c_int64_t) :: dilation_y
    integer(c_int64_t) :: dilation_x
    integer(c_int64_t) :: top
    integer(c_int64_t) :: bottom
    integer(c_int64_t) :: left
    integer(c_int64_t) :: right
  end type c_pooling_options

  interface
    function c_errmsg() result(r) bind(c, name="ls_errmsg")
      import
      type(c_ptr) :: r
    end function c_errmsg

    function c_error(status, text) result(r) bind(c, name="ls_error")
      import
      integer(c_int), value :: status
      character(kind=c_char), intent(in), optional :: text(*)
      integer(c_int) :: r
    end function c_error

    function c_graph_new(graph) result(r) bind(c, name="ls_graph_new")
      import
      type(c_ptr), value :: graph
      integer(c_int) :: r
    end function c_graph_new

    subroutine c_graph_free(graph) bind(c, name="ls_graph_free")
      import
      type(c_ptr), value :: graph
    end subroutine c_graph_free

    function c_input(graph, name, dtype, rank, shape) result(r) bind(c, &
      name="ls_input")
      import
      type(c_ptr), value :: graph
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int), value :: dtype
      integer(c_int), value :: rank
      type(c_ptr), value :: shape
      type(c_ptr) :: r
    end function c_input

    function c_node_shape(node, shape) result(r) bind(c, &
      name="ls_node_shape")
      import
      type(c_ptr), value :: node
      type(c_ptr), value :: shape
      integer(c_int) :: r
    end function c_node_shape

    function c_output(graph, node, name) result(r) bind(c, name="ls_output")
      import
      type(c_ptr), value :: graph
      type(c_ptr), value :: node
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int) :: r
    end function c_output

    function c_metric(graph, node) result(r) bind(c, name="ls_metric")
      import
      type(c_ptr), value :: graph
      type(c_ptr), value :: node
      integer(c_int) :: r
    end function c_metric

    function c_loss(graph, loss) result(r) bind(c, name="ls_loss")
      import
      type(c_ptr), value :: graph
      type(c_ptr), value :: loss
      integer(c_int) :: r
    end function c_loss

    function c_graph_nodes(graph) result(r) bind(c, name="ls_graph_nodes")
      import
      type(c_ptr), value :: graph
      integer(c_int) :: r
    end function c_graph_nodes

    function c_graph_node(graph, i) result(r) bind(c, name="ls_graph_node")
      import
      type(c_ptr), value :: graph
      integer(c_int), value :: i
      type(c_ptr) :: r
    end function c_graph_node

    function c_graph_output(graph, i, name) result(r) bind(c, &
      name="ls_graph_output")
      import
      type(c_ptr), value :: graph
      integer(c_int), value :: i
      type(c_ptr), value :: name
      type(c_ptr) :: r
    end function c_graph_output

    function c_node_op(node) result(r) bind(c, name="ls_node_op")
      import
      type(c_ptr), value :: node
      type(c_ptr) :: r
    end function c_node_op

    function c_node_name(node) result(r) bind(c, name="ls_node_name")
      import
      type(c_ptr), value :: node
      type(c_ptr) :: r
    end function c_node_name

    function c_sub(a, b) result(r) bind(c, name="ls_sub")
      import
      type(c_ptr), value :: a
      type(c_ptr), value :: b
      type(c_ptr) :: r
    end function c_sub

    function c_mul(a, b) result(r) bind(c, name="ls_mul")
      import
      type(c_ptr), value :: a
      type(c_ptr), value :: b
      type(c_ptr) :: r
    end function c_mul

    function c_div(a, b) result(r) bind(c, name="ls_div")
      import
      type(c_ptr), value :: a
      type(c_ptr), value :: b
      type(c_ptr) :: r
    end function c_div

    function c_min(a, b) result(r) bind(c, name="ls_min")
      import
      type(c_ptr), value :: a
      type(c_ptr), value :: b
      type(c_ptr) :: r
    end function c_min

    function c_max(a, b) result(r) bind(c, name="ls_max")
      import
      type(c_ptr), value :: a
      type(c_ptr), value :: b
      type(c_ptr) :: r
    end function c_max

    function c_scale_shift(x, scale, shift) result(r) bind(c, &
      name="ls_scale_shift")
      import
      type(c_ptr), value :: x
      real(c_double), value :: scale
      real(c_double), value :: shift
      type(c_ptr) :: r
    end function c_scale_shift

    function c_neg(x) result(r) bind(c, name="ls_neg")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_neg

    function c_square(x) result(r) bind(c, name="ls_square")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_square

    function c_sqrt(x) result(r) bind(c, name="ls_sqrt")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_sqrt

    function c_exp(x) result(r) bind(c, name="ls_exp")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_exp

    function c_log(x) result(r) bind(c, name="ls_log")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_log

    function c_sin(x) result(r) bind(c, name="ls_sin")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_sin

    function c_cos(x) result(r) bind(c, name="ls_cos")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_cos

    function c_abs(x) result(r) bind(c, name="ls_abs")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_abs

    function c_clamp(x, low, high) result(r) bind(c, name="ls_clamp")
      import
      type(c_ptr), value :: x
      real(c_double), value :: low
      real(c_double), value :: high
      type(c_ptr) :: r
    end function c_clamp

    function c_pow(x, power) result(r) bind(c, name="ls_pow")
      import
      type(c_ptr), value :: x
      real(c_double), value :: power
      type(c_ptr) :: r
    end function c_pow

    function c_leaky_relu(x, slope) result(r) bind(c, name="ls_leaky_relu")
      import
      type(c_ptr), value :: x
      real(c_double), value :: slope
      type(c_ptr) :: r
    end function c_leaky_relu

    function c_elu(x, alpha) result(r) bind(c, name="ls_elu")
      import
      type(c_ptr), value :: x
      real(c_double), value :: alpha
      type(c_ptr) :: r
    end function c_elu

    function c_softplus(x) result(r) bind(c, name="ls_softplus")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_softplus

    function c_silu(x) result(r) bind(c, name="ls_silu")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_silu

    function c_selu(x) result(r) bind(c, name="ls_selu")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_selu

    function c_mish(x) result(r) bind(c, name="ls_mish")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_mish

    function c_gelu_exact(x) result(r) bind(c, name="ls_gelu_exact")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_gelu_exact

    function c_clipped_relu(x, top) result(r) bind(c, name="ls_clipped_relu")
      import
      type(c_ptr), value :: x
      real(c_double), value :: top
      type(c_ptr) :: r
    end function c_clipped_relu

    function c_squared_clipped_relu(x, top) result(r) bind(c, &
      name="ls_squared_clipped_relu")
      import
      type(c_ptr), value :: x
      real(c_double), value :: top
      type(c_ptr) :: r
    end function c_squared_clipped_relu

    function c_reshape(x, rank, shape) result(r) bind(c, name="ls_reshape")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: rank
      type(c_ptr), value :: shape
      type(c_ptr) :: r
    end function c_reshape

    function c_transpose(x, axes) result(r) bind(c, name="ls_transpose")
      import
      type(c_ptr), value :: x
      type(c_ptr), value :: axes
      type(c_ptr) :: r
    end function c_transpose

    function c_slice(x, axis, first, count) result(r) bind(c, &
      name="ls_slice")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: axis
      integer(c_int64_t), value :: first
      integer(c_int64_t), value :: count
      type(c_ptr) :: r
    end function c_slice

    function c_concat(x, count, axis) result(r) bind(c, name="ls_concat")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: count
      integer(c_int), value :: axis
      type(c_ptr) :: r
    end function c_concat

    function c_broadcast_to(x, rank, shape) result(r) bind(c, &
      name="ls_broadcast_to")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: rank
      type(c_ptr), value :: shape
      type(c_ptr) :: r
    end function c_broadcast_to

    function c_reverse(x, lengths) result(r) bind(c, name="ls_reverse")
      import
      type(c_ptr), value :: x
      type(c_ptr), value :: lengths
      type(c_ptr) :: r
    end function c_reverse

    function c_sum_over(x, count, axes) result(r) bind(c, name="ls_sum_over")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: count
      type(c_ptr), value :: axes
      type(c_ptr) :: r
    end function c_sum_over

    function c_mean_over(x, count, axes) result(r) bind(c, &
      name="ls_mean_over")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: count
      type(c_ptr), value :: axes
      type(c_ptr) :: r
    end function c_mean_over

    function c_max_over(x, count, axes) result(r) bind(c, name="ls_max_over")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: count
      type(c_ptr), value :: axes
      type(c_ptr) :: r
    end function c_max_over

    function c_softmax(x) result(r) bind(c, name="ls_softmax")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_softmax

    function c_log_softmax(x) result(r) bind(c, name="ls_log_softmax")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_log_softmax

    function c_matmul(a, b) result(r) bind(c, name="ls_matmul")
      import
      type(c_ptr), value :: a
      type(c_ptr), value :: b
      type(c_ptr) :: r
    end function c_matmul

    function c_one_hot(indices, count) result(r) bind(c, name="ls_one_hot")
      import
      type(c_ptr), value :: indices
      integer(c_int64_t), value :: count
      type(c_ptr) :: r
    end function c_one_hot

    function c_gather(x, indices) result(r) bind(c, name="ls_gather")
      import
      type(c_ptr), value :: x
      type(c_ptr), value :: indices
      type(c_ptr) :: r
    end function c_gather

    function c_mean_loss(terms, weights) result(r) bind(c, &
      name="ls_mean_loss")
      import
      type(c_ptr), value :: terms
      type(c_ptr), value :: weights
      type(c_ptr) :: r
    end function c_mean_loss

    function c_mean_absolute_error(y, target) result(r) bind(c, &
      name="ls_mean_absolute_error")
      import
      type(c_ptr), value :: y
      type(c_ptr), value :: target
      type(c_ptr) :: r
    end function c_mean_absolute_error

    function c_huber_loss(y, target, delta) result(r) bind(c, &
      name="ls_huber_loss")
      import
      type(c_ptr), value :: y
      type(c_ptr), value :: target
      real(c_double), value :: delta
      type(c_ptr) :: r
    end function c_huber_loss

    function c_binary_cross_entropy(logits, target) result(r) bind(c, &
      name="ls_binary_cross_entropy")
      import
      type(c_ptr), value :: logits
      type(c_ptr), value :: target
      type(c_ptr) :: r
    end function c_binary_cross_entropy

    function c_kl_divergence(log_predicted, target) result(r) bind(c, &
      name="ls_kl_divergence")
      import
      type(c_ptr), value :: log_predicted
      type(c_ptr), value :: target
      type(c_ptr) :: r
    end function c_kl_divergence

    function c_gaussian_loss(mean, variance, target) result(r) bind(c, &
      name="ls_gaussian_loss")
      import
      type(c_ptr), value :: mean
      type(c_ptr), value :: variance
      type(c_ptr), value :: target
      type(c_ptr) :: r
    end function c_gaussian_loss

    function c_label_terms(logits, labels, smoothing) result(r) bind(c, &
      name="ls_label_terms")
      import
      type(c_ptr), value :: logits
      type(c_ptr), value :: labels
      real(c_double), value :: smoothing
      type(c_ptr) :: r
    end function c_label_terms

    function c_sgd(lr) result(r) bind(c, name="ls_sgd")
      import
      real(c_double), value :: lr
      type(ls_optimizer) :: r
    end function c_sgd

    function c_momentum(lr, momentum) result(r) bind(c, name="ls_momentum")
      import
      real(c_double), value :: lr
      real(c_double), value :: momentum
      type(ls_optimizer) :: r
    end function c_momentum

    function c_nesterov(lr, momentum) result(r) bind(c, name="ls_nesterov")
      import
      real(c_double), value :: lr
      real(c_double), value :: momentum
      type(ls_optimizer) :: r
    end function c_nesterov

    function c_adam(lr) result(r) bind(c, name="ls_adam")
      import
      real(c_double), value :: lr
      type(ls_optimizer) :: r
    end function c_adam

    function c_adamw(lr) result(r) bind(c, name="ls_adamw")
      import
      real(c_double), value :: lr
      type(ls_optimizer) :: r
    end function c_adamw

    function c_rmsprop(lr) result(r) bind(c, name="ls_rmsprop")
      import
      real(c_double), value :: lr
      type(ls_optimizer) :: r
    end function c_rmsprop

    function c_adagrad(lr) result(r) bind(c, name="ls_adagrad")
      import
      real(c_double), value :: lr
      type(ls_optimizer) :: r
    end function c_adagrad

    function c_lion(lr) result(r) bind(c, name="ls_lion")
      import
      real(c_double), value :: lr
      type(ls_optimizer) :: r
    end function c_lion

    function c_amsgrad(lr) result(r) bind(c, name="ls_amsgrad")
      import
      real(c_double), value :: lr
      type(ls_optimizer) :: r
    end function c_amsgrad

    function c_optimizer_defaults(kind, lr) result(r) bind(c, &
      name="ls_optimizer_defaults")
      import
      integer(c_int), value :: kind
      real(c_double), value :: lr
      type(ls_optimizer) :: r
    end function c_optimizer_defaults

    function c_group_of(names) result(r) bind(c, name="ls_group_of")
      import
      character(kind=c_char), intent(in), optional :: names(*)
      type(c_group) :: r
    end function c_group_of

    function c_schedule_defaults(kind) result(r) bind(c, &
      name="ls_schedule_defaults")
      import
      integer(c_int), value :: kind
      type(ls_schedule) :: r
    end function c_schedule_defaults

    subroutine c_mesh_defaults_bytes(options, size) bind(c, &
      name="ls_mesh_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_mesh_defaults_bytes

    function c_mesh_open(mesh, options) result(r) bind(c, &
      name="ls_mesh_open")
      import
      type(c_ptr), value :: mesh
      type(c_ptr), value :: options
      integer(c_int) :: r
    end function c_mesh_open

    subroutine c_mesh_close(mesh) bind(c, name="ls_mesh_close")
      import
      type(c_ptr), value :: mesh
    end subroutine c_mesh_close

    function c_mesh_devices(mesh) result(r) bind(c, name="ls_mesh_devices")
      import
      type(c_ptr), value :: mesh
      integer(c_int) :: r
    end function c_mesh_devices

    function c_mesh_workers(mesh) result(r) bind(c, name="ls_mesh_workers")
      import
      type(c_ptr), value :: mesh
      integer(c_int) :: r
    end function c_mesh_workers

    function c_mesh_text(mesh) result(r) bind(c, name="ls_mesh_text")
      import
      type(c_ptr), value :: mesh
      type(c_ptr) :: r
    end function c_mesh_text

    subroutine c_pool_defaults_bytes(options, size) bind(c, &
      name="ls_pool_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_pool_defaults_bytes

    function c_pool_open(pool, mesh, options) result(r) bind(c, &
      name="ls_pool_open")
      import
      type(c_ptr), value :: pool
      type(c_ptr), value :: mesh
      type(c_ptr), value :: options
      integer(c_int) :: r
    end function c_pool_open

    subroutine c_pool_close(pool) bind(c, name="ls_pool_close")
      import
      type(c_ptr), value :: pool
    end subroutine c_pool_close

    function c_pool_workers(pool) result(r) bind(c, name="ls_pool_workers")
      import
      type(c_ptr), value :: pool
      integer(c_int) :: r
    end function c_pool_workers

    function c_key_new(seed) result(r) bind(c, name="ls_key_new")
      import
      integer(c_int64_t), value :: seed
      type(ls_key) :: r
    end function c_key_new

    subroutine c_trainer_defaults_bytes(options, size) bind(c, &
      name="ls_trainer_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_trainer_defaults_bytes

    function c_trainer_open(trainer, pool, graph, options) result(r) bind(c, &
      name="ls_trainer_open")
      import
      type(c_ptr), value :: trainer
      type(c_ptr), value :: pool
      type(c_ptr), value :: graph
      type(c_ptr), value :: options
      integer(c_int) :: r
    end function c_trainer_open

    subroutine c_trainer_close(trainer) bind(c, name="ls_trainer_close")
      import
      type(c_ptr), value :: trainer
    end subroutine c_trainer_close

    function c_batch_open(batch, trainer) result(r) bind(c, &
      name="ls_batch_open")
      import
      type(c_ptr), value :: batch
      type(c_ptr), value :: trainer
      integer(c_int) :: r
    end function c_batch_open

    subroutine c_batch_close(batch) bind(c, name="ls_batch_close")
      import
      type(c_ptr), value :: batch
    end subroutine c_batch_close

    function c_batch_set_view(batch, input, dtype, n, data, rows) result(r) &
      bind(c, name="ls_batch_set_view")
      import
      type(c_ptr), value :: batch
      character(kind=c_char), intent(in), optional :: input(*)
      integer(c_int), value :: dtype
      integer(c_int64_t), value :: n
      type(c_ptr), value :: data
      integer(c_int64_t), value :: rows
      integer(c_int) :: r
    end function c_batch_set_view

    function c_batch_set_weights(batch, weights, rows) result(r) bind(c, &
      name="ls_batch_set_weights")
      import
      type(c_ptr), value :: batch
      type(c_ptr), value :: weights
      integer(c_int64_t), value :: rows
      integer(c_int) :: r
    end function c_batch_set_weights

    function c_step_bytes(trainer, batch, result, size) result(r) bind(c, &
      name="ls_step_bytes")
      import
      type(c_ptr), value :: trainer
      type(c_ptr), value :: batch
      type(c_ptr), value :: result
      integer(c_size_t), value :: size
      integer(c_int) :: r
    end function c_step_bytes

    function c_evaluate_bytes(trainer, batch, result, size) result(r) bind(c, &
      name="ls_evaluate_bytes")
      import
      type(c_ptr), value :: trainer
      type(c_ptr), value :: batch
      type(c_ptr), value :: result
      integer(c_size_t), value :: size
      integer(c_int) :: r
    end function c_evaluate_bytes

    function c_predict(trainer, batch, output, n, out) result(r) bind(c, &
      name="ls_predict")
      import
      type(c_ptr), value :: trainer
      type(c_ptr), value :: batch
      character(kind=c_char), intent(in), optional :: output(*)
      integer(c_int64_t), value :: n
      type(c_ptr), value :: out
      integer(c_int) :: r
    end function c_predict

    function c_trainer_devices(trainer) result(r) bind(c, &
      name="ls_trainer_devices")
      import
      type(c_ptr), value :: trainer
      integer(c_int) :: r
    end function c_trainer_devices

    function c_trainer_params(trainer) result(r) bind(c, &
      name="ls_trainer_params")
      import
      type(c_ptr), value :: trainer
      integer(c_int) :: r
    end function c_trainer_params

    function c_trainer_param_name(trainer, i) result(r) bind(c, &
      name="ls_trainer_param_name")
      import
      type(c_ptr), value :: trainer
      integer(c_int), value :: i
      type(c_ptr) :: r
    end function c_trainer_param_name

    function c_trainer_param_shape(trainer, i, shape) result(r) bind(c, &
      name="ls_trainer_param_shape")
      import
      type(c_ptr), value :: trainer
      integer(c_int), value :: i
      type(c_ptr), value :: shape
      integer(c_int) :: r
    end function c_trainer_param_shape

    function c_trainer_get(trainer, name, n, out) result(r) bind(c, &
      name="ls_trainer_get")
      import
      type(c_ptr), value :: trainer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int64_t), value :: n
      type(c_ptr), value :: out
      integer(c_int) :: r
    end function c_trainer_get

    function c_trainer_set(trainer, name, n, values) result(r) bind(c, &
      name="ls_trainer_set")
      import
      type(c_ptr), value :: trainer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int64_t), value :: n
      type(c_ptr), value :: values
      integer(c_int) :: r
    end function c_trainer_set

    function c_trainer_step(trainer) result(r) bind(c, &
      name="ls_trainer_step")
      import
      type(c_ptr), value :: trainer
      integer(c_int64_t) :: r
    end function c_trainer_step

    function c_trainer_set_step(trainer, step) result(r) bind(c, &
      name="ls_trainer_set_step")
      import
      type(c_ptr), value :: trainer
      integer(c_int64_t), value :: step
      integer(c_int) :: r
    end function c_trainer_set_step

    function c_row_losses(trainer, batch, n, loss) result(r) bind(c, &
      name="ls_row_losses")
      import
      type(c_ptr), value :: trainer
      type(c_ptr), value :: batch
      integer(c_int64_t), value :: n
      type(c_ptr), value :: loss
      integer(c_int) :: r
    end function c_row_losses

    function c_trainer_set_lr(trainer, lr) result(r) bind(c, &
      name="ls_trainer_set_lr")
      import
      type(c_ptr), value :: trainer
      real(c_double), value :: lr
      integer(c_int) :: r
    end function c_trainer_set_lr

    function c_trainer_use_average(trainer, use) result(r) bind(c, &
      name="ls_trainer_use_average")
      import
      type(c_ptr), value :: trainer
      logical(c_bool), value :: use
      integer(c_int) :: r
    end function c_trainer_use_average

    function c_trainer_check(trainer) result(r) bind(c, &
      name="ls_trainer_check")
      import
      type(c_ptr), value :: trainer
      integer(c_int) :: r
    end function c_trainer_check

    function c_trainer_hash(trainer, hex) result(r) bind(c, &
      name="ls_trainer_hash")
      import
      type(c_ptr), value :: trainer
      type(c_ptr), value :: hex
      integer(c_int) :: r
    end function c_trainer_hash

    function c_trainer_save(trainer, path) result(r) bind(c, &
      name="ls_trainer_save")
      import
      type(c_ptr), value :: trainer
      character(kind=c_char), intent(in), optional :: path(*)
      integer(c_int) :: r
    end function c_trainer_save

    function c_trainer_load(trainer, path, names) result(r) bind(c, &
      name="ls_trainer_load")
      import
      type(c_ptr), value :: trainer
      character(kind=c_char), intent(in), optional :: path(*)
      character(kind=c_char), intent(in), optional :: names(*)
      integer(c_int) :: r
    end function c_trainer_load

    subroutine c_checkpoints_defaults_bytes(options, size) bind(c, &
      name="ls_checkpoints_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_checkpoints_defaults_bytes

    function c_checkpoints_open(checkpoints, trainer, options) result(r) &
      bind(c, name="ls_checkpoints_open")
      import
      type(c_ptr), value :: checkpoints
      type(c_ptr), value :: trainer
      type(c_ptr), value :: options
      integer(c_int) :: r
    end function c_checkpoints_open

    subroutine c_checkpoints_close(checkpoints) bind(c, &
      name="ls_checkpoints_close")
      import
      type(c_ptr), value :: checkpoints
    end subroutine c_checkpoints_close

    function c_checkpoints_save(checkpoints, n_notes, notes) result(r) &
      bind(c, name="ls_checkpoints_save")
      import
      type(c_ptr), value :: checkpoints
      integer(c_int), value :: n_notes
      type(c_ptr), value :: notes
      integer(c_int) :: r
    end function c_checkpoints_save

    function c_checkpoints_wait(checkpoints) result(r) bind(c, &
      name="ls_checkpoints_wait")
      import
      type(c_ptr), value :: checkpoints
      integer(c_int) :: r
    end function c_checkpoints_wait

    function c_checkpoints_count(checkpoints) result(r) bind(c, &
      name="ls_checkpoints_count")
      import
      type(c_ptr), value :: checkpoints
      integer(c_int) :: r
    end function c_checkpoints_count

    function c_checkpoints_load(checkpoints, step) result(r) bind(c, &
      name="ls_checkpoints_load")
      import
      type(c_ptr), value :: checkpoints
      type(c_ptr), value :: step
      integer(c_int) :: r
    end function c_checkpoints_load

    function c_checkpoints_back(checkpoints, before, step) result(r) bind(c, &
      name="ls_checkpoints_back")
      import
      type(c_ptr), value :: checkpoints
      integer(c_int64_t), value :: before
      type(c_ptr), value :: step
      integer(c_int) :: r
    end function c_checkpoints_back

    function c_checkpoints_note(checkpoints, name) result(r) bind(c, &
      name="ls_checkpoints_note")
      import
      type(c_ptr), value :: checkpoints
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_checkpoints_note

    function c_checkpoints_skipped(checkpoints) result(r) bind(c, &
      name="ls_checkpoints_skipped")
      import
      type(c_ptr), value :: checkpoints
      type(c_ptr) :: r
    end function c_checkpoints_skipped

    function c_gradients_open(gradients, trainer, batches) result(r) bind(c, &
      name="ls_gradients_open")
      import
      type(c_ptr), value :: gradients
      type(c_ptr), value :: trainer
      integer(c_int), value :: batches
      integer(c_int) :: r
    end function c_gradients_open

    subroutine c_gradients_close(gradients) bind(c, &
      name="ls_gradients_close")
      import
      type(c_ptr), value :: gradients
    end subroutine c_gradients_close

    function c_gradients_compute_bytes(gradients, batch, result, size) &
      result(r) bind(c, name="ls_gradients_compute_bytes")
      import
      type(c_ptr), value :: gradients
      type(c_ptr), value :: batch
      type(c_ptr), value :: result
      integer(c_size_t), value :: size
      integer(c_int) :: r
    end function c_gradients_compute_bytes

    function c_gradients_add(gradients, batch) result(r) bind(c, &
      name="ls_gradients_add")
      import
      type(c_ptr), value :: gradients
      type(c_ptr), value :: batch
      integer(c_int) :: r
    end function c_gradients_add

    function c_gradients_mean_bytes(gradients, result, size) result(r) &
      bind(c, name="ls_gradients_mean_bytes")
      import
      type(c_ptr), value :: gradients
      type(c_ptr), value :: result
      integer(c_size_t), value :: size
      integer(c_int) :: r
    end function c_gradients_mean_bytes

    function c_gradients_get(gradients, name, n, out) result(r) bind(c, &
      name="ls_gradients_get")
      import
      type(c_ptr), value :: gradients
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int64_t), value :: n
      type(c_ptr), value :: out
      integer(c_int) :: r
    end function c_gradients_get

    function c_gradients_get_device(gradients, device, name, n, out) &
      result(r) bind(c, name="ls_gradients_get_device")
      import
      type(c_ptr), value :: gradients
      integer(c_int), value :: device
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int64_t), value :: n
      type(c_ptr), value :: out
      integer(c_int) :: r
    end function c_gradients_get_device

    function c_gradients_set(gradients, name, n, values) result(r) bind(c, &
      name="ls_gradients_set")
      import
      type(c_ptr), value :: gradients
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int64_t), value :: n
      type(c_ptr), value :: values
      integer(c_int) :: r
    end function c_gradients_set

    subroutine c_gradients_clear(gradients) bind(c, &
      name="ls_gradients_clear")
      import
      type(c_ptr), value :: gradients
    end subroutine c_gradients_clear

    function c_input_gradient(trainer, batch, train, input, n, out) result(r) &
      bind(c, name="ls_input_gradient")
      import
      type(c_ptr), value :: trainer
      type(c_ptr), value :: batch
      logical(c_bool), value :: train
      character(kind=c_char), intent(in), optional :: input(*)
      integer(c_int64_t), value :: n
      type(c_ptr), value :: out
      integer(c_int) :: r
    end function c_input_gradient

    function c_gradients_apply_bytes(gradients, result, size) result(r) &
      bind(c, name="ls_gradients_apply_bytes")
      import
      type(c_ptr), value :: gradients
      type(c_ptr), value :: result
      integer(c_size_t), value :: size
      integer(c_int) :: r
    end function c_gradients_apply_bytes

    function c_init_named(init, name) result(r) bind(c, name="ls_init_named")
      import
      type(c_ptr), value :: init
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int) :: r
    end function c_init_named

    function c_init_params(graph, names, init) result(r) bind(c, &
      name="ls_init_params")
      import
      type(c_ptr), value :: graph
      character(kind=c_char), intent(in), optional :: names(*)
      type(c_ptr), value :: init
      integer(c_int) :: r
    end function c_init_params

    function c_source_series(source, n_series, series) result(r) bind(c, &
      name="ls_source_series")
      import
      type(c_ptr), value :: source
      integer(c_int), value :: n_series
      type(c_ptr), value :: series
      integer(c_int) :: r
    end function c_source_series

    subroutine c_source_close(source) bind(c, name="ls_source_close")
      import
      type(c_ptr), value :: source
    end subroutine c_source_close

    subroutine c_loader_defaults_bytes(options, size) bind(c, &
      name="ls_loader_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_loader_defaults_bytes

    function c_loader_open(loader, trainer, source, options) result(r) &
      bind(c, name="ls_loader_open")
      import
      type(c_ptr), value :: loader
      type(c_ptr), value :: trainer
      type(c_ptr), value :: source
      type(c_ptr), value :: options
      integer(c_int) :: r
    end function c_loader_open

    subroutine c_loader_close(loader) bind(c, name="ls_loader_close")
      import
      type(c_ptr), value :: loader
    end subroutine c_loader_close

    function c_loader_batches(loader) result(r) bind(c, &
      name="ls_loader_batches")
      import
      type(c_ptr), value :: loader
      integer(c_int64_t) :: r
    end function c_loader_batches

    function c_loader_fill(loader, step, batch, rows) result(r) bind(c, &
      name="ls_loader_fill")
      import
      type(c_ptr), value :: loader
      integer(c_int64_t), value :: step
      type(c_ptr), value :: batch
      type(c_ptr), value :: rows
      integer(c_int) :: r
    end function c_loader_fill

    function c_loader_seconds(loader) result(r) bind(c, &
      name="ls_loader_seconds")
      import
      type(c_ptr), value :: loader
      real(c_double) :: r
    end function c_loader_seconds

    function c_trainer_save_model(trainer, path) result(r) bind(c, &
      name="ls_trainer_save_model")
      import
      type(c_ptr), value :: trainer
      character(kind=c_char), intent(in), optional :: path(*)
      integer(c_int) :: r
    end function c_trainer_save_model

    function c_graph_load(graph, path) result(r) bind(c, &
      name="ls_graph_load")
      import
      type(c_ptr), value :: graph
      character(kind=c_char), intent(in), optional :: path(*)
      integer(c_int) :: r
    end function c_graph_load

    function c_layer_norm(x, name) result(r) bind(c, name="ls_layer_norm")
      import
      type(c_ptr), value :: x
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_layer_norm

    subroutine c_norm_defaults_bytes(options, size) bind(c, &
      name="ls_norm_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_norm_defaults_bytes

    function c_layer_norm_with(x, options, name) result(r) bind(c, &
      name="ls_layer_norm_with")
      import
      type(c_ptr), value :: x
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_layer_norm_with

    function c_rms_norm(x, epsilon, name) result(r) bind(c, &
      name="ls_rms_norm")
      import
      type(c_ptr), value :: x
      real(c_double), value :: epsilon
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_rms_norm

    function c_batch_norm(x, epsilon, name) result(r) bind(c, &
      name="ls_batch_norm")
      import
      type(c_ptr), value :: x
      real(c_double), value :: epsilon
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_batch_norm

    subroutine c_batch_norm_defaults_bytes(options, size) bind(c, &
      name="ls_batch_norm_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_batch_norm_defaults_bytes

    function c_batch_norm_with(x, options, name) result(r) bind(c, &
      name="ls_batch_norm_with")
      import
      type(c_ptr), value :: x
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_batch_norm_with

    function c_group_norm(x, groups, name) result(r) bind(c, &
      name="ls_group_norm")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: groups
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_group_norm

    function c_group_norm_with(x, groups, options, name) result(r) bind(c, &
      name="ls_group_norm_with")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: groups
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_group_norm_with

    function c_dense(x, n, name) result(r) bind(c, name="ls_dense")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_dense

    subroutine c_dense_defaults_bytes(options, size) bind(c, &
      name="ls_dense_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_dense_defaults_bytes

    function c_dense_with(x, n, options, name) result(r) bind(c, &
      name="ls_dense_with")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_dense_with

    function c_embed(x, count, width, name) result(r) bind(c, &
      name="ls_embed")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: count
      integer(c_int64_t), value :: width
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_embed

    function c_position(x, name) result(r) bind(c, name="ls_position")
      import
      type(c_ptr), value :: x
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_position

    function c_rotary(x, heads, base) result(r) bind(c, name="ls_rotary")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: heads
      real(c_double), value :: base
      type(c_ptr) :: r
    end function c_rotary

    function c_swiglu(x, n, name) result(r) bind(c, name="ls_swiglu")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_swiglu

    function c_self_attention(x, heads, causal, name) result(r) bind(c, &
      name="ls_self_attention")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: heads
      logical(c_bool), value :: causal
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_self_attention

    function c_grouped_attention(x, heads, kv_heads, rotary_base, causal, &
      name) result(r) bind(c, name="ls_grouped_attention")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: heads
      integer(c_int), value :: kv_heads
      real(c_double), value :: rotary_base
      logical(c_bool), value :: causal
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_grouped_attention

    function c_cross_attention(x, memory, mask, heads, name) result(r) &
      bind(c, name="ls_cross_attention")
      import
      type(c_ptr), value :: x
      type(c_ptr), value :: memory
      type(c_ptr), value :: mask
      integer(c_int), value :: heads
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_cross_attention

    subroutine c_attention_defaults_bytes(options, size) bind(c, &
      name="ls_attention_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_attention_defaults_bytes

    function c_attention_with(x, heads, options, name) result(r) bind(c, &
      name="ls_attention_with")
      import
      type(c_ptr), value :: x
      integer(c_int), value :: heads
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_attention_with

    function c_cross_attention_with(x, memory, mask, heads, options, name) &
      result(r) bind(c, name="ls_cross_attention_with")
      import
      type(c_ptr), value :: x
      type(c_ptr), value :: memory
      type(c_ptr), value :: mask
      integer(c_int), value :: heads
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_cross_attention_with

    function c_lstm(x, n, name) result(r) bind(c, name="ls_lstm")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_lstm

    function c_gru(x, n, name) result(r) bind(c, name="ls_gru")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_gru

    subroutine c_recurrent_defaults_bytes(options, size) bind(c, &
      name="ls_recurrent_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_recurrent_defaults_bytes

    function c_lstm_with(x, n, options, name) result(r) bind(c, &
      name="ls_lstm_with")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_lstm_with

    function c_gru_with(x, n, options, name) result(r) bind(c, &
      name="ls_gru_with")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_gru_with

    function c_parameter(graph, name, rank, shape) result(r) bind(c, &
      name="ls_parameter")
      import
      type(c_ptr), value :: graph
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int), value :: rank
      type(c_ptr), value :: shape
      type(c_ptr) :: r
    end function c_parameter

    function c_conv2d(x, n, window, name) result(r) bind(c, name="ls_conv2d")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      type(ls_window), value :: window
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_conv2d

    subroutine c_conv_defaults_bytes(options, size) bind(c, &
      name="ls_conv_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_conv_defaults_bytes

    function c_conv2d_with(x, n, height, width, options, name) result(r) &
      bind(c, name="ls_conv2d_with")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: height
      integer(c_int64_t), value :: width
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_conv2d_with

    function c_conv1d_with(x, n, width, options, name) result(r) bind(c, &
      name="ls_conv1d_with")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: width
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_conv1d_with

    function c_conv1d(x, n, width, stride, padding, name) result(r) bind(c, &
      name="ls_conv1d")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      integer(c_int64_t), value :: width
      integer(c_int64_t), value :: stride
      integer(c_int), value :: padding
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_conv1d

    function c_max_pool(x, window) result(r) bind(c, name="ls_max_pool")
      import
      type(c_ptr), value :: x
      type(ls_window), value :: window
      type(c_ptr) :: r
    end function c_max_pool

    function c_avg_pool(x, window) result(r) bind(c, name="ls_avg_pool")
      import
      type(c_ptr), value :: x
      type(ls_window), value :: window
      type(c_ptr) :: r
    end function c_avg_pool

    subroutine c_pooling_defaults_bytes(options, size) bind(c, &
      name="ls_pooling_defaults_bytes")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
    end subroutine c_pooling_defaults_bytes

    function c_max_pool_with(x, height, width, options) result(r) bind(c, &
      name="ls_max_pool_with")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: height
      integer(c_int64_t), value :: width
      type(c_ptr), value :: options
      type(c_ptr) :: r
    end function c_max_pool_with

    function c_avg_pool_with(x, height, width, options) result(r) bind(c, &
      name="ls_avg_pool_with")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: height
      integer(c_int64_t), value :: width
      type(c_ptr), value :: options
      type(c_ptr) :: r
    end function c_avg_pool_with

    function c_upsample(x, high, wide) result(r) bind(c, name="ls_upsample")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: high
      integer(c_int64_t), value :: wide
      type(c_ptr) :: r
    end function c_upsample

    function c_conv2d_transpose(x, n, window, name) result(r) bind(c, &
      name="ls_conv2d_transpose")
      import
      type(c_ptr), value :: x
      integer(c_int64_t), value :: n
      type(ls_window), value :: window
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_conv2d_transpose

    function c_flatten(x) result(r) bind(c, name="ls_flatten")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_flatten

    function c_gelu(x) result(r) bind(c, name="ls_gelu")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_gelu

    function c_relu(x) result(r) bind(c, name="ls_relu")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_relu

    function c_tanh(x) result(r) bind(c, name="ls_tanh")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_tanh

    function c_sigmoid(x) result(r) bind(c, name="ls_sigmoid")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_sigmoid

    function c_add(a, b) result(r) bind(c, name="ls_add")
      import
      type(c_ptr), value :: a
      type(c_ptr), value :: b
      type(c_ptr) :: r
    end function c_add

    function c_dropout(x, rate, name) result(r) bind(c, name="ls_dropout")
      import
      type(c_ptr), value :: x
      real(c_double), value :: rate
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_dropout

    function c_round_bf16(x) result(r) bind(c, name="ls_round_bf16")
      import
      type(c_ptr), value :: x
      type(c_ptr) :: r
    end function c_round_bf16

    function c_mean_squared_error(y, target) result(r) bind(c, &
      name="ls_mean_squared_error")
      import
      type(c_ptr), value :: y
      type(c_ptr), value :: target
      type(c_ptr) :: r
    end function c_mean_squared_error

    function c_cross_entropy(logits, labels) result(r) bind(c, &
      name="ls_cross_entropy")
      import
      type(c_ptr), value :: logits
      type(c_ptr), value :: labels
      type(c_ptr) :: r
    end function c_cross_entropy

    function c_next_token_loss(logits, tokens) result(r) bind(c, &
      name="ls_next_token_loss")
      import
      type(c_ptr), value :: logits
      type(c_ptr), value :: tokens
      type(c_ptr) :: r
    end function c_next_token_loss

    function c_predictor_open(predictor, trainer) result(r) bind(c, &
      name="ls_predictor_open")
      import
      type(c_ptr), value :: predictor
      type(c_ptr), value :: trainer
      integer(c_int) :: r
    end function c_predictor_open

    function c_predictor_load(predictor, path) result(r) bind(c, &
      name="ls_predictor_load")
      import
      type(c_ptr), value :: predictor
      character(kind=c_char), intent(in), optional :: path(*)
      integer(c_int) :: r
    end function c_predictor_load

    function c_predictor_refresh(predictor, trainer) result(r) bind(c, &
      name="ls_predictor_refresh")
      import
      type(c_ptr), value :: predictor
      type(c_ptr), value :: trainer
      integer(c_int) :: r
    end function c_predictor_refresh

    subroutine c_predictor_close(predictor) bind(c, &
      name="ls_predictor_close")
      import
      type(c_ptr), value :: predictor
    end subroutine c_predictor_close

    function c_predictor_input(predictor, i, input) result(r) bind(c, &
      name="ls_predictor_input")
      import
      type(c_ptr), value :: predictor
      integer(c_int), value :: i
      type(c_ptr), value :: input
      logical(c_bool) :: r
    end function c_predictor_input

    function c_predictor_output(predictor, i, output) result(r) bind(c, &
      name="ls_predictor_output")
      import
      type(c_ptr), value :: predictor
      integer(c_int), value :: i
      type(c_ptr), value :: output
      logical(c_bool) :: r
    end function c_predictor_output

    function c_context_open(context, predictor, pool) result(r) bind(c, &
      name="ls_context_open")
      import
      type(c_ptr), value :: context
      type(c_ptr), value :: predictor
      type(c_ptr), value :: pool
      integer(c_int) :: r
    end function c_context_open

    subroutine c_context_close(context) bind(c, name="ls_context_close")
      import
      type(c_ptr), value :: context
    end subroutine c_context_close

    function c_context_set_view(context, input, dtype, n, data, rows) &
      result(r) bind(c, name="ls_context_set_view")
      import
      type(c_ptr), value :: context
      character(kind=c_char), intent(in), optional :: input(*)
      integer(c_int), value :: dtype
      integer(c_int64_t), value :: n
      type(c_ptr), value :: data
      integer(c_int64_t), value :: rows
      integer(c_int) :: r
    end function c_context_set_view

    function c_context_predict(context, output, n, out) result(r) bind(c, &
      name="ls_context_predict")
      import
      type(c_ptr), value :: context
      character(kind=c_char), intent(in), optional :: output(*)
      integer(c_int64_t), value :: n
      type(c_ptr), value :: out
      integer(c_int) :: r
    end function c_context_predict

    function c_generator_open(generator, predictor, output) result(r) bind(c, &
      name="ls_generator_open")
      import
      type(c_ptr), value :: generator
      type(c_ptr), value :: predictor
      character(kind=c_char), intent(in), optional :: output(*)
      integer(c_int) :: r
    end function c_generator_open

    subroutine c_generator_close(generator) bind(c, &
      name="ls_generator_close")
      import
      type(c_ptr), value :: generator
    end subroutine c_generator_close

    function c_generator_append(generator, n, tokens, size, out) result(r) &
      bind(c, name="ls_generator_append")
      import
      type(c_ptr), value :: generator
      integer(c_int64_t), value :: n
      type(c_ptr), value :: tokens
      integer(c_int64_t), value :: size
      type(c_ptr), value :: out
      integer(c_int) :: r
    end function c_generator_append

    function c_generator_cut(generator, length) result(r) bind(c, &
      name="ls_generator_cut")
      import
      type(c_ptr), value :: generator
      integer(c_int64_t), value :: length
      integer(c_int) :: r
    end function c_generator_cut

    function c_generator_length(generator) result(r) bind(c, &
      name="ls_generator_length")
      import
      type(c_ptr), value :: generator
      integer(c_int64_t) :: r
    end function c_generator_length

    function c_generator_window(generator) result(r) bind(c, &
      name="ls_generator_window")
      import
      type(c_ptr), value :: generator
      integer(c_int64_t) :: r
    end function c_generator_window

    function c_sparse_dense(indices, values, inputs, n, name) result(r) &
      bind(c, name="ls_sparse_dense")
      import
      type(c_ptr), value :: indices
      type(c_ptr), value :: values
      integer(c_int64_t), value :: inputs
      integer(c_int64_t), value :: n
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_sparse_dense

    function c_sparse_dense_with(indices, values, inputs, n, options, name) &
      result(r) bind(c, name="ls_sparse_dense_with")
      import
      type(c_ptr), value :: indices
      type(c_ptr), value :: values
      integer(c_int64_t), value :: inputs
      integer(c_int64_t), value :: n
      type(c_ptr), value :: options
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_sparse_dense_with

    function c_embed_bag(indices, bag, count, width, name) result(r) bind(c, &
      name="ls_embed_bag")
      import
      type(c_ptr), value :: indices
      integer(c_int), value :: bag
      integer(c_int64_t), value :: count
      integer(c_int64_t), value :: width
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr) :: r
    end function c_embed_bag

  end interface
end module lockstep_c
