#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes hybrid.xml and asymmetric.xml beside this file: machines that hwloc's
synthetic texts cannot describe, in the form that hwloc 2.x exports.

hybrid      slow cores first in the logical order, as some big.LITTLE and Meteor
            Lake machines have them: 4 slow ones (PU 0-3), then 4 fast ones with
            two PUs each (PU 4-11).  The fast core with PU 4 and 5 is shut out
            (allowed_cpuset), but still in its kind, as real kinds are.
asymmetric  package 0: NUMA nodes 0 and 1, 4 cores each under an L3 of their own;
            package 1: NUMA node 2, 3 cores in one L3 of another size, one of them
            with two PUs.  PU 1 is shut out.

Needs Python 3 alone.  Checked with hwloc 2.9.0."""
import os

GB = 1 << 30
MB = 1 << 20


class Maker:
    def __init__(self, allowed, nodes, kinds):
        self.lines, self.id = [], 0
        self.allowed, self.nodes, self.kinds = allowed, nodes, kinds

    def open(self, depth, kind, cpus, nodes, extra="", close=False):
        self.id += 1
        mask = "0x%08x" % sum(1 << c for c in cpus)
        node = "0x%08x" % sum(1 << n for n in nodes)
        self.lines.append(
            '%s<object type="%s" %scpuset="%s" complete_cpuset="%s" '
            'nodeset="%s" complete_nodeset="%s" gp_index="%d"%s>'
            % ("  " * depth, kind, extra, mask, mask, node, node, self.id,
               "/" if close else ""))

    def close(self, depth):
        self.lines.append("  " * depth + "</object>")

    def core(self, depth, index, cpus, node):
        self.open(depth, "Core", cpus, [node], 'os_index="%d" ' % index)
        for c in cpus:
            self.open(depth + 1, "PU", [c], [node], 'os_index="%d" ' % c,
                      True)
        self.close(depth)

    def l3(self, depth, size, cores, node):
        cpus = [c for _, pus in cores for c in pus]
        self.open(depth, "L3Cache", cpus, [node],
                  'cache_size="%d" depth="3" cache_linesize="64" '
                  'cache_associativity="0" cache_type="0" ' % size)
        for index, pus in cores:
            self.core(depth + 1, index, pus, node)
        self.close(depth)

    def numa(self, depth, node, cpus, memory):
        self.open(depth, "NUMANode", cpus, [node],
                  'os_index="%d" local_memory="%d" ' % (node, memory), True)

    def write(self, name, cpus):
        allowed = "0x%08x" % sum(1 << c for c in self.allowed)
        nodes = "0x%08x" % sum(1 << n for n in self.nodes)
        self.lines[0] = self.lines[0].replace(
            "gp_index", 'allowed_cpuset="%s" allowed_nodeset="%s" gp_index'
            % (allowed, nodes))
        head = ['<?xml version="1.0" encoding="UTF-8"?>',
                '<!DOCTYPE topology SYSTEM "hwloc2.dtd">',
                '<topology version="2.0">']
        tail = []
        for type_, efficiency, pus in self.kinds:
            tail += ['  <cpukind cpuset="0x%08x" forced_efficiency="%d">'
                     % (sum(1 << c for c in pus), efficiency),
                     '    <info name="CoreType" value="%s"/>' % type_,
                     '  </cpukind>']
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        with open(path, "w") as f:
            f.write("\n".join(head + self.lines + tail + ["</topology>", ""]))


def hybrid():
    cpus = range(12)
    m = Maker([c for c in cpus if c not in (4, 5)], [0],
              [("IntelAtom", 0, range(4)), ("IntelCore", 1, range(4, 12))])
    cores = [(c, [c]) for c in range(4)]
    cores += [(c, [2 * c - 4, 2 * c - 3]) for c in range(4, 8)]
    m.open(1, "Machine", cpus, [0], 'os_index="0" ')
    m.open(2, "Package", cpus, [0], 'os_index="0" ')
    m.numa(3, 0, cpus, 16 * GB)
    m.l3(3, 24 * MB, cores, 0)
    m.close(2)
    m.close(1)
    m.write("hybrid.xml", cpus)


def asymmetric():
    cpus = range(12)
    m = Maker([c for c in cpus if c != 1], [0, 1, 2], [])
    m.open(1, "Machine", cpus, [0, 1, 2], 'os_index="0" ')
    m.open(2, "Package", range(8), [0, 1], 'os_index="0" ')
    for node in range(2):
        pus = range(4 * node, 4 * node + 4)
        m.open(3, "Group", pus, [node], 'kind="0" subkind="0" ')
        m.numa(4, node, pus, 32 * GB)
        m.l3(4, 32 * MB, [(c, [c]) for c in pus], node)
        m.close(3)
    m.close(2)
    m.open(2, "Package", range(8, 12), [2], 'os_index="1" ')
    m.numa(3, 2, range(8, 12), 16 * GB)
    m.l3(3, 8 * MB, [(8, [8]), (9, [9]), (10, [10, 11])], 2)
    m.close(2)
    m.close(1)
    m.write("asymmetric.xml", cpus)


hybrid()
asymmetric()
