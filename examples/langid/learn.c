/* SPDX-License-Identifier: BSD-3-Clause */
/* learn SENTENCES MODEL LANGUAGES.h: learns of which language a sentence is.
 *
 *     mean of embeddings of hashed n-grams -> dense, relu -> dense -> softmax
 *
 * MODEL is a model file, LANGUAGES.h the names of the languages. */
#include "features.h"

#include <lockstep.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, HIDDEN = 64, ROWS = 256, EPOCHS = 4, MOST = 200 };

typedef struct sentences {
    int64_t count;
    int32_t *gram, *label; /* (count,FEATURES), (count) */
    int languages;
    char name[MOST][16];
} sentences;

/* The number of a language; the file is sorted by them. */
static int number(sentences *s, const char *name, size_t n)
{
    int last = s->languages - 1;

    if (last >= 0 && strlen(s->name[last]) == n &&
        !memcmp(s->name[last], name, n))
        return last;
    if (s->languages == MOST || n >= sizeof *s->name)
        return -1;
    memcpy(s->name[s->languages], name, n);
    return s->languages++;
}

static int read_line(sentences *s, char *line)
{
    char *tab = strchr(line, '\t');
    int label = tab ? number(s, line, (size_t)(tab - line)) : -1;

    if (label < 0)
        return -1;
    if (s->count % 1024 == 0) {
        size_t room = (size_t)s->count + 1024;

        s->gram = realloc(s->gram, room * FEATURES * sizeof *s->gram);
        s->label = realloc(s->label, room * sizeof *s->label);
        if (!s->gram || !s->label)
            return -1;
    }
    features(tab + 1, strcspn(tab + 1, "\n"), s->gram + s->count * FEATURES);
    s->label[s->count++] = label;
    return 0;
}

static int read_sentences(sentences *s, const char *path)
{
    char line[512];
    FILE *f = fopen(path, "r");
    int status = f ? 0 : -1;

    while (status == 0 && fgets(line, sizeof line, f))
        status = read_line(s, line);
    if (status < 0 || s->languages < 2)
        fprintf(stderr, "%s: no sentences of languages in order\n", path);
    if (f)
        fclose(f);
    return s->languages < 2 ? -1 : status;
}

static int build(ls_graph *g, int languages)
{
    ls_node *x = ls_input(g, "grams", LS_I32, 1, (int64_t[]){FEATURES});
    ls_node *label = ls_input(g, "label", LS_I32, 0, NULL), *h;

    h = ls_embed_bag(x, LS_BAG_MEAN, FEATURES_COUNT, WIDTH, "grams");
    h = ls_relu(ls_dense(h, HIDDEN, "hidden"));
    h = ls_dense(h, languages, "out");
    if (ls_output(g, ls_softmax(h), "probabilities") < 0)
        return -1;
    return ls_loss(g, ls_cross_entropy(h, label));
}

/* Batches of sentences in an order drawn anew for each epoch. */
static int train(ls_trainer *t, ls_batch *b, const sentences *s)
{
    static int32_t gram[ROWS * FEATURES], label[ROWS];
    int32_t *order = malloc((size_t)s->count * sizeof *order);
    int status = order ? 0 : -1;
    ls_result r = {0};

    for (uint64_t e = 0; e < EPOCHS && status == 0; e++) {
        status = ls_random_permutation(ls_key_new(e), s->count, order);
        for (int64_t i = 0; i + ROWS <= s->count && status == 0; i += ROWS) {
            for (int64_t k = 0; k < ROWS; k++) {
                memcpy(gram + k * FEATURES,
                       s->gram + (int64_t)order[i + k] * FEATURES,
                       FEATURES * sizeof *gram);
                label[k] = s->label[order[i + k]];
            }
            if (ls_batch_set(b, "grams", LS_I32, gram, ROWS) < 0 ||
                ls_batch_set(b, "label", LS_I32, label, ROWS) < 0)
                status = -1;
            else
                status = ls_step(t, b, &r);
        }
        printf("epoch %d: loss %.4f\n", (int)e, (double)r.loss);
    }
    free(order);
    return status;
}

static int write_names(const sentences *s, const char *path)
{
    FILE *f = fopen(path, "w");

    if (!f)
        return -1;
    fprintf(f, "static const char *const languages[] = {\n");
    for (int i = 0; i < s->languages; i++)
        fprintf(f, "    \"%s\",\n", s->name[i]);
    fprintf(f, "};\n");
    return fclose(f);
}

int main(int argc, char **argv)
{
    ls_mesh_options m = ls_mesh_defaults();
    ls_trainer_options o = ls_trainer_defaults();
    ls_mesh *mesh = NULL;
    ls_pool *pool = NULL;
    ls_graph *g = NULL;
    ls_trainer *t = NULL;
    ls_batch *b = NULL;
    static sentences s;
    int status = -1;

    if (argc != 4) {
        fprintf(stderr, "learn SENTENCES MODEL LANGUAGES.h\n");
        return 2;
    }
    m.devices = 4;
    o.optimizer = ls_adam(0.005);
    if (read_sentences(&s, argv[1]) == 0 && ls_mesh_open(&mesh, &m) == 0 &&
        ls_pool_open(&pool, mesh, NULL) == 0 && ls_graph_new(&g) == 0 &&
        build(g, s.languages) == 0 &&
        ls_trainer_open(&t, pool, g, &o) == 0 && ls_batch_open(&b, t) == 0 &&
        (status = train(t, b, &s)) == 0 &&
        (status = ls_trainer_save_model(t, argv[2])) == 0)
        status = write_names(&s, argv[3]);
    if (status < 0)
        fprintf(stderr, "learn: %s\n", ls_errmsg());
    ls_batch_close(b);
    ls_trainer_close(t);
    ls_graph_free(g);
    ls_pool_close(pool);
    ls_mesh_close(mesh);
    free(s.gram);
    free(s.label);
    return status < 0;
}
