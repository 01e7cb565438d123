! SPDX-License-Identifier: BSD-3-Clause
! Calls everything that the modules of lockstep have but the builders of
! every_builder.f90, once and wrongly once more, and ends with status 1 at the
! first thing that is not as it should be.
program every_call
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use lockstep
  implicit none
  type(ls_mesh) :: mesh
  type(ls_pool) :: pool
  character(300) :: message
  character(:), allocatable :: folder
  integer :: stat

  allocate (character(300) :: folder)
  call get_command_argument(1, folder)
  folder = trim(folder)
  call ls_mesh_open(mesh, devices=4, workers=2)
  call ls_pool_open(pool, mesh, no_pin=.true.)
  call check(ls_mesh_devices(mesh) == 4, "devices")
  call check(ls_mesh_workers(mesh) == 2, "workers of the mesh")
  call check(index(ls_mesh_text(mesh), "4 devices on 2 workers") == 1, "text")
  call check(ls_pool_workers(pool) == 2, "workers")
  call ls_mesh_open(mesh, axes="data:0", stat=stat, errmsg=message)
  call check(stat == LS_EINVAL .and. index(message, "axes") > 0, "axes")
  call ls_mesh_open(mesh, topology="core:0", stat=stat)
  call check(stat < 0, "topology")
  call ls_mesh_open(mesh, cpus="99999", stat=stat)
  call check(stat == LS_EINVAL, "cpus")
  call check(ls_mesh_devices(mesh) == 4, "a mesh that failed to open again")

  call regression()
  call kinds()
  call shapes()
  call classes()
  call gradients()
  call runs()
  call named()
  call generation()
  call handles()
  call wrong()
  call unfit()
  call ls_pool_close(pool)
  call ls_mesh_close(mesh)
  print "(a)", "every call: as it should be"

