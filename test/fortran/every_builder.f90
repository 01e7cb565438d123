! SPDX-License-Identifier: BSD-3-Clause
! Calls every builder of nodes, optimizer and schedule of the module: what is
! elementwise, of one vector or a loss has the numbers that Fortran computes,
! and layers have the shapes that their options ask for.  Ends with status 1 at
! the first thing that is not as it should be.
program every_builder
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use lockstep
  implicit none
  integer, parameter :: rows = 8, most = 60
  ! The rows of inputs: two numbers, a vector, an index and a length.
  real(real32), target :: a(rows) = [-2., -1., -.5, -.125, .25, .75, 1.5, 3.]
  real(real32), target :: b(rows) = [.5, -3., 2., .25, -1., .75, 4., -.5]
  real(real32), target :: v(3, rows)
  integer(int32), target :: at(rows) = [0, 1, 2, 0, 1, 2, 0, 1]
  integer(int32), target :: long(rows) = [3, 2, 1, 0, 3, 2, 1, 3]
  type(ls_mesh) :: mesh
  type(ls_pool) :: pool
  type(ls_graph) :: graph
  type(ls_node) :: x, z, w, i, n
  real(real32) :: wanted(rows, most)
  character(30) :: called(most)
  integer :: count, k

  v = reshape([(mod(k * 7, 11) / 4. - 1, k = 1, 3 * rows)], [3, rows])
  call ls_mesh_open(mesh, devices=2, workers=1)
  call ls_pool_open(pool, mesh, no_pin=.true.)
  call elements()
  call activations()
  call vectors()
  call norms()
  call losses()
  call images()
  call sequences()
  call tables()
  call rules()
  call options()
  call ls_pool_close(pool)
  call ls_mesh_close(mesh)
  print "(a)", "every builder: as it should be"

