/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers rows "area,rooms,town" of the standard input by a model of a table:
 * 16_answer MODEL.  docs/guide/service.md makes one. */
#include <lockstep/columns.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    static const char *const name[] = {"area", "rooms", "town"};
    char area[32], rooms[32], town[32];
    const char *cell[] = {area, rooms, town};
    ls_table_model *model = NULL;
    ls_table_context *context = NULL;
    double price;
    int status = ls_table_model_open(&model, argc > 1 ? argv[1] : "", NULL);

    if (status == 0)
        status = ls_table_context_open(&context, model, NULL);
    while (status == 0 &&
           scanf(" %31[^,],%31[^,],%31[^\n]", area, rooms, town) == 3) {
        status = ls_table_predict_text(context, 1, 3, name, cell, &price, NULL);
        if (status == 0)
            printf("%.1f\n", price);
    }
    if (status < 0)
        fprintf(stderr, "%s\n", ls_errmsg());
    ls_table_context_close(context);
    ls_table_model_close(model);
    return status < 0;
}
