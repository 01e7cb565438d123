/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU quotas from the cgroup files.
 *
 * /proc/self/cgroup names the process's group in each hierarchy, and
 * /proc/self/mountinfo where hierarchies are mounted and which group each
 * mount shows as its top (in a container not the true top).  The quota lies in
 * the group's own folder or in that of any group above, not at the mount
 * (joblib/loky issue 634, cpython issue 80235), so every folder from the
 * group's up to the mount is read and the least kept.
 *
 *     v2  0::/a/b              cpu.max           "150000 100000", "max 100000"
 *     v1  4:cpu,cpuacct:/a/b   cpu.cfs_quota_us  "150000", "-1"
 *                              cpu.cfs_period_us "100000"
 *
 * Groups above a container's own are out of sight; their quota cannot be
 * known.  Lines are cut at 4095 bytes: those of cgroups are short, and those of
 * other file systems, which may be longer, are passed over. */
#define _GNU_SOURCE /* strsep */
#include "machine/quota.h"
#include "base/assert.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096 };

/* One of the two forms that a hierarchy of groups has. */
typedef struct hierarchy {
    const char *type;     /* its file system */
    const char *name;     /* in /proc/self/cgroup and among mount options */
    bool (*read)(const char *folder, ls__quota *q);
} hierarchy;

/* ------ Files ------ */

/* The next line without its end, cut where it is too long; false at the end. */
static bool next_line(FILE *file, char line[LINE])
{
    size_t n;

    if (!fgets(line, LINE, file))
        return false;
    n = strcspn(line, "\n");
    if (!line[n])
        for (int c = getc(file); c != '\n' && c != EOF;)
            c = getc(file);
    line[n] = 0;
    return true;
}

/* Join and open "<a><b>"; NULL when it cannot be opened or is too long. */
static FILE *open_below(const char *a, const char *b)
{
    char path[LINE];

    if (snprintf(path, sizeof path, "%s%s", a, b) >= (int)sizeof path)
        return NULL;
    return fopen(path, "re");
}

/* The first line of a file of a group. */
static bool first_line(const char *folder, const char *name, char line[LINE])
{
    FILE *file = open_below(folder, name);
    bool found = file && next_line(file, line);

    if (file)
        fclose(file);
    return found;
}

static void set_where(ls__quota *q, const char *folder, const char *name)
{
    int room = (int)(sizeof q->where - strlen(name) - 1);

    snprintf(q->where, sizeof q->where, "%.*s%s", room, folder, name);
}

/* ------ The two forms ------ */

static bool read_v2(const char *folder, ls__quota *q)
{
    char line[LINE], *end;

    if (!first_line(folder, "/cpu.max", line))
        return false;
    q->time = strtoll(line, &end, 10); /* "max": nothing is read */
    q->period = strtoll(end, NULL, 10);
    set_where(q, folder, "/cpu.max");
    return end != line;
}

static bool read_v1(const char *folder, ls__quota *q)
{
    char time[LINE], period[LINE];

    if (!first_line(folder, "/cpu.cfs_quota_us", time) ||
        !first_line(folder, "/cpu.cfs_period_us", period))
        return false;
    q->time = strtoll(time, NULL, 10); /* -1: none */
    q->period = strtoll(period, NULL, 10);
    set_where(q, folder, "/cpu.cfs_quota_us");
    return true;
}

static const hierarchy hierarchies[] = {
    {.type = "cgroup2", .name = "", .read = read_v2},
    {.type = "cgroup", .name = "cpu", .read = read_v1},
};

/* ------ From the group up to the mount ------ */

static double cpus(const ls__quota *q)
{
    return (double)q->time / (double)q->period;
}

static void keep_least(ls__quota *least, const ls__quota *q)
{
    if (q->time > 0 && q->period > 0 &&
        (!least->period || cpus(q) < cpus(least)))
        *least = *q;
}

/* folder is the group's; its first `top` bytes are the mount's.  Cut short on
 * the way. */
