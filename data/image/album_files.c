/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a folder of pictures, and their classes: the folders in it are the
 * classes, in the order of their names' bytes; with a folder "train" in it,
 * that one's, and those of "test", "valid" or "val" are the test set. */
#include "base/error.h"
#include "base/pattern.h"
#include "file/format.h"
#include "image/album.h"
#include "image/picture.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Names in a folder, in order. */
typedef struct names {
    int64_t n, room;
    char **name;
} names;

static void free_names(names *all)
{
    for (int64_t i = 0; i < all->n; i++)
        free(all->name[i]);
    free(all->name);
    *all = (names){0};
}

static int add_name(names *all, const char *name)
{
    if (all->n == all->room) {
        int64_t room = all->room ? 2 * all->room : 64;
        char **more = realloc(all->name, (size_t)room * sizeof *more);

        if (!more)
            return ls__no_memory("names of files", (size_t)room * sizeof *more);
        all->name = more;
        all->room = room;
    }
    all->name[all->n] = ls__text_copy(name);
    return all->name[all->n] ? (all->n++, 0) : LS_ENOMEM;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Hidden files are nobody's pictures, nor what archives from a Mac and folders
 * from Windows have beside them. */
static bool is_passed(const char *name)
{
    static const char *const passed[] = {"__MACOSX", "Thumbs.db",
                                         "desktop.ini"};

    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (ls__same_letters(name, passed[i], SIZE_MAX))
            return true;
    return name[0] == '.';
}

static int list(names *all, const char *folder)
{
    DIR *dir = opendir(folder);
    int status = 0;

    *all = (names){0};
    if (!dir)
        return ls__fail(LS_EIO, "%s: %s", folder, strerror(errno));
    for (struct dirent *e; status == 0 && (e = readdir(dir));)
        if (!is_passed(e->d_name))
            status = add_name(all, e->d_name);
    closedir(dir);
    if (status < 0)
        free_names(all);
    else if (all->n)
        qsort(all->name, (size_t)all->n, sizeof *all->name, compare);
    return status;
}

int ls__path_join(char out[LS__PATH], const char *folder, const char *name)
{
    size_t n = strlen(folder);
    const char *slash = n && folder[n - 1] == '/' ? "" : "/";

    if (snprintf(out, LS__PATH, "%s%s%s", folder, slash, name) < LS__PATH)
        return 0;
    return ls__fail(LS_EINVAL, "%s/%s: the path is too long", folder, name);
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* ------ Pictures of a class ------ */

static int add_file(ls__album *a, const char *path, int32_t label)
{
    if (is_folder(path))
        return ls__album_refuse(a, path,
                                ls__fail(LS_EFORMAT, "%s: a folder in that of "
                                         "a class", path));
    return ls__album_add(a, path, label);
}

static int add_class(ls__album *a, const char *folder, int32_t label)
{
    int64_t before = a->pictures;
    names all;
    int status = list(&all, folder);

    for (int64_t i = 0; i < all.n && status == 0; i++) {
        char path[LS__PATH];

        status = ls__path_join(path, folder, all.name[i]);
        if (status == 0)
            status = add_file(a, path, label);
    }
    free_names(&all);
    if (status == 0 && a->pictures == before && !a->skips)
        return ls__fail(LS_EFORMAT, "%s: holds no pictures", folder);
    return status;
}

/* ------ Classes ------ */

/* The label of a name among those that are asked for. */
static int find_class(const ls_images_options *o, const char *path,
                      const char *name)
{
    for (int i = 0; i < o->n_classes; i++)
        if (strcmp(o->class_names[i], name) == 0)
            return i;
    return ls__fail(LS_ERANGE, "%s: there is no class of that name in the "
                    "other set", path);
}

static int add_names(ls__album *a, int64_t n, char *const *name)
{
    a->classes = n;
    a->class_name = ls__arena_new(&a->arena, (size_t)n, sizeof *a->class_name);
    if (!a->class_name)
        return LS_ENOMEM;
    for (int64_t i = 0; i < n; i++)
        if (!(a->class_name[i] = ls__arena_text(&a->arena, name[i])))
            return LS_ENOMEM;
    return 0;
}

static int add_classes(ls__album *a, const char *root, const names *folders,
                       const ls_images_options *o)
{
    int status = a->given ? add_names(a, o->n_classes,
                                      (char *const *)o->class_names)
                          : add_names(a, folders->n, folders->name);

    for (int64_t i = 0; i < folders->n && status == 0; i++) {
        char path[LS__PATH];
        int label = (int)i;

        status = ls__path_join(path, root, folders->name[i]);
        if (status == 0 && a->given && !o->unlabelled)
            status = label = find_class(o, path, folders->name[i]);
        if (status >= 0)
            status = add_class(a, path, label);
    }
    return status;
}

/* Folders stay, and a picture beside them is somebody's mistake. */
static int take_folders(ls__album *a, const char *root, names *all)
{
    int64_t n = 0;
    int status = 0;

    for (int64_t i = 0; i < all->n && status == 0; i++) {
        char path[LS__PATH], *name = all->name[i];

        status = ls__path_join(path, root, name);
        if (status == 0 && is_folder(path)) {
            all->name[i] = all->name[n];
            all->name[n++] = name;
        } else if (status == 0 && ls__picture_named(name)) {
            status = ls__album_refuse(a, path,
                                      ls__fail(LS_EFORMAT, "%s: lies beside "
                                               "the folders of classes", path));
        }
    }
    for (int64_t i = n; i < all->n && status == 0; i++)
        free(all->name[i]);
    if (status == 0)
        all->n = n;
    return status;
}

/* Has it pictures, by name or content? 1 or 0, or a status. */
static int has_pictures(const char *folder)
{
    names all;
    int status = list(&all, folder);

    for (int64_t i = 0; i < all.n && status == 0; i++)
        status = ls__picture_named(all.name[i]);
    for (int64_t i = 0; i < all.n && status == 0; i++) {
        char path[LS__PATH];

        status = ls__path_join(path, folder, all.name[i]);
        if (status == 0)
            status = ls__format_is_picture(path);
    }
    free_names(&all);
    return status;
}

/* Has it folders of pictures, likewise? */
static int has_folders(const char *root, const names *all)
{
    int status = 0;

    for (int64_t i = 0; i < all->n && status == 0; i++) {
        char path[LS__PATH];

        status = ls__path_join(path, root, all->name[i]);
        if (status == 0 && is_folder(path))
            status = has_pictures(path);
    }
    return status;
}

/* Pictures that are of no class may lie in the folder itself. */
static int find_in(ls__album *a, const char *root, const ls_images_options *o)
{
    names all;
    int status = list(&all, root);
    int folders = status == 0 ? has_folders(root, &all) : 0;

    if (folders < 0)
        status = folders;
    else if (status == 0 && !folders && o->unlabelled && all.n)
        status = add_class(a, root, 0);
    else if (status == 0 && !folders)
        status = ls__fail(LS_ENOTFOUND, "%s: holds no folders of pictures, one "
                          "for each class", root);
    else if (status == 0 && (status = take_folders(a, root, &all)) == 0)
        status = add_classes(a, root, &all, o);
    free_names(&all);
    return status;
}

int ls__album_find(ls__album *a, const char *folder,
                   const ls_images_options *o)
{
    static const char *const tests[] = {"test", "valid", "val"};
    char path[LS__PATH];
    int status = ls__path_join(path, folder, "train");

    if (status < 0)
        return status;
    if (!is_folder(path) && o->test && !o->unlabelled)
        return ls__fail(LS_ENOTFOUND, "%s: has no folder train, so none of a "
                        "test set", folder);
    if (!is_folder(path))
        return find_in(a, folder, o);
    if (!o->test)
        return find_in(a, path, o);
    for (int i = 0; i < 3; i++)
        if (ls__path_join(path, folder, tests[i]) == 0 && is_folder(path))
            return find_in(a, path, o);
    return ls__fail(LS_ENOTFOUND, "%s: has no folder test, valid or val",
                    folder);
}