contains

  include "check.inc"

  ! A new graph with its inputs.
  subroutine begin()
    call ls_graph_new(graph)
    x = ls_input(graph, "x")
    z = ls_input(graph, "z")
    w = ls_input(graph, "w", [3])
    i = ls_input(graph, "i", type=LS_I32)
    n = ls_input(graph, "n", type=LS_I32)
    count = 0
  end subroutine begin

  ! A node of one number a row, and what it should be.
  subroutine expect(node, want, what)
    type(ls_node), intent(in) :: node
    real(real32), intent(in) :: want(rows)
    character(*), intent(in) :: what

    count = count + 1
    wanted(:, count) = want
    called(count) = what
    call ls_output(graph, node, what)
  end subroutine expect

  subroutine set_all(batch)
    type(ls_batch), intent(inout) :: batch

    call ls_batch_set(batch, "x", a)
    call ls_batch_set(batch, "z", b)
    call ls_batch_set(batch, "w", v)
    call ls_batch_set(batch, "i", at)
    call ls_batch_set(batch, "n", long)
  end subroutine set_all

  ! The loss reads every input, so that a batch may have them all.
  function all_inputs() result(y)
    type(ls_node) :: y

    y = x + z + ls_sum_over(w, [1]) + &
      ls_sum_over(ls_one_hot(i, 3), [1]) + ls_sum_over(ls_one_hot(n, 4), &
      [1]) + ls_parameter(graph, "free")
  end function all_inputs

  ! Compares all that was expected.
  subroutine compare()
    type(ls_trainer) :: trainer
    type(ls_batch) :: batch
    real(real32) :: y(rows)
    integer :: k

    call ls_loss(graph, ls_mean_loss(all_inputs()))
    call ls_trainer_open(trainer, pool, graph)
    call ls_batch_open(batch, trainer)
    call set_all(batch)
    do k = 1, count
      call ls_predict(trainer, batch, trim(called(k)), y)
      call check(all(abs(y - wanted(:, k)) <= 1e-5 * (1 + &
        abs(wanted(:, k)))), called(k))
    end do
  end subroutine compare

  subroutine elements()
    call begin()
    call expect(ls_add(x, z), a + b, "add")
    call expect(ls_sub(x, z), a - b, "sub")
    call expect(ls_mul(x, z), a * b, "mul")
    call expect(ls_div(x, z), a / b, "div")
    call expect(ls_min(x, z), min(a, b), "min")
    call expect(ls_where(ls_less(x, z), x, z), min(a, b), "where")
    call expect(ls_max(x, z), max(a, b), "max")
    call expect(ls_scale_shift(x, 3d0, 0.5d0), 3 * a + 0.5, "scale_shift")
    call expect(ls_neg(x), -a, "neg")
    call expect(ls_square(x), a**2, "square")
    call expect(ls_abs(x), abs(a), "abs")
    call expect(ls_sqrt(ls_abs(x)), sqrt(abs(a)), "sqrt")
    call expect(ls_exp(x), exp(a), "exp")
    call expect(ls_log(ls_abs(x)), log(abs(a)), "log")
    call expect(ls_sin(x), sin(a), "sin")
    call expect(ls_cos(x), cos(a), "cos")
    call expect(ls_clamp(x, -0.5d0, 1d0), min(max(a, -0.5), 1.), "clamp")
    call expect(ls_pow(x, 3d0), a**3, "pow")
    call expect(ls_round_bf16(x), a, "round_bf16") ! which all of a are
    call expect(ls_dropout(x, 0.5d0, "drop"), a, "dropout")
    call compare()
  end subroutine elements

  subroutine activations()
    real(real32) :: s(rows), e(rows)

    s = 1 / (1 + exp(-a))
    e = merge(a, exp(a) - 1, a > 0)
    call begin()
    call expect(ls_sigmoid(x), s, "sigmoid")
    call expect(ls_tanh(x), tanh(a), "tanh")
    call expect(ls_relu(x), max(a, 0.), "relu")
    call expect(ls_leaky_relu(x, 0.25d0), max(a, a / 4), "leaky_relu")
    call expect(ls_elu(x, 2d0), merge(e, 2 * e, a > 0), "elu")
    call expect(ls_selu(x), 1.0507010 * merge(e, 1.6732632 * e, a > 0), "selu")
    call expect(ls_softplus(x), log(1 + exp(a)), "softplus")
    call expect(ls_silu(x), a * s, "silu")
    call expect(ls_mish(x), a * tanh(log(1 + exp(a))), "mish")
    call expect(ls_gelu(x), a / 2 * (1 + tanh(0.7978846 * (a + 0.044715 * &
      a**3))), "gelu")
    call expect(ls_gelu_exact(x), a / 2 * (1 + erf(a / sqrt(2.))), "exact")
    call compare()
  end subroutine activations

  ! The second element of a vector.
  function second(y) result(one)
    type(ls_node), intent(in) :: y
    type(ls_node) :: one

    one = ls_sum_over(ls_slice(y, 1, 1, 1), [1])
  end function second

  ! The vector at an index, of a vector for each row.
  function of(y, index) result(one)
    real(real32), intent(in) :: y(:, :)
    integer(int32), intent(in) :: index(rows)
    real(real32) :: one(rows)
    integer :: k

    one = [(y(index(k) + 1, k), k = 1, rows)]
  end function of

  subroutine vectors()
    real(real32) :: soft(3, rows), turned(3, rows), label(rows)
    type(ls_node) :: both(2)
    integer :: k

    soft = exp(v) / spread(sum(exp(v), 1), 1, 3)
    label = 0.9 * of(log(soft), at) + 0.1 * sum(log(soft), 1) / 3
    do k = 1, rows
      turned(:, k) = [v(long(k):1:-1, k), v(long(k) + 1:, k)]
    end do
    call begin()
    call expect(ls_sum_over(w, [1]), sum(v, 1), "sum")
    call expect(ls_mean_over(w, [1]), sum(v, 1) / 3, "mean")
    call expect(ls_max_over(w, [1]), maxval(v, 1), "max")
    call expect(second(ls_softmax(w)), soft(2, :), "softmax")
    call expect(second(ls_log_softmax(w)), log(soft(2, :)), "log_softmax")
    call expect(ls_gather(w, i), of(v, at), "gather")
    call expect(second(ls_one_hot(i, 3)), merge(1., 0., at == 1), "one_hot")
    call expect(ls_gather(ls_reverse(w), i), of(v(3:1:-1, :), at), "reverse")
    call expect(second(ls_reverse(w, n)), turned(2, :), "reverse of lengths")
    call expect(second(ls_flatten(ls_transpose(ls_reshape(w, [1, 3]), &
      [2, 1]))), v(2, :), "flatten")
    call expect(ls_sum_over(ls_matmul(ls_reshape(w, [3, 1]), &
      ls_reshape(w, [1, 3])), [1, 2]), sum(v**2, 1), "matmul")
    call expect(ls_sum_over(ls_broadcast_to(x, [2, 3]), [1, 2]), 6 * a, &
      "broadcast_to")
    both(1) = w
    both(2) = ls_neg(w)
    call expect(second(ls_slice(ls_concat(both, 1), 1, 3, 3)), -v(2, :), &
      "concat")
    call expect(ls_label_terms(w, i, 0.1d0), -label, "label_terms")
    call compare()
  end subroutine vectors

  subroutine norms()
    real(real32) :: mean(rows), var(rows), y(rows)

    y = v(2, :)
    mean = sum(v, 1) / 3
    var = sum((v - spread(mean, 1, 3))**2, 1) / 3
    call begin()
    call expect(second(ls_layer_norm(w, "a")), (y - mean) / sqrt(var + 1e-6), &
      "layer_norm")
    call expect(second(ls_layer_norm_with(w, "b", epsilon=0.5d0)), &
      (y - mean) / sqrt(var + 0.5), "layer_norm_with")
    call expect(second(ls_rms_norm(w, 0.5d0, "c")), y / sqrt(sum(v**2, 1) / 3 &
      + 0.5), "rms_norm")
    call expect(second(ls_group_norm(w, 1, "d")), (y - mean) / sqrt(var + &
      1e-6), "group_norm")
    call expect(second(ls_group_norm_with(w, 1, "e", epsilon=0.5d0)), &
      (y - mean) / sqrt(var + 0.5), "group_norm_with")
    call expect(second(ls_batch_norm(w, 3d0, "f")), y / 2, "batch_norm")
    call expect(second(ls_batch_norm_with(w, "g", epsilon=3d0, &
      momentum=0.5d0, statistics=LS_STATISTICS_OF_SHARD)), y / 2, &
      "batch_norm_with")
    call compare()
  end subroutine norms

  ! The loss of the rows.
  subroutine loss_is(loss, want, what)
    type(ls_node), intent(in) :: loss
    real(real32), intent(in) :: want
    character(*), intent(in) :: what
    type(ls_trainer) :: trainer
    type(ls_batch) :: batch
    type(ls_result) :: r
    integer(int32), target :: t(3, rows)

    t = spread(at, 1, 3)
    call ls_output(graph, all_inputs(), "all")
    call ls_loss(graph, loss)
    call ls_trainer_open(trainer, pool, graph)
    call ls_batch_open(batch, trainer)
    call set_all(batch)
    if (what == "tokens") call ls_batch_set(batch, "t", t)
    call ls_evaluate(trainer, batch, r)
    call check(abs(r%loss - want) <= 1e-5 * (1 + abs(want)), what)
    call begin()
  end subroutine loss_is

  subroutine losses()
    real(real32) :: d(rows), s(rows), p(3, rows), q(3, rows), c(rows)
    type(ls_node) :: flat

    d = a - b
    s = 1 / (1 + exp(-b))
    c = merge(d**2 / 2, 1.5 * (abs(d) - 0.75), abs(d) <= 1.5)
    p = exp(v) / spread(sum(exp(v), 1), 1, 3)
    q = exp(2 * v) / spread(sum(exp(2 * v), 1), 1, 3)
    call begin()
    call loss_is(ls_mean_loss(x), sum(a) / rows, "mean_loss")
    call loss_is(ls_mean_loss(x, ls_square(z)), sum(a * b**2) / sum(b**2), &
      "mean_loss of weights")
    call loss_is(ls_mean_squared_error(x, z), sum(d**2) / rows, "squares")
    call loss_is(ls_mean_absolute_error(x, z), sum(abs(d)) / rows, "absolute")
    call loss_is(ls_huber_loss(x, z, 1.5d0), sum(c) / rows, "huber")
    c = 1 / (1 + exp(-a))
    call loss_is(ls_binary_cross_entropy(x, ls_sigmoid(z)), &
      -sum(s * log(c) + (1 - s) * log(1 - c)) / rows, "binary")
    call loss_is(ls_kl_divergence(ls_log_softmax(w), ls_softmax(2d0 * w)), &
      sum(q * (log(q) - log(p))) / rows, "kl_divergence")
    call loss_is(ls_gaussian_loss(x, ls_square(z), z), &
      sum(log(b**2) + d**2 / b**2) / 2 / rows, "gaussian")
    call loss_is(ls_cross_entropy(w, i), -sum(of(log(p), at)) / rows, "labels")
    flat = ls_broadcast_to(ls_scale_shift(x, 0d0, 0d0), [7, 3])
    call loss_is(ls_next_token_loss(flat, ls_input(graph, "t", [3], LS_I32)), &
      log(7.), "tokens")
  end subroutine losses

  function equal(a, b)
    integer, intent(in) :: a(:), b(:)
    logical :: equal

    equal = size(a) == size(b)
    if (equal) equal = all(a == b)
  end function equal

  subroutine has(node, shape, what)
    type(ls_node), intent(in) :: node
    integer, intent(in) :: shape(:)
    character(*), intent(in) :: what

    call check(equal(ls_node_shape(node), shape), "shape of " // what)
  end subroutine has

  ! Of images of 2 channels, 9 wide and 8 high.
  subroutine images()
    type(ls_node) :: y, s

    call begin()
    y = ls_input(graph, "y", [2, 9, 8])
    s = ls_input(graph, "s", [3, 7])
    call has(ls_conv2d(y, 4, ls_window(3, 2, 2, 3, LS_VALID), "a"), &
      [4, 3, 3], "conv2d")
    call has(ls_conv2d_with(y, 4, 3, 2, "b", padding=LS_EXPLICIT, groups=2, &
      no_bias=.true., stride_y=2, stride_x=1, dilation_y=2, dilation_x=3, &
      top=1, bottom=3, left=1, right=2), [4, 9, 4], "conv2d_with")
    call has(ls_conv1d(s, 4, 3, 2, LS_SAME, "c"), [4, 4], "conv1d")
    call has(ls_conv1d_with(s, 4, 3, "d", padding=LS_VALID, stride_x=2), &
      [4, 3], "conv1d_with")
    call has(ls_conv2d_transpose(y, 5, ls_window(3, 2, 2, 3, LS_SAME), "e"), &
      [5, 27, 16], "conv2d_transpose")
    call has(ls_upsample(y, 2, 3), [2, 27, 16], "upsample")
    call has(ls_max_pool(y, ls_window(2, 3, 2, 3, LS_VALID)), [2, 3, 4], &
      "max_pool")
    call has(ls_avg_pool(y, ls_window(3, 2, 1, 2, LS_VALID)), [2, 4, 6], &
      "avg_pool")
    call has(ls_max_pool_with(y, 2, 2, padding=LS_VALID, dilation_x=3), &
      [2, 6, 7], "max_pool_with")
    call has(ls_avg_pool_with(y, 3, 2, padding=LS_VALID, ceil_mode=.true., &
      exclude_padding=.true., stride_y=2, stride_x=2), [2, 5, 4], &
      "avg_pool_with")
  end subroutine images

  ! A parameter has that shape; [0]: there is no such one.
  subroutine holds(trainer, name, shape)
    type(ls_trainer), intent(in) :: trainer
    character(*), intent(in) :: name
    integer, intent(in) :: shape(:)
    integer, allocatable :: is(:)
    integer :: k

    is = [0]
    do k = 1, ls_trainer_params(trainer)
      if (ls_trainer_param_name(trainer, k) == name) &
        is = ls_trainer_param_shape(trainer, k)
    end do
    call check(equal(is, shape), "parameter " // name)
  end subroutine holds

  ! Of 5 steps of 8 numbers.
  subroutine sequences()
    type(ls_node) :: y, m, mask, last, total
    type(ls_trainer) :: trainer

    call begin()
    y = ls_input(graph, "y", [8, 5])
    m = ls_input(graph, "m", [6, 3])
    mask = ls_input(graph, "mask", [3])
    total = ls_position(y, "a") + ls_rotary(y, 2, 1d4)
    total = total + ls_self_attention(y, 2, .true., "b")
    total = total + ls_dot_product_attention(y, y, y, 2, .true.)
    total = total + ls_grouped_attention(y, 4, 2, 1d4, .true., "c")
    total = total + ls_attention_with(y, 4, "d", causal=.true., &
      qkv_bias=.true., out_bias=.true., kv_heads=2, rotary_base=1d4, &
      dropout=0.1d0)
    total = total + ls_cross_attention(y, m, 2, "e", mask)
    total = total + ls_cross_attention_with(y, m, 4, "f", out_bias=.true., &
      dropout=0.1d0)
    call has(total, [8, 5], "attention")
    call has(ls_swiglu(y, 6, "g"), [6, 5], "swiglu")
    call has(ls_lstm(y, 6, "h"), [6, 5], "lstm")
    call has(ls_gru(y, 6, "i"), [6, 5], "gru")
    call has(ls_lstm_with(y, 6, "j", state=ls_parameter(graph, "first", &
      [6, 2]), lengths=n, last=last), [6, 5], "lstm_with")
    call has(last, [6, 2], "its last state")
    call has(ls_gru_with(y, 6, "k", last=last, two_biases=.true., &
      bidirectional=.true.), [12, 5], "gru_with")
    call has(last, [6, 2], "the last states of two")
    call ls_loss(graph, ls_mean_loss(total))
    call ls_trainer_open(trainer, pool, graph)
    call holds(trainer, "c.key.kernel", [2, 2, 8])
    call holds(trainer, "d.key.bias", [4])
    call holds(trainer, "c.key.bias", [0])
    call holds(trainer, "e.value.kernel", [4, 2, 6])
    call holds(trainer, "f.out.bias", [8])
    call holds(trainer, "f.key.bias", [0])
  end subroutine sequences

  ! Dense layers of lists of indices, and the weights that they have.
  subroutine tables()
    type(ls_node) :: k, y, ones
    type(ls_trainer) :: trainer

    call begin()
    k = ls_input(graph, "k", [4], LS_I32)
    y = ls_sparse_dense(k, ls_input(graph, "y", [4]), 100, 6, "a") + &
      ls_sparse_dense_with(k, ones, 100, 6, "b", no_bias=.true.) + &
      ls_embed_bag(k, LS_BAG_MEAN, 100, 6, "c")
    call has(ls_embed(k, 100, 5, "d"), [5, 4], "embed")
    y = ls_dense_with(ls_dense(y, 3, "e"), 2, "f", no_bias=.true.)
    call has(y, [2], "dense")
    call ls_loss(graph, ls_mean_loss(y))
    call ls_trainer_open(trainer, pool, graph)
    call holds(trainer, "a.bias", [6])
    call holds(trainer, "b.bias", [0])
    call holds(trainer, "c.embedding", [6, 100])
    call holds(trainer, "f.kernel", [2, 3])
    call holds(trainer, "f.bias", [0])
  end subroutine tables

  ! The loss sinks by each rule; the last has a schedule.
  subroutine rules()
    type(ls_optimizer) :: rule(9)
    type(ls_schedule) :: schedule
    type(ls_trainer) :: trainer
    type(ls_batch) :: batch
    type(ls_result) :: r, first
    integer :: k, step

    rule = [ls_sgd(1d-2), ls_momentum(1d-2, 0.9d0), ls_nesterov(1d-2, 0.9d0), &
      ls_adam(1d-2), ls_adamw(1d-2), ls_rmsprop(1d-2), ls_adagrad(1d-2), &
      ls_lion(1d-2), ls_amsgrad(1d-2)]
    schedule = ls_schedule_defaults(LS_CONSTANT)
    do k = 1, 9
      call check(rule(k)%kind == k - 1 .and. rule(k)%lr == 1d-2, "a rule")
      if (k == 9) schedule = ls_schedule_defaults(LS_COSINE)
      schedule%decay_steps = 20
      call ls_graph_new(graph)
      w = ls_input(graph, "w", [3])
      x = ls_reshape(ls_input(graph, "x"), [1])
      call ls_loss(graph, ls_mean_squared_error(ls_dense(w, 1, "d"), x))
      call ls_trainer_open(trainer, pool, graph, rule(k), schedule=schedule)
      call ls_batch_open(batch, trainer)
      call ls_batch_set(batch, "w", v)
      call ls_batch_set(batch, "x", a)
      call ls_step(trainer, batch, first)
      do step = 1, 8
        call ls_step(trainer, batch, r)
      end do
      call check(r%loss < first%loss, "a rule that learns nothing")
    end do
    call check(r%lr /= first%lr, "the rate of a schedule")
    rule(1) = ls_optimizer_defaults(rule(4)%kind, 1d-2)
    call check(rule(1)%b1 == rule(4)%b1, "the defaults of a rule")
  end subroutine rules

  ! The loss of a step with dropout, by a key and a schedule of its rate.
  function dropped(key, schedule) result(loss)
    type(ls_key), intent(in) :: key
    type(ls_schedule), intent(in), optional :: schedule
    real(real32) :: loss
    type(ls_transport) :: alone
    type(ls_trainer) :: trainer
    type(ls_batch) :: batch
    type(ls_result) :: r

    call ls_graph_new(graph)
    x = ls_dropout(ls_input(graph, "w", [3]), 0.5d0, "drop")
    call ls_loss(graph, ls_mean_loss(ls_square(ls_dense(x, 2, "d"))))
    call ls_trainer_open(trainer, pool, graph, ls_adamw(1d-2), check=1d0, &
      backend="native", bucket=1000_int64, dropout_key=key, &
      transport=alone, dropout_schedule=schedule, &
      decay_schedule=ls_schedule_defaults(LS_CONSTANT))
    call ls_batch_open(batch, trainer)
    call ls_batch_set(batch, "w", v)
    call ls_step(trainer, batch, r)
    loss = r%loss
  end function dropped

  subroutine options()
    type(ls_schedule) :: schedule
    type(ls_trainer) :: trainer
    real(real32) :: loss
    integer :: stat

    loss = dropped(ls_key([1, 2]))
    call check(dropped(ls_key([1, 2])) == loss, "the key once more")
    call check(dropped(ls_key([1, 3])) /= loss, "another key")
    schedule = ls_schedule_defaults(LS_CONSTANT)
    schedule%warmup = 4
    call check(dropped(ls_key([1, 2]), schedule) /= loss, &
      "dropout that begins at 0")
    call ls_trainer_open(trainer, pool, graph, check=2d0, stat=stat)
    call check(stat == LS_EINVAL, "a share above 1")
    call ls_trainer_open(trainer, pool, graph, backend="none", stat=stat)
    call check(stat < 0, "a backend that is none")
  end subroutine options

end program every_builder
