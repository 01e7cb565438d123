/* SPDX-License-Identifier: BSD-3-Clause */
/* See ground.h. */
#define _GNU_SOURCE
#include "scale/ground.h"
#include "opt/cores.h"
#include "opt/opt.h"

#include <stdlib.h>
#include <string.h>

/* ------ What is assumed ------ */

/* clang-format off */
static const struct {
    const char *name;
    size_t at;
} known[] = {
    {"core", offsetof(assumed, core)},
    {"node", offsetof(assumed, node)},
    {"link", offsetof(assumed, link)},
};
/* clang-format on */

static int read_one(assumed *a, const char *text, char *entry)
{
    char *equals = strchr(entry, '='), *end = NULL;
    size_t i = 0;
    double x, *to;

    if (equals)
        *equals = 0;
    while (i < sizeof known / sizeof *known && strcmp(entry, known[i].name))
        i++;
    if (!equals || i == sizeof known / sizeof *known)
        return opt_fail(OPT_WRONG, "--assume: \"%s\" is not a list of core=, "
                        "node= and link=, as core=118,node=115,link=60", text);
    x = strtod(equals + 1, &end);
    if (!(x > 0 && x <= 1e6) || *end || end == equals + 1)
        return opt_fail(OPT_WRONG, "--assume: %s=%s is not a number above 0 "
                        "and at most 1000000", entry, equals + 1);
    to = (double *)((char *)a + known[i].at);
    if (*to > 0)
        return opt_fail(OPT_WRONG, "--assume: %s= is there twice", entry);
    *to = 1e9 * x;
    return OPT_GO;
}

int assumed_read(assumed *a, const char *text)
{
    char *copy, *rest, *entry;
    int status = OPT_GO;

    *a = (assumed){0};
    if (!text)
        return OPT_GO;
    if (!(copy = rest = strdup(text)))
        return opt_fail(OPT_FAILED, "out of memory");
    while (status == OPT_GO && (entry = strsep(&rest, ",")))
        status = read_one(a, text, entry);
    free(copy);
    return status;
}

/* ------ The machine ------ */

/* A mesh with a worker on each usable core. */
static int open_mesh(described *d)
{
    ls_mesh_options o = ls_mesh_defaults();

    o.topology = d->text;
    o.cpus = d->cpus;
    o.devices = 1;
    o.details = true;
    if ((d->cores = cores_of(o)) < 0)
        return opt_check_usage(d->cores);
    o.workers = d->cores;
    return opt_check_usage(ls_mesh_open(&d->mesh, &o));
}

/* An L3 for all of a node is as good as none to its workers. */
static void find_levels(described *d)
{
    ls_level l;

    if (find_level(d->mesh, "L3", &l)) {
        d->caches = l.count;
        d->cache = (double)l.most;
    }
}

int described_open(described *d, const char *text, const char *cpus)
{
    used_parts all;
    int status;

    *d = (described){.text = text, .cpus = text ? NULL : cpus};
    status = open_mesh(d);
    if (status != OPT_GO)
        return status;
    d->place = calloc((size_t)d->cores, sizeof *d->place);
    if (!d->place)
        return opt_fail(OPT_FAILED, "out of memory");
    for (int w = 0; w < d->cores; w++)
        (void)ls_mesh_place(d->mesh, w, &d->place[w]);
    find_levels(d);
    all = described_spread(d, d->cores);
    d->nodes = all.nodes;
    d->packages = all.packages;
    return OPT_GO;
}

void described_close(described *d)
{
    ls_mesh_close(d->mesh);
    free(d->place);
    *d = (described){0};
}

void described_settle(described *d, const measured *here, const assumed *a)
{
    d->here = *here;
    d->assumed = *a;
    d->core = a->core > 0 ? a->core : here->core;
    d->node = a->node > 0 ? a->node : here->node;
    d->link = a->link > 0 ? a->link : d->node;
}

/* ------ What workers share ------ */

/* What a worker sits below, by its number. */
typedef int part_fn(const ls_place *p);

/* Workers sit in the order of the machine, so a number that differs from the
 * one before is new; slower kinds of cores begin again. */
static int count(const described *d, int workers, part_fn *of)
{
    int n = 0, most = -1;

    for (int w = 0; w < workers; w++)
        if (of(&d->place[w]) > most) {
            most = of(&d->place[w]);
            n++;
        }
    return n > 0 ? n : 1;
}

static int l3_of(const ls_place *p)
{
    return p->l3;
}

static int node_of(const ls_place *p)
{
    return p->numa;
}

static int package_of(const ls_place *p)
{
    return p->package;
}

used_parts described_spread(const described *d, int workers)
{
    return (used_parts){.caches = count(d, workers, l3_of),
                        .nodes = count(d, workers, node_of),
                        .packages = count(d, workers, package_of)};
}

/* Returns how many of the workers w .. workers-1 follow each other below the
 * same one as w. */
static int run_from(const described *d, int w, int workers, part_fn *of)
{
    int run = 1;

    while (w + run < workers && of(&d->place[w + run]) == of(&d->place[w]))
        run++;
    return run;
}

