/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of adapters, as they are and with their seal made right: what is
 * accepted adds adapters to a graph whose model is laid out, and what loads
 * into one that has adapters leaves it whole. */
#define _GNU_SOURCE
#include "weights/lora_file.h"
#include "model/ls_model.h"
#include "layers.h"
#include "sealed_files.h"
#include <lockstep/lora.h>

static ls_graph *graph(void)
{
    ls_graph *g;
    ls_node *x;

    if (ls_graph_new(&g) < 0)
        abort();
    x = ls_input(g, "x", LS_F32, 1, (int64_t[]){4});
    x = dense_no_bias(ls_relu(ls_dense(x, 3, "fc")), 2, "out");
    if (ls_output(g, x, "y") < 0)
        abort();
    return g;
}

static int open_model(ls__model *m, const ls_graph *g)
{
    ls__model_options o = {.purpose = LS__TO_PREDICT};
    int status = ls__model_open(m, g, &o);

    for (int64_t i = 0; status == 0 && i < m->params.floats; i++)
        m->value[i] = 0; /* as the good file's base has it */
    return status;
}

static void add_saved(const char *path)
{
    ls__model m = {0};
    ls_graph *g = graph();

    if (ls_lora_add_saved(g, path) == 0) {
        if (open_model(&m, g) < 0)
            abort();
        (void)ls__lora_load(g, &m.params, m.value, path);
        ls__model_close(&m);
    }
    ls_graph_free(g);
}

static void load(const char *path)
{
    ls__model m = {0};
    ls_graph *g = graph();

    if (ls_lora_add(g, "fc.kernel", 2, 4) < 0 || open_model(&m, g) < 0)
        abort();
    (void)ls__lora_load(g, &m.params, m.value, path);
    ls__model_close(&m);
    ls_graph_free(g);
}

static void parse(const char *path)
{
    add_saved(path);
    load(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sealed_files(data, size, parse);
    return 0;
}

#ifndef FUZZING
static int save(const ls__model *m, const char *path)
{
    const ls__model_view of = {.layout = &m->params, .value = m->value,
                         .graph = m->graph};

    return ls__lora_save(&of, path, 0, NULL);
}

/* What LS_SAVE_ADAPTERS is for the graph above. */
int main(void)
{
    static uint8_t file[4096];
    char path[] = "/tmp/fuzz-lora-XXXXXX";
    ls__model m = {0};
    ls_graph *g = graph();
    int fd = mkstemp(path);
    ssize_t n = 0;

    if (fd >= 0 && ls_lora_add(g, "fc.kernel", 2, 4) == 0 &&
        open_model(&m, g) == 0 && save(&m, path) == 0) {
        FILE *f = fopen(path, "rb"); /* the new one of that name */

        n = f ? (ssize_t)fread(file, 1, sizeof file, f) : 0;
        if (f)
            fclose(f);
        if (ls__lora_load(g, &m.params, m.value, path) < 0)
            n = 0;
    }
    if (fd >= 0)
        close(fd);
    unlink(path);
    ls__model_close(&m);
    ls_graph_free(g);
    if (n <= 0)
        return 1;
    feed(file, (size_t)n, 5000);
    return 0;
}
#endif
