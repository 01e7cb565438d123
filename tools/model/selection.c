/* SPDX-License-Identifier: BSD-3-Clause */
/* See selection.h. */
#include "model/selection.h"

const opt_word select_words[] = {
    {"auto", SELECT_AUTO}, {"accuracy", SELECT_ACCURACY}, {"auc", SELECT_AUC},
    {"logloss", SELECT_LOGLOSS}, {"f1", SELECT_F1}, {"ap", SELECT_AP},
    {"rmse", SELECT_RMSE}, {"mae", SELECT_MAE}, {"r2", SELECT_R2}, {NULL, 0}};

static const char *const name[] = {
    [SELECT_ACCURACY] = "acc", [SELECT_AUC] = "AUC",
    [SELECT_LOGLOSS] = "logloss", [SELECT_F1] = "F1", [SELECT_AP] = "AP",
    [SELECT_RMSE] = "RMSE", [SELECT_MAE] = "MAE", [SELECT_R2] = "R2"};

const char *select_name(int64_t select)
{
    return name[select];
}

bool select_falls(int64_t select)
{
    return select == SELECT_LOGLOSS || select == SELECT_RMSE ||
           select == SELECT_MAE;
}

bool select_of_probabilities(int64_t select)
{
    return select == SELECT_LOGLOSS || select == SELECT_AUC ||
           select == SELECT_AP;
}

int select_check(int64_t select, ls_column target)
{
    const char *word = select_words[select].word;
    bool numbers = select >= SELECT_RMSE;
    bool two = select == SELECT_AUC || select == SELECT_AP ||
               select == SELECT_F1;

    if (select == SELECT_AUTO)
        return OPT_GO;
    if (numbers != (target.words == 0))
        return opt_fail(OPT_WRONG, "--select %s is for %s, and \"%s\" is %s",
                        word, numbers ? "numbers" : "classes", target.name,
                        numbers ? "of classes: accuracy, auc, logloss, f1, ap"
                                : "a number: rmse, mae, r2");
    if (two && target.words != 2)
        return opt_fail(OPT_WRONG, "--select %s is for two classes, and \"%s\" "
                        "has %d: accuracy, logloss", word, target.name,
                        target.words);
    return OPT_GO;
}
