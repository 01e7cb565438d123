/* SPDX-License-Identifier: BSD-3-Clause */
/* A record in memory, of one device and one chunk, of whose elements the
 * referee (tools/referee) is asked: options, nodes, then arrays.  Of an array
 * without numbers the referee makes those that are read.  A text of it and of
 * one element, a vector (tools/referee/vectors.txt), is written and read. */
#ifndef TEST_ASKED_RECORD_H
#define TEST_ASKED_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void asked_begin(int64_t rows, int64_t step);
void asked_option(const char *name, const char *text);

/* A node with `inputs` inputs, by their numbers; returns its own.  `passes` has
 * a bit for each input whose gradient is the node's. */
int asked_node(const char *op, const char *shape, int inputs, const int *input,
               unsigned passes);
void asked_attribute(int node, const char *name, const char *text);
void asked_param(int node, int k, int64_t floats, const float *x);

/* A parameter of no node, the first of the layout. */
void asked_slot(const char *name, int64_t floats);

/* The value of an input, under that name. */
void asked_input(int node, const char *name, int64_t n, const float *x);

/* Any other array; node -1: it is no node's. */
void asked_array(const char *phase, const char *what, int node, int index,
                 int64_t n, const float *x);

/* The referee's word of an element of an array that is there, or not. */
uint32_t asked_element(const char *phase, const char *what, int node, int index,
                       int64_t n, int64_t at);

/* A gradient that goes through a slope. */
uint32_t asked_slope(uint32_t d, float slope);

/* A word of some that is there after all, as an integer. */
float asked_word(uint32_t x);

/* Write what is asked as a vector of that name. */
void asked_write(FILE *f, const char *name, const char *phase, const char *what,
                 int node, int index, int64_t n, int64_t at);

/* Read the next vector, and ask; false: there is none. */
bool asked_read(FILE *f, char name[80], uint32_t *is, uint32_t *wanted);

#endif
