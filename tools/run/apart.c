/* SPDX-License-Identifier: BSD-3-Clause */
/* See apart.h. */
#define _GNU_SOURCE
#include "run/apart.h"
#include "data/data.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Compare the names of files that are not there yet: one name in one folder. */
static bool same_name(const char *a, const char *b)
{
    char *x = strdup(a), *y = strdup(b);
    char *dir_x = strdup(a), *dir_y = strdup(b);
    struct stat in_x, in_y;
    bool same = x && y && dir_x && dir_y &&
                !strcmp(basename(x), basename(y)) &&
                stat(dirname(dir_x), &in_x) == 0 &&
                stat(dirname(dir_y), &in_y) == 0 && same_inode(&in_x, &in_y);

    free(x);
    free(y);
    free(dir_x);
    free(dir_y);
    return same;
}

bool apart_same(const char *a, const char *b)
{
    struct stat x, y;
    bool is_a = stat(a, &x) == 0, is_b = stat(b, &y) == 0;

    if (is_a && is_b)
        return S_ISREG(x.st_mode) && same_inode(&x, &y);
    return !is_a && !is_b && same_name(a, b);
}

/* ------ Images and labels, as lockstep/files.h finds them ------ */

bool apart_is_of_set(const char *name)
{
    static const char *const names[] = {"t*images*", "t*labels*", "[xy]_t*.npy",
                                        "*_batch*.bin"};
    bool found = false;

    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        found = fnmatch(names[i], name, 0) == 0;
    return found;
}

char *apart_labels(const char *images)
{
    static const struct {
        const char *images, *labels;
    } pairs[] = {{"images-idx3", "labels-idx1"}, {"images-idx4", "labels-idx1"},
                 {"images.idx3", "labels.idx1"}, {"images.idx4", "labels.idx1"},
                 {"images", "labels"}, {"x_", "y_"}, {"x.", "y."}};
    const char *slash = strrchr(images, '/'), *at = NULL;
    const char *name = slash ? slash + 1 : images;
    char *labels = NULL;
    size_t i = 0;

    if (fnmatch("*.[ct]sv", name, 0) == 0) /* a table */
        return NULL;
    while (i < sizeof pairs / sizeof *pairs &&
           !(at = strstr(name, pairs[i].images)))
        i++;
    if (at && asprintf(&labels, "%.*s%s%s", (int)(at - images), images,
                       pairs[i].labels, at + strlen(pairs[i].images)) < 0)
        labels = NULL;
    return labels;
}

static bool are_labels(const char *images, const char *path)
{
    char *labels = apart_labels(images);
    bool same = labels && apart_same(labels, path);

    free(labels);
    return same;
}

/* ------ Folders ------ */

/* Is a file below a folder, more than `depth` folders deep; `sets`: among
 * images and labels alone?  Links are followed. */
static bool is_below(const char *folder, const struct stat *file, bool sets,
                     int depth)
{
    char *const path[] = {(char *)folder, NULL};
    FTS *walk = fts_open(path, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    bool found = false;

    for (FTSENT *e; walk && !found && (e = fts_read(walk));)
        if (e->fts_level > 0 &&
            (*e->fts_name == '.' || (sets && !apart_is_of_set(e->fts_name))))
            fts_set(walk, e, FTS_SKIP);
        else if (e->fts_info == FTS_F)
            found = e->fts_level > depth && same_inode(e->fts_statp, file);
    if (walk)
        fts_close(walk);
    return found;
}

static bool has_sets(const char *folder)
{
    DIR *dir = opendir(folder);
    bool has = false;

    for (struct dirent *e; dir && !has && (e = readdir(dir));)
        has = apart_is_of_set(e->d_name);
    if (dir)
        closedir(dir);
    return has;
}

/* A folder of checkpoints is a place for a model, too, but not one of them. */
static bool is_in(const apart_file *folder, const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
           is_below(folder->path, &info,
                    folder->use == OPT_READ && has_sets(folder->path),
                    folder->use == OPT_FOLDER);
}

/* ------ Can a file be written? ------ */

static int check_folder(const char *path)
{
    char *there = realpath(path, NULL), *copy = there ? there : strdup(path);
    int status = OPT_GO;

    if (!copy || access(dirname(copy), W_OK) < 0)
        status = opt_fail(errno == ENOENT || errno == ENOTDIR ? OPT_WRONG
                                                              : OPT_FAILED,
                          "%s: its folder: %s", path, strerror(errno));
    free(copy);
    return status;
}

static int check_file(const char *path, bool aside)
{
    struct stat info;
    bool there = stat(path, &info) == 0;

    if (!strcmp(path, "-"))
        return opt_fail(OPT_WRONG, "-: is not a file; /dev/stdout is the "
                        "standard output");
    if (there && !S_ISREG(info.st_mode) && (aside || S_ISDIR(info.st_mode)))
        return opt_fail(OPT_WRONG, "%s: is not a regular file", path);
    if (!there && lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
        return opt_fail(OPT_WRONG, "%s: is a link to nothing", path);
    if (aside || !there)
        return check_folder(path);
    return access(path, W_OK) == 0 ? OPT_GO : opt_no_file(path);
}

static int check_own_folder(const char *path)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return errno == ENOENT ? check_folder(path) : OPT_GO;
    return S_ISDIR(info.st_mode)
               ? OPT_GO
               : opt_fail(OPT_WRONG, "%s: is not a folder", path);
}

/* Does the path end as another kind of picture than the SVG that is written? */
static int check_picture(const char *path)
{
    static const char *const others[] = {".png", ".jpg", ".jpeg", ".gif",
                                         ".webp", ".pdf", ".eps", ".ps"};
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < sizeof others / sizeof *others; i++)
        if (strcasecmp(dot, others[i]) == 0)
            return opt_fail(OPT_WRONG, "%s: --plot writes SVG; name a file "
                            "that ends in .svg", path);
    return OPT_GO;
}

