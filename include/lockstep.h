/* SPDX-License-Identifier: BSD-3-Clause */
/* lockstep trains neural networks, data-parallel, on the cores of one machine,
 * from C.
 *
 * Build a graph, open a trainer with it, step it.  A step cuts the batch into
 * one shard per device, computes each shard's gradient into that device's own
 * buffer, adds the buffers in the order of a fixed binary tree, multiplies once
 * by 1 / (sum of row weights), and updates the parameters once.  The number of
 * devices belongs to the experiment: results depend on it.  The number of
 * workers (threads) belongs to the machine: results never depend on it.
 *
 * A complete program (examples/02_mlp.c is this one with its data):
 *
 *     ls_mesh *mesh;  ls_pool *pool;  ls_graph *g;
 *     ls_trainer *t;  ls_batch *b;  ls_result r;
 *     ls_mesh_open(&mesh, NULL);                     8 devices, all cores
 *     ls_pool_open(&pool, mesh, NULL);
 *     ls_graph_new(&g);
 *     ls_node *x = ls_input(g, "x", LS_F32, 1, (int64_t[]){2});
 *     ls_node *y = ls_input(g, "y", LS_F32, 1, (int64_t[]){1});
 *     ls_node *h = ls_gelu(ls_dense(x, 32, "hidden"));
 *     ls_loss(g, ls_mean_squared_error(ls_dense(h, 1, "out"), y));
 *     ls_trainer_options o = ls_trainer_defaults();
 *     o.optimizer = ls_adam(1e-2);
 *     if (ls_trainer_open(&t, pool, g, &o) < 0) puts(ls_errmsg());
 *     ls_batch_open(&b, t);
 *     for (int step = 0; step < 200; step++) {
 *         ls_batch_set(b, "x", LS_F32, xs, 64);
 *         ls_batch_set(b, "y", LS_F32, ys, 64);
 *         if (ls_step(t, b, &r) < 0) puts(ls_errmsg());
 *     }
 *
 * Five rules hold for every function below unless its comment says otherwise.
 *
 * Errors.  A function that can fail returns int: 0, or a negative status of
 * LS_ERRORS; where what it returns is a number (an index, a rank, a count), the
 * number or a negative status.  ls_errmsg() then names the thing, the sizes and
 * the place.  Results go through pointer arguments and are untouched on
 * failure.  Functions that build a graph return a node, a number or a status;
 * NULL in gives NULL out.  The first error of any of them sticks to the graph
 * and is returned when a trainer or model is opened with it, so that calls nest
 * (unless ls_graph_errors_pass).  The library never prints, exits or aborts on
 * bad input.  Pass NULL only where a comment says what it means.  Otherwise the
 * call fails with LS_EINVAL and names the argument, "ls_step: batch is NULL";
 * functions that cannot fail otherwise return 0, NULL, false, NaN or "".
 *
 * Lists.  Entry i = 0, 1, .. of a list is stored, and true returned; or it is
 * returned where it is a pointer.  False or NULL is past the last:
 *
 *     for (int i = 0; ls_archive_entry(archive, i, &entry); i++)
 *
 * Where programs need the number beforehand, there is a function for it.  An
 * array in a struct goes with its number: `n_groups` and `groups`.
 *
 * Ownership.  What is opened (or new) is closed (or freed) by the caller,
 * children before parents; the ending half accepts NULL.  Strings passed in
 * are copied, strings handed out live as long as their owner.  Data passed in
 * as const is borrowed for the call unless a comment says until when.
 *
 * Threads.  An object may be used by one thread at a time, by any thread.
 * Different objects may be used at the same time: nothing of the library's that
 * a call changes is shared by all of them.  (ls_errmsg() is each thread's own;
 * what the CPU can do is found out once.)  A call that uses workers takes the
 * pool meanwhile, as lockstep/pool.h says.
 * A thread that calls the library needs a stack of 96 kB; workers have their
 * own.
 *
 * Growth.  A struct that a version may extend goes with its size: options have
 * it as their first member, and a function that fills a struct is inline and
 * hands its size to one of the same name with _bytes at its end.  Members are
 * added at the end.  All other structs keep their members as long as the
 * library's soname is the same.  lockstep/base.h has it in full.
 *
 * This file includes all headers of the library, each of which can be included
 * alone.  A newcomer reads the first part in its order:
 *
 *     lockstep/base.h        version, statuses, arrays
 *     lockstep/mesh.h        devices, axes, places of workers
 *     lockstep/pool.h        the pinned workers
 *     lockstep/graph.h       nodes, inputs, outputs, the loss
 *     lockstep/ops.h         operators, layers and losses of a graph
 *     lockstep/optim.h       optimizers and schedules
 *     lockstep/trainer.h     one model, one optimizer, one step
 *     lockstep/source.h      rows of data by their numbers
 *     lockstep/loader.h      the batch of every step, made beforehand
 *     lockstep/checkpoint.h  what a run needs to go on bit for bit
 *
 *     lockstep/arithmetic.h  arithmetic on nodes, and losses made of it
 *     lockstep/norms.h       layers that normalise
 *     lockstep/initial.h     how parameters start
 *     lockstep/precision.h   the numbers that layers compute with
 *     lockstep/own.h         own gradients, operators and losses
 *     lockstep/control.h     early stopping, lower rates on a plateau
 *     lockstep/gradients.h   gradients in hand, before they are applied
 *     lockstep/model.h       graphs and weights as model files
 *     lockstep/predictor.h   predictions on any thread, and generated texts
 *     lockstep/lora.h        low-rank adapters on a saved model
 *     lockstep/archive.h     what safetensors files and checkpoints hold
 *     lockstep/random.h      the random numbers of JAX and NumPy
 *     lockstep/placement.h   who owns and updates which part of the state
 *     lockstep/collective.h  shards, a function on every device, collectives
 *     lockstep/machine.h     cores, caches, places of workers
 *     lockstep/measure.h     costs, times, backends, instruction levels
 *     lockstep/sparse.h      rows that are lists of what is not zero
 *     lockstep/trace.h       who did what, and when
 *     lockstep/transcript.h  hashes that commit a training to its bits
 *     lockstep/record.h      all that a step makes; the first difference
 *     lockstep/transport.h   ranks that train together
 *     lockstep/one_call.h    a step without opening anything
 *
 * Libraries of their own, which stand on this one, have lockstep/mpi.h, the
 * transport over MPI, and the readers of data sets (-llockstep_data):
 *
 *     lockstep/files.h       arrays in .npy and .npz files
 *     lockstep/images.h      sets of images as a source
 *     lockstep/table.h       rows of tables (CSV)
 *     lockstep/columns.h     models of tables, and predictions for their rows
 *     lockstep/realmlp.h     a network for tables with strong defaults
 */
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <lockstep/archive.h>
#include <lockstep/arithmetic.h>
#include <lockstep/base.h>
#include <lockstep/checkpoint.h>
#include <lockstep/collective.h>
#include <lockstep/control.h>
#include <lockstep/gradients.h>
#include <lockstep/graph.h>
#include <lockstep/initial.h>
#include <lockstep/loader.h>
#include <lockstep/lora.h>
#include <lockstep/machine.h>
#include <lockstep/measure.h>
#include <lockstep/mesh.h>
#include <lockstep/model.h>
#include <lockstep/norms.h>
#include <lockstep/one_call.h>
#include <lockstep/ops.h>
#include <lockstep/optim.h>
#include <lockstep/own.h>
#include <lockstep/placement.h>
#include <lockstep/pool.h>
#include <lockstep/precision.h>
#include <lockstep/predictor.h>
#include <lockstep/random.h>
#include <lockstep/source.h>
#include <lockstep/sparse.h>
#include <lockstep/trace.h>
#include <lockstep/trainer.h>
#include <lockstep/transcript.h>
#include <lockstep/record.h>
#include <lockstep/transport.h>

#endif
