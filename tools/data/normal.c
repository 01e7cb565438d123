/* SPDX-License-Identifier: BSD-3-Clause */
/* See normal.h. */
#include "data/normal.h"
#include "opt/opt.h"

#include <jansson.h>
#include <math.h>

/* ------ To text ------ */

static json_t *list_json(int n, const double *number)
{
    json_t *list = json_array();

    for (int i = 0; list && i < n; i++)
        if (json_array_append_new(list, json_real(number[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

char *normal_write(const normal *n)
{
    json_t *all = json_pack("{s:i, s:o, s:o}", "version", 1,
                            "mean", list_json(n->channels, n->mean),
                            "std", list_json(n->channels, n->std));
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;

    json_decref(all);
    if (!text)
        opt_fail(OPT_FAILED, "no memory for the description of the images");
    return text;
}

/* ------ From text ------ */

/* Numbers for as many channels as `channels`. */
static bool read_list(json_t *list, int channels, double *out)
{
    if (!json_is_array(list) || json_array_size(list) != (size_t)channels)
        return false;
    for (int i = 0; i < channels; i++) {
        json_t *number = json_array_get(list, (size_t)i);

        out[i] = json_number_value(number);
        if (!json_is_number(number) || !isfinite(out[i]))
            return false;
    }
    return true;
}

static bool read_object(normal *n, json_t *all)
{
    json_t *mean = json_object_get(all, "mean");
    size_t channels = json_array_size(mean);

    if (json_integer_value(json_object_get(all, "version")) != 1 ||
        json_object_size(all) != 3 || channels > NORMAL_CHANNELS)
        return false;
    n->is = true;
    n->channels = (int)channels;
    if (!read_list(mean, n->channels, n->mean) ||
        !read_list(json_object_get(all, "std"), n->channels, n->std))
        return false;
    for (int c = 0; c < n->channels; c++)
        if (!((float)n->std[c] > 0))
            return false;
    return true;
}

int normal_load(normal *n, const char *text, const char *path)
{
    json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool good = read_object(n, all);

    json_decref(all);
    if (good)
        return OPT_GO;
    return opt_fail(OPT_FAILED, "%s: the description of its images is wrong: a "
                    "version 1 with a mean and a std above 0 for each channel "
                    "is wanted", path);
}
