/* --sample: text that a model generates, byte by byte. */
#ifndef TOOLS_SAMPLE_H
#define TOOLS_SAMPLE_H

#include <lockstep.h>

typedef struct sample {
    ls_trainer *trainer; /* with input "tokens" and output "logits" */
    int64_t window, vocab;
    ls_key key; /* byte i is drawn with fold_in(key, i) */
    double temperature;
    int64_t count; /* bytes wanted */
} sample;

/* Write them to stdout. */
int sample_print(const sample *s);

#endif
