/* SPDX-License-Identifier: BSD-3-Clause */
/* See normal.h. */
#include "data/normal.h"
#include "opt/json_parts.h"
#include "opt/opt.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const fits[] = {"crop", "fit", "stretch"};
enum { FITS = sizeof fits / sizeof *fits };

const char *normal_fit(int64_t fit)
{
    return fit < FITS ? fits[fit] : NULL;
}

void normal_free(normal *n)
{
    for (int i = 0; i < n->classes; i++)
        free(n->class_name[i]);
    free(n->class_name);
    *n = (normal){0};
}

/* ------ From a source ------ */

/* A copy of the next name. */
static int add_class(normal *n, const char *name)
{
    if (!(n->class_name[n->classes] = strdup(name)))
        return opt_no_memory("the description of the images");
    n->classes++;
    return OPT_GO;
}

static int check_name(const char *name)
{
    json_t *text = json_string(name);

    json_decref(text);
    return text ? OPT_GO : opt_fail(OPT_FAILED, "the name of class \"%s\" is "
                                    "not UTF-8", name);
}

int normal_take(normal *n, const ls_source *source)
{
    const char *name;
    int classes = 0, status = OPT_GO;

    while (ls_images_class(source, classes))
        classes++;
    if (classes == 0)
        return OPT_GO;
    memcpy(n->shape, source->arrays[0].shape, sizeof n->shape);
    n->class_name = calloc((size_t)classes, sizeof *n->class_name);
    if (!n->class_name)
        return opt_no_memory("the description of the images");
    while (status == OPT_GO && (name = ls_images_class(source, n->classes)))
        if ((status = check_name(name)) == OPT_GO)
            status = add_class(n, name);
    return status;
}

ls_images_options normal_options(const normal *n)
{
    ls_images_options o = ls_images_defaults();

    o.channels = n->channels;
    o.mean = n->mean;
    o.std = n->std;
    memcpy(o.shape, n->shape, sizeof o.shape);
    o.fit = (ls_image_fit)n->fit;
    o.n_classes = n->classes;
    o.class_names = (const char *const *)n->class_name;
    return o;
}

/* ------ To text ------ */

static json_t *list_json(int n, const double *number)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        list = json_and(list, json_real(number[i]));
    return list;
}

/* "shape", "fit" and "classes", where they are pictures. */
static int add_pictures(json_t *all, const normal *n)
{
    json_t *names = json_array();

    for (int i = 0; i < n->classes; i++)
        names = json_and(names, json_string(n->class_name[i]));
    return json_object_update_new(
        all, json_pack("{s:[I,I,I], s:s, s:o}", "shape",
                       (json_int_t)n->shape[0], (json_int_t)n->shape[1],
                       (json_int_t)n->shape[2], "fit", fits[n->fit], "classes",
                       names));
}

char *normal_write(const normal *n)
{
    json_t *all = json_pack("{s:i, s:o, s:o}", "version", 1,
                            "mean", list_json(n->channels, n->mean),
                            "std", list_json(n->channels, n->std));
    bool good = all && (n->classes == 0 || add_pictures(all, n) == 0);
    char *text = good ? json_dumps(all, JSON_COMPACT) : NULL;

    json_decref(all);
    if (!text)
        opt_no_memory("the description of the images");
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

static bool read_shape(normal *n, json_t *list)
{
    if (json_array_size(list) != 3)
        return false;
    for (size_t i = 0; i < 3; i++) {
        n->shape[i] = json_integer_value(json_array_get(list, i));
        if (n->shape[i] < 1 || n->shape[i] > 65535)
            return false;
    }
    return true;
}

static bool read_fit(normal *n, json_t *word)
{
    const char *is = json_string_value(word);

    for (n->fit = 0; is && n->fit < FITS; n->fit++)
        if (strcmp(is, fits[n->fit]) == 0)
            return true;
    return false;
}

static bool read_classes(normal *n, json_t *names)
{
    size_t classes = json_array_size(names);

    if (classes < 1 || classes > INT32_MAX)
        return false;
    n->class_name = calloc(classes, sizeof *n->class_name);
    for (size_t i = 0; n->class_name && i < classes; i++) {
        const char *name = json_string_value(json_array_get(names, i));

        if (!name || add_class(n, name) != OPT_GO)
            return false;
    }
    return n->class_name;
}

static bool read_pictures(normal *n, json_t *all)
{
    return read_shape(n, json_object_get(all, "shape")) &&
           read_fit(n, json_object_get(all, "fit")) &&
           read_classes(n, json_object_get(all, "classes"));
}

static bool read_object(normal *n, json_t *all)
{
    json_t *mean = json_object_get(all, "mean");
    size_t channels = json_array_size(mean), members = json_object_size(all);

    if (json_integer_value(json_object_get(all, "version")) != 1 ||
        (members != 3 && members != 6) || channels > NORMAL_CHANNELS)
        return false;
    if (members == 6 && !read_pictures(n, all))
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
                    "is wanted, and of pictures their shape, fit and classes",
                    path);
}

void normal_tell_left_out(const ls_source *source)
{
    int64_t all = ls_images_left_out(source), files;
    const char *first;

    if (all)
        opt_note("%lld file%s left out: broken, or no picture%s",
                 (long long)all, all == 1 ? " is" : "s are", opt_s(all));
    for (int i = 0; (first = ls_images_left_out_why(source, i, &files)); i++)
        if (files == 1)
            opt_note("  %s", first);
        else
            opt_note("  %lld as %s", (long long)files, first);
}