contains

  include "check.inc"

  ! A graph of x(2,rows) and y(1,rows).
  subroutine small(graph, dropped)
    type(ls_graph), intent(inout) :: graph
    logical, intent(in), optional :: dropped
    type(ls_node) :: x, y, h

    call ls_graph_new(graph)
    x = ls_input(graph, "x", [2])
    y = ls_input(graph, "y", [1])
    h = ls_gelu(ls_dense(x, 8, "hidden"))
    if (present(dropped)) h = ls_dropout(h, 0.1d0, "drop")
    h = ls_dense(h, 1, "out")
    call ls_output(graph, h, "estimate")
    call ls_metric(graph, ls_abs(h - y))
    call ls_loss(graph, ls_mean_squared_error(h, y))
  end subroutine small

  subroutine rows(x, y)
    real(real32), intent(out) :: x(:, :), y(:, :)
    integer :: i

    do i = 1, size(x, 2)
      x(:, i) = [mod(i, 8) / 8., mod(i / 8, 8) / 8.]
    end do
    y(1, :) = x(1, :) * x(2, :)
  end subroutine rows

  ! Options, steps, parameters and files.
  subroutine regression()
    type(ls_graph) :: graph
    type(ls_trainer) :: trainer, again
    type(ls_batch) :: batch
    type(ls_result) :: r, first, evaluation
    type(ls_schedule) :: schedule
    type(ls_group) :: groups(2)
    type(ls_optimizer) :: optimizer
    real(real32), target :: x(2, 32), y(1, 32), weights(32)
    real(real32) :: bias(8), kernel(8, 2), estimate(1, 32), losses(32)
    real(real64) :: wide(1, 32), kernel64(8, 2)
    character(64) :: hex, other
    integer :: i

    call rows(x, y)
    call small(graph)
    optimizer = ls_adamw(1d-2)
    optimizer%weight_decay = 1d-3
    schedule = ls_schedule_defaults(LS_COSINE)
    schedule%decay_steps = 100
    groups(1)%names = "*bias"
    groups(1)%decay = 0
    groups(2)%names = "out.*"
    groups(2)%rate = 0.5d0
    call ls_trainer_open(trainer, pool, graph, optimizer, seed=3_int64, &
      schedule=schedule, clip_norm=1d0, clip_value=0.5d0, average=0.9d0, &
      accumulate=2, mean=LS_MEAN_EXACT, state=LS_SHARD, data_axis="data", &
      precision=LS_F32_LAYERS, groups=groups, keys=LS_KEYS_NNX, &
      even_rows=.false.)
    call ls_batch_open(batch, trainer)
    call ls_batch_set(batch, "x", x)
    call ls_batch_set(batch, "y", y)
    weights = 1
    call ls_batch_set_weights(batch, weights)
    call ls_step(trainer, batch, first)
    do i = 1, 20
      call ls_step(trainer, batch, r)
    end do
    call check(first%step == 0 .and. r%step == 20 .and. r%rows == 32, "steps")
    call check(r%updated .and. r%loss < first%loss, "the loss sinks")
    call check(r%grad_norm > 0, "norm")
    call ls_evaluate(trainer, batch, evaluation)
    call check(evaluation%loss < first%loss, "evaluation")
    call check(evaluation%metric(1) > 0, "metric")
    call ls_predict(trainer, batch, "estimate", estimate)
    call ls_predict(trainer, batch, "estimate", wide)
    call check(all(real(wide, real32) == estimate), "predictions")
    call ls_row_losses(trainer, batch, losses)
    call check(all(abs(losses - (estimate(1, :) - y(1, :))**2) < 1e-6), &
               "losses of rows")
    call check(abs(sum(losses) / 32 - evaluation%loss) < 1e-6, "their mean")
    call ls_row_losses(trainer, batch, wide(1, :))
    call check(all(wide(1, :) == losses), "losses of rows in double")
    wide(1, :) = 0
    wide(1, 3) = 2
    call ls_batch_set_weights(batch, wide(1, :))
    call ls_evaluate(trainer, batch, r)
    call check(r%weight == 2 .and. abs(r%loss - losses(3)) < 1e-6, &
               "weights in double")
    call ls_batch_set_weights(batch, weights)

    call check(ls_trainer_devices(trainer) == 4, "devices of the trainer")
    call check(ls_trainer_params(trainer) == 4, "number of parameters")
    call check(ls_trainer_param_name(trainer, 2) == "hidden.kernel", "name")
    call check(all(ls_trainer_param_shape(trainer, 2) == [8, 2]), "shape")
    call check(size(ls_trainer_param_shape(trainer, 9)) == 0, "no such one")
    call ls_trainer_get(trainer, "hidden.bias", bias)
    call ls_trainer_get(trainer, "hidden.kernel", kernel)
    call ls_trainer_get(trainer, "hidden.kernel", kernel64)
    call check(all(real(kernel64, real32) == kernel), "two kinds of reals")
    call ls_trainer_set(trainer, "hidden.kernel", 2 * kernel)
    call ls_trainer_get(trainer, "hidden.kernel", kernel64)
    call check(all(real(kernel64, real32) == 2 * kernel), "what was set")
    call ls_trainer_set(trainer, "hidden.kernel", kernel64 / 2)
    call ls_trainer_check(trainer)
    call check(ls_trainer_step(trainer) == 21, "updates")
    call ls_trainer_set_lr(trainer, 5d-3)
    call ls_trainer_use_average(trainer, .true.)
    call ls_step(trainer, batch, stat=stat, errmsg=message)
    call check(stat == LS_EINVAL, "no step on the average")
    call ls_trainer_use_average(trainer, .false.)

    call ls_trainer_hash(trainer, hex)
    call ls_trainer_save(trainer, "", stat, message)
    call check(stat == LS_EINVAL .and. message == "a path is empty", "no path")
    call ls_trainer_save(trainer, folder // "/weights.safetensors")
    call ls_trainer_save_model(trainer, folder // "/model.safetensors")
    call ls_trainer_open(again, pool, graph, ls_sgd(0.1d0))
    call ls_trainer_hash(again, other)
    call check(hex /= other, "another state")
    call ls_trainer_load(again, folder // "/weights.safetensors")
    call ls_trainer_load(again, folder // "/weights.safetensors", "out.*")
    call ls_batch_open(batch, again)
    call ls_batch_set(batch, "x", x)
    call ls_predict(again, batch, "estimate", wide)
    call check(all(real(wide, real32) == estimate), "what was loaded")
    call ls_trainer_set_step(again, 7_int64)
    call check(ls_trainer_step(again) == 7, "what the step was set to")
    call predictions(trainer, x, estimate)
    call ls_batch_close(batch)
    call ls_trainer_close(again)
    call ls_trainer_close(trainer)
    call ls_graph_free(graph)
  end subroutine regression

  subroutine predictions(trainer, x, estimate)
    type(ls_trainer), intent(in) :: trainer
    real(real32), intent(in), target :: x(:, :)
    real(real32), intent(in) :: estimate(:, :)
    type(ls_predictor) :: predictor
    type(ls_context) :: context
    type(ls_graph) :: graph
    type(ls_trainer) :: more
    real(real32) :: y(1, size(x, 2))
    real(real64) :: wide(1, size(x, 2))

    call ls_predictor_load(predictor, folder // "/model.safetensors")
    call ls_context_open(context, predictor)
    call ls_context_set(context, "x", x)
    call ls_context_predict(context, "estimate", y)
    call check(all(y == estimate), "a model file's predictions")
    call ls_predictor_open(predictor, trainer)
    call ls_predictor_refresh(predictor, trainer)
    call ls_context_open(context, predictor, pool)
    call ls_context_set(context, "x", real(x, real64))
    call ls_context_predict(context, "estimate", wide)
    call check(all(real(wide, real32) == estimate), "a predictor's")
    call ls_context_set(context, "z", x, stat, message)
    call check(stat == LS_ENOTFOUND, "an input that is not there")
    call ls_context_close(context)
    call ls_predictor_close(predictor)
    call ls_graph_load(graph, folder // "/model.safetensors")
    call ls_trainer_open(more, pool, graph, ls_momentum(0.1d0, 0.9d0))
    call check(ls_trainer_params(more) == 4, "a graph from a file")
    call ls_graph_load(graph, folder // "/none", stat)
    call check(stat == LS_EIO, "a file that is not there")
    call ls_graph_new(graph)
    call check(all(ls_node_shape(ls_graph_add_saved(ls_input(graph, "x", [2]), &
      "whole", folder // "/model.safetensors")) == [1]), "a model in a graph")
  end subroutine predictions

  ! The same numbers as real32 and real64, int32 and int64: the same state.
  subroutine kinds()
    type(ls_graph) :: graph
    type(ls_trainer) :: a, b
    type(ls_batch) :: batch
    type(ls_node) :: x, labels
    real(real32), target :: x32(2, 16), y32(1, 16)
    integer(int32), target :: l32(16)
    character(64) :: hash(2)
    integer :: i, step

    call rows(x32, y32)
    l32 = [(mod(i, 3), i = 1, 16)]
    call ls_graph_new(graph)
    x = ls_input(graph, "x", [2])
    labels = ls_input(graph, "labels", type=LS_I32)
    call ls_loss(graph, ls_cross_entropy(ls_dense(x, 3, "logits"), labels))
    call ls_trainer_open(a, pool, graph, ls_adam(1d-2))
    call ls_trainer_open(b, pool, graph, ls_adam(1d-2))
    call ls_batch_open(batch, a)
    call ls_batch_set(batch, "x", x32)
    call ls_batch_set(batch, "labels", l32)
    call ls_step(a, batch)
    call ls_step(a, batch)
    call ls_trainer_hash(a, hash(1))
    call ls_batch_open(batch, b)
    do step = 1, 2
      call ls_batch_set(batch, "x", real(x32, real64))
      call ls_batch_set(batch, "labels", int(l32, int64))
      call ls_step(b, batch)
    end do
    call ls_trainer_hash(b, hash(2))
    call check(hash(1) == hash(2), "two kinds of numbers")
    call ls_batch_set(batch, "labels", [int(l32(:15), int64), 2_int64**40], &
                      stat, message)
    call check(stat == LS_ERANGE, "a label beyond 32 bits")
    call ls_batch_set(batch, "x", x32(:, ::2), stat, message)
    call check(stat == LS_EINVAL .and. index(message, "contiguous") > 0, &
               "rows with gaps")
  end subroutine kinds

  ! Shapes and axes are those of Fortran's arrays.
  subroutine shapes()
    type(ls_graph) :: graph
    type(ls_node) :: x, a, y(2), last

    call ls_graph_new(graph)
    x = ls_input(graph, "x", [3, 5, 7]) ! C's (7,5,3)
    call check(all(ls_node_shape(x) == [3, 5, 7]), "shape of an input")
    call check(all(ls_node_shape(ls_reshape(x, [15, 7])) == [15, 7]), &
               "reshape")
    call check(all(ls_node_shape(ls_transpose(x, [2, 3, 1])) == [5, 7, 3]), &
               "transpose")
    call check(all(ls_node_shape(ls_slice(x, 1, 1, 2)) == [2, 5, 7]), "slice")
    y = x
    call check(all(ls_node_shape(ls_concat(y, 3)) == [3, 5, 14]), "concat")
    call check(all(ls_node_shape(ls_sum_over(x, [1])) == [5, 7]), "sum")
    call check(all(ls_node_shape(ls_conv2d(x, 4, ls_window(3, 3, 1, 1, &
      LS_SAME), "conv")) == [4, 5, 7]), "convolution")
    a = ls_lstm_with(ls_input(graph, "s", [4, 6]), 5, "rnn", last=last)
    call check(all(ls_node_shape(a) == [5, 6]), "a layer of steps")
    call check(all(ls_node_shape(last) == [5, 2]), "its last state")
    a = 1d0 - (2d0 * x + x * 0.5d0 - 3d0) / 4d0 + (-x) / (x + 1d0) + 2d0
    call check(all(ls_node_shape(a) == [3, 5, 7]), "arithmetic")
    x = ls_input(graph, "t", type=LS_I32)
    call check(size(ls_node_shape(x)) == 0, "a number a row")
    call ls_init_params(graph, "*kernel", "he-normal")
    call ls_init_params(graph, "*kernel", "no such", stat, message)
    call check(stat == LS_ENOTFOUND, "an initialiser")
  end subroutine shapes

  ! A transposition's values, and not only its shape.
  subroutine classes()
    type(ls_graph) :: graph
    type(ls_trainer) :: trainer
    type(ls_batch) :: batch
    type(ls_node) :: x, t
    real(real32), target :: values(2, 3, 4)
    real(real32) :: turned(3, 2, 4), part(2, 1, 4)
    integer :: i

    values = reshape([(real(i), i = 1, 24)], [2, 3, 4])
    call ls_graph_new(graph)
    x = ls_input(graph, "x", [2, 3])
    t = ls_transpose(x, [2, 1])
    call ls_output(graph, t, "turned")
    call ls_output(graph, ls_slice(x, 2, 1, 1), "part")
    call ls_loss(graph, ls_mean_loss(ls_dense(t, 1, "d")))
    call ls_trainer_open(trainer, pool, graph)
    call ls_batch_open(batch, trainer)
    call ls_batch_set(batch, "x", values)
    call ls_predict(trainer, batch, "turned", turned)
    call ls_predict(trainer, batch, "part", part)
    do i = 1, 4
      call check(all(turned(:, :, i) == transpose(values(:, :, i))), "turned")
    end do
    call check(all(part(:, 1, :) == values(:, 2, :)), "the second column")
  end subroutine classes

  ! Gradients in hand make the step that ls_step makes.
  subroutine gradients()
    type(ls_graph) :: graph
    type(ls_trainer) :: a, b
    type(ls_batch) :: batch
    type(ls_gradients) :: g
    type(ls_result) :: r
    real(real32), target :: x(2, 16), y(1, 16)
    real(real32) :: mean(8), device(8), by_x(2, 16)
    real(real64) :: wide(8), wide_by_x(2, 16)
    character(64) :: hash(2)

    call rows(x, y)
    call small(graph, .true.)
    call ls_trainer_open(a, pool, graph, ls_nesterov(0.1d0, 0.9d0))
    call ls_trainer_open(b, pool, graph, ls_nesterov(0.1d0, 0.9d0))
    call ls_batch_open(batch, a)
    call ls_batch_set(batch, "x", x)
    call ls_batch_set(batch, "y", y)
    call ls_step(a, batch)
    call ls_trainer_hash(a, hash(1))
    call ls_batch_open(batch, b)
    call ls_batch_set(batch, "x", x)
    call ls_batch_set(batch, "y", y)
    call ls_input_gradient(b, batch, "x", by_x, train=.true.)
    call check(any(by_x /= 0), "a gradient by x")
    call ls_input_gradient(b, batch, "x", wide_by_x, train=.true.)
    call check(all(wide_by_x == by_x), "a gradient by x in double")
    call ls_gradients_open(g, b)
    call ls_gradients_compute(g, batch, r)
    call check(.not. r%updated, "no update yet")
    call ls_gradients_get(g, "hidden.bias", mean)
    call ls_gradients_get_device(g, 4, "hidden.bias", device)
    call ls_gradients_get(g, "hidden.bias", wide)
    call check(all(wide == mean) .and. any(wide /= 0), "a gradient in double")
    call ls_gradients_get_device(g, 4, "hidden.bias", wide)
    call check(all(wide == device), "a device's gradient in double")
    call ls_gradients_get_device(g, 0, "hidden.bias", wide, stat)
    call check(stat == LS_EINVAL, "device 0")
    call ls_gradients_set(g, "hidden.bias", 2 * mean)
    call ls_gradients_get(g, "hidden.bias", wide)
    call check(all(wide == 2 * mean), "a gradient that was set")
    call ls_gradients_set(g, "hidden.bias", real(mean, real64))
    call ls_gradients_apply(g, r)
    call check(r%updated, "an update")
    call ls_trainer_hash(b, hash(2))
    call check(hash(1) == hash(2), "gradients in hand")
    call ls_gradients_clear(g)
    call ls_gradients_get(g, "hidden.bias", mean)
    call check(all(mean == 0), "cleared")
    call ls_gradients_close(g)
    call ls_gradients_open(g, b, batches=2)
    call ls_gradients_add(g, batch)
    call ls_gradients_add(g, batch)
    call ls_gradients_add(g, batch, stat, message)
    call check(stat == LS_EINVAL, "a third batch")
    call ls_gradients_mean(g, r)
    call check(r%rows == 32, "rows of the mean")
  end subroutine gradients

  ! An object lives as long as a handle of it, and as what stands on it.
  subroutine handles()
    type(ls_graph) :: graph
    type(ls_trainer) :: trainer, other
    type(ls_gradients) :: g
    type(ls_pool) :: own
    real(real32) :: mean(8)

    call small(graph)
    call ls_pool_open(own, mesh, pin_caller=.false.)
    call ls_trainer_open(trainer, own, graph)
    call ls_pool_close(own)
    call ls_gradients_open(g, trainer)
    other = trainer
    call ls_trainer_close(trainer)
    call check(ls_trainer_params(other) == 4, "the other handle")
    other = other
    call check(ls_trainer_params(other) == 4, "a handle given to itself")
    call ls_trainer_close(other)
    call ls_trainer_close(other)
    call ls_gradients_get(g, "hidden.bias", mean)
    call check(all(mean == 0), "gradients of a trainer without a handle")
  end subroutine handles

  ! What is not open, and what is wrong in a graph.
  subroutine wrong()
    type(ls_graph) :: graph
    type(ls_trainer) :: trainer
    type(ls_batch) :: batch
    type(ls_boundary) :: boundaries(2)
    type(ls_schedule) :: schedule
    real(real32), target :: x(2, 4)
    real(real32) :: few(3)

    call ls_step(trainer, batch, stat=stat, errmsg=message)
    call check(stat == LS_EINVAL .and. index(message, "NULL") > 0, "no trainer")
    call ls_batch_set(batch, "x", real(x, real64), stat, message)
    call check(stat == LS_EINVAL, "no batch")
    call ls_graph_new(graph)
    call ls_loss(graph, ls_dense(ls_input(graph, "x", [2]), 0, "d"), stat)
    call check(stat < 0, "a layer without units")
    call ls_trainer_open(trainer, pool, graph, stat=stat, errmsg=message)
    call check(stat < 0 .and. index(message, "d") > 0, "a graph with an error")
    call small(graph)
    boundaries(1) = ls_boundary(5_int64, 0.5d0)
    boundaries(2) = ls_boundary(2_int64, 0.5d0)
    schedule = ls_schedule_defaults(LS_PIECEWISE)
    call ls_trainer_open(trainer, pool, graph, schedule=schedule, &
                         boundaries=boundaries, stat=stat, errmsg=message)
    call check(stat < 0, "boundaries that do not rise")
    call ls_trainer_open(trainer, pool, graph)
    call ls_trainer_get(trainer, "hidden.bias", few, stat, message)
    call check(stat == LS_ESHAPE, "too few elements")
    call ls_trainer_get(trainer, "hiden.bias", few, stat, message)
    call check(stat == LS_ENOTFOUND .and. index(message, "hidden.bias") > 0, &
               "a misspelt name")
  end subroutine wrong

  ! Arrays that are not what an input or a result wants.
  subroutine unfit()
    type(ls_graph) :: graph
    type(ls_trainer) :: trainer
    type(ls_batch) :: batch
    type(ls_predictor) :: predictor
    type(ls_context) :: context
    real(real32), target :: x(2, 8), turned(8, 2), wide(3, 8), y(8)
    real(real32) :: estimate(1, 8), column(8, 1), kernel(8, 2), lying(2, 8), &
      by_x(2, 8)
    real(real64) :: column64(8, 1), lying64(2, 8)
    type(ls_gradients) :: g
    real(real32), allocatable, target :: none(:, :)
    real(real64), allocatable :: none64(:, :), none_a_row(:)
    integer(int64), allocatable :: labels(:)
    real(real32), pointer :: weights(:)

    x = 1
    turned = 1
    wide = 1
    y = 1
    call small(graph)
    call ls_trainer_open(trainer, pool, graph)
    call ls_batch_open(batch, trainer)
    call ls_batch_set(batch, "x", turned, stat, message)
    call check(stat == LS_ESHAPE .and. index(message, "(8,2)") > 0 .and. &
               index(message, "(2,rows)") > 0, "x(rows,features)")
    call ls_batch_set(batch, "x", real(turned, real64), stat, message)
    call check(stat == LS_ESHAPE, "x(rows,features) in double")
    call ls_batch_set(batch, "x", wide, stat)
    call check(stat == LS_ESHAPE, "a feature more")
    call ls_batch_set(batch, "x", y, stat)
    call check(stat == LS_ESHAPE, "too few numbers")
    call ls_batch_set(batch, "x", none, stat, message)
    call check(stat == LS_EINVAL .and. index(message, "allocated") > 0, &
               "x that is not allocated")
    call ls_batch_set(batch, "x", none64, stat, message)
    call check(stat == LS_EINVAL .and. index(message, "allocated") > 0, &
               "x in double that is not allocated")
    call ls_batch_set(batch, "x", labels, stat)
    call check(stat == LS_EINVAL, "integers that are not allocated")
    weights => null()
    call ls_batch_set_weights(batch, weights, stat, message)
    call check(stat == LS_EINVAL .and. index(message, "allocated") > 0, &
               "no weights")
    call ls_batch_set_weights(batch, none_a_row, stat, message)
    call check(stat == LS_EINVAL .and. index(message, "allocated") > 0, &
               "no weights in double")
    call ls_batch_set(batch, "x", x)
    call ls_batch_set(batch, "y", y) ! a number a row needs no second index
    call ls_step(trainer, batch)
    call ls_predict(trainer, batch, "estimate", none, stat)
    call check(stat < 0, "no array for predictions")
    call ls_predict(trainer, batch, "estimate", none64, stat)
    call check(stat < 0, "none in double")
    call ls_trainer_get(trainer, "hidden.kernel", none64, stat)
    call check(stat < 0, "no array for a parameter")
    call ls_trainer_set(trainer, "hidden.kernel", none64, stat)
    call check(stat < 0, "no array of a parameter")
    ! Of the right size, and of another shape.
    call ls_predict(trainer, batch, "estimate", column, stat, message)
    call check(stat == LS_ESHAPE .and. index(message, """estimate""") > 0 .and. &
      index(message, "(8,1), and not (1,rows)") > 0, "predictions turned")
    call ls_predict(trainer, batch, "estimate", column64, stat)
    call check(stat == LS_ESHAPE, "predictions turned, in double")
    call ls_predict(trainer, batch, "estimate", y, stat)
    call check(stat == 0, "a prediction a row needs no second index")
    call ls_trainer_get(trainer, "hidden.kernel", lying, stat, message)
    call check(stat == LS_ESHAPE .and. &
      index(message, "(2,8), and not (8,2)") > 0, "a kernel turned")
    call ls_trainer_get(trainer, "hidden.kernel", lying64, stat)
    call check(stat == LS_ESHAPE, "a kernel turned, in double")
    call ls_trainer_get(trainer, "hidden.kernel", kernel)
    call ls_trainer_set(trainer, "hidden.kernel", transpose(kernel), stat)
    call check(stat == LS_ESHAPE, "a kernel set turned")
    call ls_trainer_set(trainer, "hidden.kernel", reshape(kernel, [16]), stat)
    call check(stat == 0, "a kernel as a list")
    call ls_gradients_open(g, trainer)
    call ls_gradients_compute(g, batch)
    call ls_gradients_get(g, "hidden.kernel", kernel)
    call ls_gradients_get(g, "hidden.kernel", lying, stat, message)
    call check(stat == LS_ESHAPE .and. &
      index(message, "ls_gradients_get: ") == 1, "a gradient turned")
    call ls_gradients_get_device(g, 1, "hidden.kernel", lying, stat)
    call check(stat == LS_ESHAPE, "a device's gradient turned")
    call ls_gradients_set(g, "hidden.kernel", transpose(kernel), stat)
    call check(stat == LS_ESHAPE, "a gradient set turned")
    call ls_input_gradient(trainer, batch, "x", by_x)
    call ls_input_gradient(trainer, batch, "x", turned, stat=stat)
    call check(stat == LS_ESHAPE, "a gradient by x turned")
    call ls_predictor_open(predictor, trainer)
    call ls_context_open(context, predictor)
    call ls_context_set(context, "x", x)
    call ls_context_predict(context, "estimate", estimate)
    call ls_context_predict(context, "estimate", column, stat)
    call check(stat == LS_ESHAPE, "a context's predictions turned")
    call ls_context_set(context, "x", turned, stat, message)
    call check(stat == LS_ESHAPE .and. index(message, "(8,2)") > 0, &
               "x(rows,features) for a context")
    call ls_context_set(context, "x", none, stat, message)
    call check(stat == LS_EINVAL .and. index(message, "allocated") > 0, &
               "x of a context that is not allocated")
  end subroutine unfit

  ! Inputs whose names are of different lengths.
  subroutine named()
    type(ls_graph) :: graph
    type(ls_trainer) :: trainer
    type(ls_batch) :: batch
    type(ls_source) :: source
    type(ls_loader) :: loader
    real(real32), target :: x(2, 8), y(1, 8)

    call rows(x, y)
    call ls_graph_new(graph)
    call ls_loss(graph, ls_mean_squared_error( &
      ls_dense(ls_input(graph, "x", [2]), 1, "out"), &
      ls_input(graph, "a_longer_name", [1])))
    call ls_trainer_open(trainer, pool, graph)
    call ls_batch_open(batch, trainer)
    call ls_source_add(source, "x", x)
    call ls_source_add(source, "a_longer_name", y)
    call ls_loader_open(loader, trainer, source, batch=4)
    call ls_loader_fill(loader, 1_int64, batch)
    call ls_step(trainer, batch)
  end subroutine named

  ! A loader's batches, and a run that goes on from a checkpoint.
  subroutine runs()
    type(ls_graph) :: graph
    type(ls_trainer) :: trainer, again
    type(ls_batch) :: batch
    type(ls_source) :: source, bad
    type(ls_loader) :: loader
    type(ls_checkpoints) :: kept
    type(ls_setting) :: settings(1), notes(1)
    real(real32), target :: x(2, 32), y(1, 32), more(2, 33)
    integer(int64) :: n, step
    character(64) :: hex, other

    call rows(x, y)
    call small(graph)
    call ls_trainer_open(trainer, pool, graph, ls_adam(1d-2))
    call ls_batch_open(batch, trainer)
    call ls_source_add(source, "x", x)
    call ls_source_add(source, "y", y)
    call ls_loader_open(loader, trainer, source, batch=8, seed=3_int64, &
      uneven=LS_UNEVEN_PAD, no_thread=.true.)
    call check(ls_loader_batches(loader) == 4, "batches")
    settings(1)%name = "data"
    settings(1)%value = "eighths"
    notes(1)%name = "place"
    notes(1)%value = "after 6"
    call ls_checkpoints_open(kept, trainer, folder // "/run", keep=2, &
      settings=settings, may_change="lr", keep_first=.true.)
    call ls_checkpoints_load(kept, step)
    call check(step == -1 .and. ls_checkpoints_count(kept) == 0, "none yet")
    do step = 0, 7
      call ls_loader_fill(loader, step, batch, n)
      call check(n == 8, "rows of a batch")
      call ls_step(trainer, batch)
      if (step == 5) call ls_checkpoints_save(kept, notes)
    end do
    call ls_checkpoints_save(kept)
    call ls_checkpoints_wait(kept)
    call check(ls_checkpoints_count(kept) == 2, "two checkpoints")
    call check(ls_loader_seconds(loader) >= 0, "seconds")
    call ls_trainer_hash(trainer, hex)
    call ls_checkpoints_back(kept, 8_int64, step)
    call check(step == 6 .and. ls_checkpoints_note(kept, "place") == &
      "after 6" .and. ls_checkpoints_skipped(kept) == "", "back")
    call check(ls_checkpoints_note(kept, "other") == "", "no such note")
    do while (step < 8)
      call ls_loader_fill(loader, step, batch)
      call ls_step(trainer, batch)
      step = step + 1
    end do
    call ls_trainer_hash(trainer, other)
    call check(hex == other, "the same state again")
    call ls_checkpoints_close(kept)
    settings(1)%value = "others"
    call ls_trainer_open(again, pool, graph, ls_adam(1d-2))
    call ls_checkpoints_open(kept, again, folder // "/run", settings=settings)
    call ls_checkpoints_load(kept, step, stat, message)
    call check(stat == LS_EINVAL .and. index(message, "eighths") > 0, "setting")
    call ls_checkpoints_save(kept, [ls_setting("root", "no root")], stat)
    call check(stat == LS_EINVAL, "a note that is no root")
    call ls_checkpoints_open(kept, again, folder // "/none/run", stat=stat)
    call check(stat < 0, "a folder that cannot be made")
    call ls_checkpoints_wait(kept)
    call ls_checkpoints_back(kept, 0_int64, step)
    call check(step == -1, "nothing before the first")
    call ls_loader_open(loader, trainer, bad, stat=stat)
    call check(stat < 0, "a source without arrays")
    call ls_source_add(bad, "x", more, at=1, length=2)
    call ls_loader_open(loader, trainer, bad, stat=stat, errmsg=message)
    call check(stat < 0 .and. index(message, "x") > 0, "another shape")
    call ls_loader_close(loader)
    call ls_loader_fill(loader, 0_int64, batch, stat=stat)
    call check(stat < 0, "a loader that is closed")
    call ls_checkpoints_close(kept)
  end subroutine runs

  ! Tokens one after the other make what a whole sequence makes.
  subroutine generation()
    type(ls_graph) :: graph
    type(ls_trainer) :: trainer
    type(ls_predictor) :: predictor
    type(ls_generator) :: generator
    type(ls_node) :: x
    real(real32) :: first(5), y(5)
    real(real64) :: wide(5)
    integer(int32) :: tokens(3) = [1, 4, 2]

    call ls_graph_new(graph)
    x = ls_input(graph, "tokens", [6], LS_I32)
    x = ls_embed(x, 5, 8, "embed")
    x = x + ls_self_attention(x, 2, .true., "mix")
    x = ls_dense(x, 5, "out")
    call ls_output(graph, x, "next")
    call ls_loss(graph, ls_mean_loss(ls_sum_over(x * x, [1, 2])))
    call ls_trainer_open(trainer, pool, graph)
    call ls_predictor_open(predictor, trainer)
    call ls_generator_open(generator, predictor, "next")
    call check(ls_generator_window(generator) == 6, "window")
    call ls_generator_append(generator, tokens, first)
    call check(ls_generator_length(generator) == 3, "length")
    call ls_generator_cut(generator, 1_int64)
    call ls_generator_append(generator, tokens(2:2), y)
    call ls_generator_append(generator, tokens(3:3), y)
    call check(all(y == first), "one by one")
    call ls_generator_cut(generator, 2_int64)
    call ls_generator_append(generator, tokens(3:3), wide)
    call check(all(wide == first), "in double")
    call ls_generator_append(generator, [0, 0, 0, 0], y, stat, message)
    call check(stat == LS_ERANGE, "too many tokens")
    call ls_generator_cut(generator, 9_int64, stat)
    call check(stat == LS_ERANGE, "a cut behind the end")
    call ls_generator_open(generator, predictor, "none", stat)
    call check(stat == LS_ENOTFOUND, "no such output")
    call ls_generator_close(generator)
  end subroutine generation

end program every_call
