/* A model whose batch norms are folded into the layers before them. */
#ifndef LS_MODEL_NORM_FOLD_H
#define LS_MODEL_NORM_FOLD_H

#include "model/ls_model.h"

/* Write it as a model file.  The model itself stays as it is. */
int ls__norm_fold_save(const ls__model *m, const char *path);

#endif