static void climb(const hierarchy *h, char *folder, size_t top,
                  ls__quota *least)
{
    for (;;) {
        ls__quota q = {0};

        if (h->read(folder, &q))
            keep_least(least, &q);
        if (strlen(folder) <= top)
            return;
        LS__ASSERT(folder[top] == '/');
        *strrchr(folder, '/') = 0;
    }
}

/* Is a name one of a list with commas? */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (; *list; list += *list == ',') {
        size_t m = strcspn(list, ",");

        if (m == n && !memcmp(list, name, n))
            return true;
        list += m;
    }
    return false;
}

/* The process's group in a hierarchy: "id:names:/path". */
static bool find_group(const hierarchy *h, const char *root, char group[LINE])
{
    FILE *file = open_below(root, "/proc/self/cgroup");
    bool found = false;
    char line[LINE];

    while (file && !found && next_line(file, line)) {
        char *at = line, *id = strsep(&at, ":"), *names = strsep(&at, ":");

        found = at && (*h->name ? listed(names, h->name)
                                : !strcmp(id, "0") && !*names);
        if (found)
            memmove(group, at, strlen(at) + 1);
    }
    if (file)
        fclose(file);
    return found;
}

/* A line of mountinfo: "id parent device TOP POINT options .. - TYPE source
 * OPTIONS". */
typedef struct mount {
    char *top, *point, *type, *options;
} mount;

static bool parse_mount(char *line, mount *m)
{
    char *field[5], *at = line, *rest = strstr(line, " - ");

    if (!rest)
        return false;
    *rest = 0;
    rest += 3;
    for (int i = 0; i < 5; i++)
        field[i] = strsep(&at, " ");
    m->top = field[3];
    m->point = field[4];
    m->type = strsep(&rest, " ");
    strsep(&rest, " ");
    m->options = rest;
    return m->point && m->options;
}

/* Blanks and the like stand in mountinfo as \040; in place. */
static void unescape(char *text)
{
    char *out = text;

    for (; *text; text++) {
        int c = *text;

        if (c == '\\' && strspn(text + 1, "01234567") >= 3) {
            c = (text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0');
            text += 3;
        }
        *out++ = (char)c;
    }
    *out = 0;
}

/* The group's path below a mount that shows `top`: "/a/b" below "/a" is "/b",
 * below "/" itself.  A group out of the mount's sight ("/../b" in a container):
 * the mount's top, which is all there is to read. */
static const char *below(const char *group, const char *top)
{
    size_t n = strcmp(top, "/") ? strlen(top) : 0;
    bool out = strncmp(group, top, n) != 0 || (group[n] && group[n] != '/') ||
               strncmp(group + n, "/..", 3) == 0;

    return out || !strcmp(group + n, "/") ? "" : group + n;
}

static void look_in_mount(const hierarchy *h, const char *root, mount *m,
                          const char *group, ls__quota *least)
{
    char folder[2 * LINE];
    int top;

    unescape(m->top);
    unescape(m->point);
    top = snprintf(folder, sizeof folder, "%s%s", root,
                   strcmp(m->point, "/") ? m->point : "");
    if (top >= (int)sizeof folder)
        return;
    snprintf(folder + top, sizeof folder - (size_t)top, "%s",
             below(group, m->top));
    climb(h, folder, (size_t)top, least);
}

static void look(const hierarchy *h, const char *root, ls__quota *least)
{
    char line[LINE], group[LINE];
    FILE *file;
    mount m;

    if (!find_group(h, root, group))
        return;
    file = open_below(root, "/proc/self/mountinfo");
    while (file && next_line(file, line))
        if (parse_mount(line, &m) && !strcmp(m.type, h->type) &&
            (!*h->name || listed(m.options, h->name)))
            look_in_mount(h, root, &m, group, least);
    if (file)
        fclose(file);
}

/* ------ */

ls__quota ls__quota_read(const char *root)
{
    ls__quota least = {0};

    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
        look(&hierarchies[i], root, &least);
    return least;
}

int ls__quota_cores(const ls__quota *quota)
{
    int64_t n = INT32_MAX;

    if (quota->period)
        n = quota->time / quota->period;
    if (n < 1)
        return 1;
    return n < INT32_MAX ? (int)n : INT32_MAX;
}