/* Returns the share of all pairs of so many workers that sits below the same
 * one. */
static double together(const described *d, int workers, part_fn *of)
{
    double pairs = 0, all = (double)workers * (workers - 1);

    for (int w = 0, run; w < workers; w += run) {
        run = run_from(d, w, workers, of);
        pairs += (double)run * (run - 1);
    }
    return all > 0 ? pairs / all : 1;
}

/* ------ The ground ------ */

/* How many times as long as within an L3 a line takes on its way to another one
 * of the package, and to another package. */
static const double NEAR = 3, FAR = 6;

/* A step has a gate and four barriers; where nodes add the gradients of their
 * own devices first, it has one more. */
enum { BARRIERS = 4, GATES = 1 };

/* The most workers below one L3. */
static int most_together(const described *d, int workers)
{
    int most = 1;

    for (int w = 0, run; w < workers; w += run) {
        run = run_from(d, w, workers, l3_of);
        most = run > most ? run : most;
    }
    return most;
}

/* How many times as long as within an L3 a line takes between two workers: of
 * all pairs, or (apart) of those that share none. */
static double distance(const described *d, int workers, bool apart)
{
    double l3 = d->caches ? together(d, workers, l3_of) : 1;
    double package = together(d, workers, package_of);
    double far;

    l3 = l3 < package ? l3 : package;
    far = NEAR * (package - l3) + FAR * (1 - package);
    if (!apart)
        return l3 + far;
    return l3 < 1 ? far / (1 - l3) : 1;
}

/* Whoever arrives takes the counter's line from the one before; then all read
 * the line of the gate.  Below several L3 workers meet below each first
 * (split_barriers in lib/pool/pool.c): then one of each takes the line of all,
 * and the last one opens the gate of each. */
double described_crossing(const described *d, int workers)
{
    int groups = d->caches ? described_spread(d, workers).caches : 1;

    if (workers < 2)
        return 0;
    if (groups < 2 || 2 * groups > workers)
        return (workers + 1.) * distance(d, workers, false);
    return most_together(d, workers) + 1 +
           2. * groups * distance(d, workers, true);
}

double described_lines(const described *d, int workers)
{
    return workers < 2 ? 0
                       : BARRIERS * described_crossing(d, workers) +
                             GATES * distance(d, workers, false);
}

static double memory_rate(const described *d, int workers)
{
    double rate = 0;

    for (int w = 0, run; w < workers; w += run) {
        double most;

        run = run_from(d, w, workers, node_of);
        most = run * d->here.copy;
        rate += most > 0 && most < d->node ? most : d->node;
    }
    return rate;
}

/* The package of a NUMA node. */
static int package_at(const described *d, int node)
{
    int w = 0;

    while (w + 1 < d->cores && d->place[w].numa != node)
        w++;
    return d->place[w].package;
}

/* What a reduction reads over links, in floats for each parameter. */
typedef struct crossed {
    double far;    /* over the busiest one from a package to another */
    bool by_nodes; /* nodes add the gradients of their own devices first */
} crossed;

static crossed count_links(const described *d, const ls_mesh *mesh)
{
    size_t n = (size_t)d->place[d->cores - 1].package + 1;
    double *read = calloc(n * n + 1, sizeof *read);
    crossed c = {0};
    ls_link l;

    for (int i = 0; read && ls_mesh_link(mesh, i, &l); i++) {
        c.by_nodes |= l.floats < l.flat;
        if (l.packages) {
            double *pair = &read[(size_t)package_at(d, l.from) * n +
                                 (size_t)package_at(d, l.to)];

            *pair += l.floats;
            c.far = *pair > c.far ? *pair : c.far;
        }
    }
    free(read);
    return c;
}

/* Returns zeros without memory for the mesh. */
static crossed crossed_by(const described *d, int devices, int workers)
{
    ls_mesh_options o = ls_mesh_defaults();
    crossed c = {0};
    ls_mesh *mesh;

    o.topology = d->text;
    o.cpus = d->cpus;
    o.devices = devices;
    o.workers = workers;
    if (ls_mesh_open(&mesh, &o) == 0) {
        c = count_links(d, mesh);
        ls_mesh_close(mesh);
    }
    return c;
}

scaling_ground described_ground(const described *d, int devices, int workers)
{
    used_parts s = described_spread(d, workers);
    crossed c = s.nodes > 1 ? crossed_by(d, devices, workers) : (crossed){0};
    double line = d->here.line;

    return (scaling_ground){
        .speed = d->core > 0 && d->here.core > 0 ? d->core / d->here.core : 1,
        .rate = memory_rate(d, workers),
        .cache = d->cache > 0 ? d->cache * s.caches : d->here.cache * workers,
        .devices = devices,
        .far = c.far,
        .far_rate = s.packages > 1 ? d->link : 0,
        .barriers = line * described_lines(d, workers),
        .nodes_barrier =
            c.by_nodes ? line * described_crossing(d, workers) : 0,
    };
}
