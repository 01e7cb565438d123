/* SPDX-License-Identifier: BSD-3-Clause */
/* See publish.h. */
#define _GNU_SOURCE
#include "train/publish.h"
#include "run/publish_files.h"

#include <stdlib.h>
#include <unistd.h>

static const char about[] =
    "# A training that anybody can check\n"
    "\n"
    "`" PUBLISH_MODEL "` was made by `%s`, of lockstep %s. `"
    PUBLISH_TRANSCRIPT "` commits that\n"
    "training to its bits: whoever has the data trains it again, on any CPU "
    "with any number of threads,\n"
    "and gets every line of the transcript and this very file, or it is "
    "another one.\n"
    "\n"
    "    lockstep-verify --explain .         # what was done, in sentences\n"
    "    lockstep-verify .                   # train again and compare all\n"
    "\n"
    "%s"
    "A tar of the folder is checked as the folder is:\n"
    "`tar --format=ustar -cf run.tar FOLDER`, `lockstep-verify run.tar`.\n"
    "\n"
    "Who published it, and that it is not younger than it says, only a "
    "signature of the transcript says:\n"
    "it names the model's digest, the data's digests and all else. It belongs "
    "here, as\n"
    "\n"
    "    ssh-keygen -Y sign -n lockstep -f KEY " PUBLISH_TRANSCRIPT
    "                  # run.lst.sig\n"
    "    cosign sign-blob --bundle run.lst.sigstore " PUBLISH_TRANSCRIPT "\n";

static const char about_data[] =
    "The data is not here: `" PUBLISH_SUMS "` has its digests, and `--data "
    "FOLDER` says where it is, under\n"
    "any names.\n\n";

static const char about_generated[] =
    "The data is generated, so that there is none to have.\n\n";

static char *path_in(const char *folder, const char *name)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s", folder, name) >= 0)
        return path;
    opt_no_memory("the names of files");
    return NULL;
}

int publish_open(session *s)
{
    train_settings *set = &s->set;

    if (!set->publish)
        return OPT_GO;
    if (set->transcript || set->save)
        return opt_fail(OPT_WRONG, "--publish names the files of --transcript "
                        "and --save itself: leave %s out",
                        set->save ? "--save" : "--transcript");
    if (run_given(&s->run, "cv") && set->cv)
        return opt_fail(OPT_WRONG, "--publish and --cv: --cv measures, and "
                        "saves no model");
    set->transcript = path_in(set->publish, PUBLISH_TRANSCRIPT);
    set->save = path_in(set->publish, PUBLISH_MODEL);
    set->published[0] = path_in(set->publish, PUBLISH_SUMS);
    set->published[1] = path_in(set->publish, "README.md");
    if (!(set->transcript && set->save && set->published[0] &&
          set->published[1]))
        return OPT_FAILED;
    for (int i = 0; i < 2; i++)
        if (access(set->published[i], F_OK) == 0 &&
            access(set->transcript, F_OK) != 0)
            return opt_fail(OPT_WRONG, "%s: is there, and --publish would "
                            "replace it: name a folder of its own",
                            set->published[i]);
    return OPT_GO;
}

/* The first line of a transcript that this process wrote; NULL after a
 * message. */
static json_t *read_head(const char *path)
{
    FILE *f = fopen(path, "r");
    json_t *head = f ? json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL) : NULL;

    if (f)
        fclose(f);
    if (!head)
        opt_fail(OPT_FAILED, "%s: cannot be read again", path);
    return head;
}

__attribute__((format(printf, 3, 4)))
static int write_file(const char *folder, const char *name, const char *format,
                      ...)
{
    char *path = path_in(folder, name);
    output o;
    va_list args;
    int status = path ? output_open(&o, path) : OPT_FAILED;

    if (status == OPT_GO) {
        va_start(args, format);
        if (vfprintf(o.file, format, args) < 0)
            status = opt_no_file(path);
        va_end(args);
        status = output_close(&o, status);
    }
    free(path);
    return status;
}

int publish_write(const train_settings *set)
{
    json_t *head = read_head(set->transcript), *files;
    char *sums;
    int status;

    if (!head)
        return OPT_FAILED;
    files = json_object_get(head, "data");
    sums = publish_sums(files);
    status = sums ? write_file(set->publish, PUBLISH_SUMS, "%s", sums)
                  : opt_no_memory("a list of files");
    if (status == OPT_GO && access(set->published[1], F_OK) == 0)
        opt_note("%s stays as it is: what it says may be somebody's own",
                 set->published[1]);
    else if (status == OPT_GO)
        status = write_file(
            set->publish, "README.md", about,
            json_string_value(json_object_get(head, "program")), ls_version(),
            json_array_size(files) ? about_data : about_generated);
    free(sums);
    json_decref(head);
    return status;
}