/* Can a result be written there?  Looks only: no file is made, opened or
 * changed. */
static int check_writable(const char *path, opt_use use)
{
    int status = use >= OPT_FOLDER ? check_own_folder(path)
                                   : check_file(path, use > OPT_PICTURE);

    return status == OPT_GO && use == OPT_PICTURE ? check_picture(path)
                                                  : status;
}

/* ------ All files of a command ------ */

typedef struct files {
    int count;
    apart_file *file;
    const char *begun;
} files;

static bool is_written(const apart_file *file)
{
    return file->use >= OPT_WRITTEN;
}

/* A row of options is named without its dashes; words have capitals. */
static const char *dashes(const apart_file *file)
{
    return *file->option >= 'a' ? "--" : "";
}

static bool is_begun(const files *all, const apart_file *file)
{
    return all->begun && strcmp(file->option, all->begun) == 0;
}

static bool may_be_one(const files *all, const apart_file *a,
                       const apart_file *b)
{
    if (!is_written(a) && !is_written(b))
        return true;
    return (a->use == OPT_REPLACED && is_begun(all, b)) ||
           (b->use == OPT_REPLACED && is_begun(all, a)) ||
           !apart_same(a->path, b->path);
}

static bool is_part(const apart_file *of, const apart_file *file)
{
    if (!is_written(file) || of == file)
        return false;
    return ((of->use == OPT_READ || of->use == OPT_FOLDER) &&
            is_in(of, file->path)) ||
           (of->use == OPT_READ && are_labels(of->path, file->path));
}

static int check_pair(const files *all, const apart_file *a,
                      const apart_file *b)
{
    if (is_part(a, b))
        return opt_fail(OPT_WRONG, "%s: belongs to what %s%s names, and %s%s "
                        "would replace it", b->path, dashes(a), a->option,
                        dashes(b), b->option);
    if (a < b && !may_be_one(all, a, b))
        return opt_fail(OPT_WRONG, "%s: is named by %s%s and by %s%s, and one "
                        "of the two would be lost", a->path, dashes(a),
                        a->option, dashes(b), b->option);
    return OPT_GO;
}

static int make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return OPT_GO;
    return opt_fail(errno == ENOENT ? OPT_WRONG : OPT_FAILED, "%s: %s", path,
                    strerror(errno));
}

static int check_all(const files *all)
{
    int status = OPT_GO;

    for (int i = 0; i < all->count; i++)
        for (int k = 0; k < all->count && status == OPT_GO; k++)
            status = check_pair(all, &all->file[i], &all->file[k]);
    for (int i = 0; i < all->count && status == OPT_GO; i++)
        if (all->file[i].use == OPT_MADE)
            status = make_folder(all->file[i].path);
    for (int i = 0; i < all->count && status == OPT_GO; i++)
        if (is_written(&all->file[i]))
            status = check_writable(all->file[i].path, all->file[i].use);
    return status;
}

/* ------ The list ------ */

/* The path as the system knows it: without the name of an array. */
static char *path_of(const apart_file *file)
{
    if (is_written(file))
        return strdup(file->path);
    return strcmp(file->path, "-") ? data_file(file->path)
                                   : strdup("/dev/stdin");
}

static int add(files *all, const char *option, const char *path, opt_use use)
{
    apart_file *file = &all->file[all->count];

    if (!path || !*path || !use)
        return OPT_GO;
    *file = (apart_file){option, path, use};
    if (!(file->path = path_of(file)))
        return opt_no_memory("the names of files");
    all->count++;
    if (use != OPT_SOURCE)
        return OPT_GO;
    *++file = (apart_file){"F.h of --c", strdup(path), OPT_ASIDE};
    if (!file->path)
        return opt_no_memory("the names of files");
    ((char *)file->path)[strlen(path) - 1] = 'h';
    all->count++;
    return OPT_GO;
}

int apart_check(const opt_line *line, int words, const apart_file *word,
                const char *begun)
{
    int count = line->program->count, status = OPT_GO;
    files all = {.file = calloc((size_t)(2 * count + words), sizeof *all.file),
                 .begun = begun};

    if (!all.file)
        return opt_no_memory("the names of files");
    for (int i = 0; i < words && status == OPT_GO; i++)
        status = add(&all, word[i].option, word[i].path, word[i].use);
    for (int i = 0; i < count && status == OPT_GO; i++) {
        const opt *o = &line->program->option[i];

        if (o->use)
            status = add(&all, o->name, opt_value(o, NULL, &(bool){false}),
                         o->use);
    }
    if (status == OPT_GO)
        status = check_all(&all);
    for (int i = 0; i < all.count; i++)
        free((char *)all.file[i].path);
    free(all.file);
    return status;
}
