/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings, as sections of text. */
#include "info/info.h"
#include "opt/characters.h"
#include "opt/cores.h"

#include <stdio.h>
#include <stdlib.h>

static void print_bytes(int64_t bytes)
{
    static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes;
    int u = 0;

    for (; n >= 1024 && u < 4; u++)
        n /= 1024;
    printf("%.4g %s", n, unit[u]);
}

static void print_levels(const info *r)
{
    ls_level level;

    for (int i = 0; ls_mesh_level(r->mesh, i, &level); i++) {
        printf("  %-9s %5d", level.name, level.count);
        if (level.most > 0)
            printf(level.least < level.most ? "  of " : "  x ");
        if (level.least < level.most) {
            print_bytes(level.least);
            printf(" to ");
        }
        if (level.most > 0)
            print_bytes(level.most);
        putchar('\n');
    }
}

/* Prints the kinds of cores where there are several. */
static void print_kinds(const info *r)
{
    ls_core_kind kind;

    if (!ls_mesh_kind(r->mesh, 1, &kind))
        return;
    for (int i = 0; ls_mesh_kind(r->mesh, i, &kind); i++)
        printf("  kind %-4d %5d  core%s, %d allowed%s%s%s\n", i, kind.cores,
               opt_s(kind.cores), kind.allowed,
               *kind.name ? " (" : "", characters_shown(kind.name),
               *kind.name ? ")" : "");
}

/* Do two neighbours go on one line? */
static bool alike(const ls_place *a, const ls_place *b)
{
    return a->kind == b->kind && a->package == b->package &&
           a->numa == b->numa && a->l3 == b->l3;
}

/* "3" or "3-5" or "4-8:2", as wide as its column. */
static void print_range(int first, int last, int step, int width)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%d", first);

    if (last != first)
        n += snprintf(text + n, sizeof text - (size_t)n, "-%d", last);
    if (last != first && step != 1)
        snprintf(text + n, sizeof text - (size_t)n, ":%d", step);
    printf("  %-*s", width, text);
}

static void print_number(int n, int width)
{
    if (n < 0)
        printf("  %*s", width, "-");
    else
        printf("  %*d", width, n);
}

/* The last worker of a line that begins with `first`: places alike and PUs at
 * equal steps. */
static int line_end(const info *r, int first, const ls_place *a, int *step)
{
    int last = first, next_step;
    ls_place before = *a, b;

    *step = 1;
    for (; last + 1 < r->workers; last++, before = b) {
        ls_mesh_place(r->mesh, last + 1, &b);
        next_step = b.pu - before.pu;
        if (!alike(a, &b) || next_step <= 0 ||
            (last > first && next_step != *step))
            break;
        *step = next_step;
    }
    return last;
}

static void print_map(const info *r)
{
    printf("\n  %-9s  %-11s  %-9s  %4s  %7s  %4s  %4s\n", "workers", "PU",
           "devices", "kind", "package", "numa", "L3");
    for (int w = 0, last, step; w < r->workers; w = last + 1) {
        ls_place a, b;

        ls_mesh_place(r->mesh, w, &a);
        last = line_end(r, w, &a, &step);
        ls_mesh_place(r->mesh, last, &b);
        print_range(w, last, 1, 9);
        print_range(a.pu, b.pu, step, 11);
        if (b.device + b.devices > a.device)
            print_range(a.device, b.device + b.devices - 1, 1, 9);
        else
            printf("  %-9s", "none");
        print_number(a.kind, 4);
        print_number(a.package, 7);
        print_number(a.numa, 4);
        print_number(a.l3, 4);
        putchar('\n');
    }
}

static const char *say_isa(const ls_isa *isa)
{
    const char *asked = getenv("LS_ISA");

    if (!isa->here)
        return "not of this CPU";
    if (!isa->used)
        return "not in use";
    return asked && *asked ? "in use, LS_ISA asks for it"
                           : "in use, the best of this CPU";
}

static void print_kernels(void)
{
    char text[LS_TEXT];
    ls_isa isa;

    puts("\nkernels");
    for (int i = 0; ls_isa_level(i, &isa); i++)
        printf("  %-11s%s\n", isa.name, say_isa(&isa));
    ls_blis_text(text);
    printf("  %s\n", text);
    if (ls_backend_text(text, NULL, LS_BF16_LAYERS) == 0)
        printf("  bf16 layers: %s\n", text);
}

static void print_roofs(const info *r)
{
    if (!r->roofs)
        return;
    printf("\nmeasured     %10s  %6d worker%s\n", "1 worker", r->workers,
           opt_s(r->workers));
    for (int i = 0; i < r->roofs; i++)
        printf("  %-11s%10.1f  %10.1f  %s\n", r->roof[i].name,
               1e-9 * r->roof[i].one, 1e-9 * r->roof[i].all,
               i + 1 < r->roofs ? "GFLOP/s" : "GB/s, read and written");
}

void info_print(const info *r)
{
    puts("machine");
    if (*ls_mesh_cpu(r->mesh))
        printf("  %s\n", characters_shown(ls_mesh_cpu(r->mesh)));
    print_levels(r);
    print_kinds(r);
    printf("\n%s\n%s\n", characters_shown(ls_mesh_cores_text(r->mesh)),
           characters_shown(ls_mesh_text(r->mesh)));
    if (r->seats.of)
        seats_print(&r->seats);
    else
        print_map(r);
    if (!r->set.topology)
        print_kernels();
    print_roofs(r);
}
