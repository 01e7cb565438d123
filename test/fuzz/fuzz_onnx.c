/* SPDX-License-Identifier: BSD-3-Clause */
/* ONNX models that other programs wrote, in memory: a graph of what is accepted
 * is built, and a small one's weights go into a predictor. */
#define _GNU_SOURCE
#include "mutate.h"

#include <lockstep.h>
#include <lockstep/onnx.h>

enum { SMALL = 1 << 16 };

/* Are all rows and parameters small? */
static int is_small(const ls_graph *g)
{
    int64_t shape[LS_MAX_RANK], all = 0;
    ls_array_spec param;
    const ls_node *n;

    for (int i = 0; (n = ls_graph_node(g, i)); i++) {
        int rank = ls_node_shape(n, shape);
        int64_t size = 1;

        for (int k = 0; k < rank; k++)
            size *= shape[k];
        all += size;
        for (int p = 0; ls_node_param(n, p, &param); p++) {
            size = 1;
            for (int k = 0; k < param.rank; k++)
                size *= param.shape[k];
            all += size;
        }
        if (all > SMALL)
            return 0;
    }
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ls_onnx_options o = ls_onnx_defaults();
    ls_predictor *predictor;
    ls_onnx *onnx;
    ls_graph *g;

    o.sizes = "T=4,batch=2";
    o.channels_last = size % 2;
    if (ls_onnx_open_memory(&onnx, data, size) < 0)
        return 0;
    if (ls_graph_load_onnx(&g, onnx, &o) == 0) {
        if (is_small(g) &&
            ls_predictor_open_graph(&predictor, g, NULL) == 0) {
            if (ls_predictor_load_onnx(predictor, onnx) < 0 &&
                !strstr(ls_errmsg(), "finite"))
                abort();
            ls_predictor_close(predictor);
        }
        ls_graph_free(g);
    }
    ls_onnx_close(onnx);
    return 0;
}

#ifndef FUZZING
/* The models of the golden folder that are small. */
int main(void)
{
    static const char *const names[] = {"import_layers.onnx",
                                        "import_words.onnx",
                                        "import_terms.onnx"};
    static uint8_t bytes[1 << 16];
    const char *top = getenv("top_srcdir");

    for (int i = 0; i < 3; i++) {
        char path[4096];
        size_t n;
        FILE *f;

        snprintf(path, sizeof path, "%s/test/golden/%s", top ? top : "..",
                 names[i]);
        if (!(f = fopen(path, "rb"))) {
            perror(path);
            return 1;
        }
        n = fread(bytes, 1, sizeof bytes, f);
        fclose(f);
        LLVMFuzzerTestOneInput(bytes, n);
        feed(bytes, n, 3000);
    }
    return 0;
}
#endif
