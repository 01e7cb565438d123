/* SPDX-License-Identifier: BSD-3-Clause */
/* --lora: low-rank adapters on a model that --init gives, and their files. */
#ifndef TOOLS_ADAPT_H
#define TOOLS_ADAPT_H

#include "model/model.h"

/* Add the adapters that the settings ask for, or none; a status of the
 * library's. */
int adapt_add(ls_graph *graph, const start_settings *s);

/* Load --init and --lora :init, where they were given. */
int adapt_start(ls_trainer *trainer, const start_settings *s);

/* Write what --lora :save asks for to a file, with these notes: the model, or
 * its adapters alone, or the model with them in its weights.  Weights of onnx
 * lie as in its file.  temperature: of --calibrate; 0: there is none. */
int adapt_save(const ls_trainer *trainer, const settings *s, const char *path,
               int notes, const ls_setting *note, double temperature);

#endif
