/* SPDX-License-Identifier: BSD-3-Clause */
/* How two sides of a dispute talk: by files in a folder that both see, or that
 * people mail.  Whoever does not keep to the form has lost. */
#ifndef TOOLS_MAIL_H
#define TOOLS_MAIL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAIL_TEXT = 700, MAIL_HEX = 65 };

/* An answer is a file NNNN-a.json: one line of canonical JSON with these fields
 * and no others: "answer" (hex digits), "level", "number", "prev" (SHA-256 of
 * both sides' answers before), "side", "what". */
typedef struct mail {
    const char *folder;
    char side;       /* 'a' or 'b' */
    int number;      /* of the last answer */
    double seconds;  /* that the other side may take for one */
    char prev[MAIL_HEX];
    char lost;       /* the side that has lost; 0: none has */
    char why[MAIL_TEXT];
} mail;

/* Take a side: the first to come is a.  OPT_FAILED after a message. */
int mail_open(mail *x, const char *folder, double seconds);

/* The path of a file of a side: "0003-b.lsr"; to be freed. */
char *mail_path(const mail *x, int number, char side,
                    const char *ending);

/* Give this side's answer and wait for the other's, of `least` to `most` hex
 * digits, which goes to *other, to be freed.  *other is NULL where the other
 * side has lost.  OPT_FAILED after a message: files cannot be written. */
int mail_answer(mail *x, int level, const char *what,
                    const char *answer, size_t least, size_t most,
                    char **other);

/* That side has lost; the first reason counts. */
void mail_lose(mail *x, char side, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

char mail_other(const mail *x);

/* Parse an answer: its digits, to be freed; NULL, with why. */
char *mail_read(const char *text, size_t bytes, const mail *x,
                    int level, const char *what, size_t least, size_t most,
                    char why[MAIL_TEXT]);

#endif
