# SPDX-License-Identifier: BSD-3-Clause
# The manual pages of functions, in section 3, from the public headers:
#
#     awk -v folder=FOLDER -f docs/man/pages.awk HEADER..
#
# A header is a page (lockstep_ops.3 is lockstep/ops.h), and lockstep.h itself
# one for each part.  A page has what the header says, in its
# order.  A function has a page of its own with what is said of it alone
# (ls_dense.3); where that is said of several, and of a type, the name leads to
# the header's page.
# lockstep_functions.3 has all names, by page.  The names of all files are
# printed; without a folder none is made.

function escaped(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    gsub(/'/, "\\(aq", text)
    gsub(/`/, "\\(ga", text)
    return (text ~ /^\./ ? "\\&" : "") text
}

function say(text) { body = body text "\n" }

# Lines stay as they are, which are up to 80 columns wide.
BEGIN {
    lines = ".nf\n.in 1n\n"
    also = ".SH SEE ALSO\n.BR lockstep (3),\n.BR lockstep (7)"
}

# The paragraph that declares function i and has a comment, without a heading;
# "": it is none of this function alone.
function paragraph(i,    all, n, k, own)
{
    n = split(body, all, "\n\n")
    for (k = 1; k <= n; k++)
        if (index(all[k], name[i] "(") && all[k] !~ /^(\n)*\\fB/) {
            own = all[k]
            sub(/^(.*\n)?\.in 1n\n/, "", own)
            if (own ~ "\\\\fB[^\n]*[ *]" name[i] "\\(")
                return own
        }
    return ""
}

# The first sentence of a paragraph, up to its declaration, on a line.
function sentence(own)
{
    sub(/\n\\fB.*/, "", own)
    gsub(/\n/, " ", own)
    if (match(own, /[.:;]( |$)/))
        own = substr(own, 1, RSTART - 1)
    return own
}

# A function's own page, or a way to the header's.
function end_function(i, file,    own, to)
{
    own = paragraph(i)
    to = folder "/" name[i] ".3"
    if (own == "")
        print ".so man3/" file >to
    else {
        print ".TH " toupper(name[i]) " 3 \"\" lockstep lockstep" >to
        print ".SH NAME\n" name[i] " \\- " sentence(own) >to
        print ".SH SYNOPSIS\n.B #include <" include ">" >to
        print ".SH DESCRIPTION\n" lines own "\n.fi" >to
        print ".SH SEE ALSO\n.BR " page " (3),\n.BR lockstep (3)" >to
    }
    close(to)
}

# The page that is under way is complete; it has functions, or it is none.
function end_page(    file, i, list)
{
    sub(/\n\n+$/, "\n", body)
    if (count) {
        file = page ".3"
        print file
        for (i = 1; i <= count; i++) {
            list = list (i > 1 ? ", " : "") name[i]
            print name[i] ".3"
        }
    }
    if (count && folder) {
        for (i = 1; i <= count; i++)
            end_function(i, file)
        file = folder "/" file
        print ".TH " toupper(page) " 3 \"\" lockstep lockstep" >file
        print ".SH NAME\n" list " \\- " escaped(title) >file
        print ".SH SYNOPSIS\n.B #include <" include ">" >file
        print ".SH DESCRIPTION\n" lines body ".fi" >file
        print also >file
        close(file)
        all = all ".SS " escaped(title) "\n.BR " page " (3):\n" list "\n"
    }
    count = 0
    body = ""
}

function begin_page(its_name, its_title)
{
    end_page()
    page = "lockstep_" its_name
    title = its_title
}

# A whole declaration, without what only compilers want to know.
function declare(text,    called)
{
    match(text, /ls_[a-z0-9_]+\(/)
    called = substr(text, RSTART, RLENGTH - 1)
    if (called ~ /_bytes$/)
        return
    name[++count] = called
    gsub(text ~ /^LS_API/ ? "\n       " : "\n              ", "\n", text)
    sub(/^(LS_API|static inline) /, "", text)
    sub(/[\n ]*[{;]$/, ";", text)
    text = escaped(text)
    gsub(/\n/, "\\fP\n\\fB", text)
    say("\\fB" text "\\fP")
}

FNR == 1 {
    whole = FILENAME !~ /lockstep\.h$/
    end_page() # of the header before this one, by its own include
    include = "lockstep.h"
    if (match(FILENAME, /lockstep\/[a-z]+\.h$/) &&
        !(substr(FILENAME, RSTART) in has))
        include = substr(FILENAME, RSTART)
    page = ""
    hidden = 0
}

# What lockstep.h, which comes first, does not include is included by itself.
!whole && /^#include <lockstep\// { has[substr($2, 2, length($2) - 2)] = 1 }

# The first sentence of a header is its title; it is said again below.
FNR == 1 && whole {
    its_name = FILENAME
    sub(/^.*\//, "", its_name)
    sub(/\.h$/, "", its_name)
    begin_page(its_name, "")
    first = 1
}
/^\/\* SPDX-[L]icense-Identifier: / { next }
first {
    text = $0
    gsub(/^(\/\*| \*)[ ]?|[ ]?\*\/$/, "", text)
    title = title (title ? " " : "") text
    if (match(title, /[a-z0-9)][.:]( |$)/)) {
        title = substr(title, 1, RSTART)
        first = 0
    }
}

/^\/\* (======|------) / {
    heading = $0
    gsub(/^\/\* [=-]+ | [=-]+ \*\/$/, "", heading)
    if (!whole && /======/) {
        its_name = tolower(heading)
        sub(/:.*/, "", its_name)
        gsub(/ /, "_", its_name)
        begin_page(its_name, heading)
    } else {
        body = body ".fi\n.SS " escaped(heading) "\n" lines
    }
    next
}

page == "" { next }

# What only compilers read.
/^#if(def|ndef)? / { hidden++ }
/^#endif/ { if (hidden) hidden--; next }
/^#ifndef LOCKSTEP_/ { hidden = 0; next }
hidden || /^#(include|undef|define LOCKSTEP_)/ { next }

# Bodies of inline functions, and declarations, which may be of several lines.
skipping { if (/^}/) skipping = 0; next }
/^(LS_API|static inline) / || (declared == "" && /^[a-z].* \**ls_[a-z_]+\(/ &&
    !/^typedef/) { declared = $0; whole_line = 1 }
declared != "" {
    if (!whole_line)
        declared = declared "\n" $0
    whole_line = 0
    if (/;$/ || /[{]$/) {
        skipping = /[{]$/
        declare(declared)
        declared = ""
    }
    next
}

# A type has its name in the list of its page, too.
/^typedef (struct|enum) ls_[a-z0-9_]+ [{l]/ { name[++count] = $3 }

# One empty line is enough.
/^$/ { if (body !~ /(^|\n\n|\.in 1n\n)$/) say(""); next }
# What is said, without the marks of a comment around it.
/^(\/\*| \*) / {
    gsub(/^(\/\*| \*) | \*\/$/, "")
}
/^ \*$/ { $0 = "" }
/^ \*\/$/ { next }
{ say(escaped($0)) }

END {
    end_page()
    file = "lockstep_functions.3"
    print file
    if (folder) {
        file = folder "/" file
        print ".TH LOCKSTEP_FUNCTIONS 3 \"\" lockstep lockstep" >file
        print ".SH NAME\nlockstep_functions \\- all functions and types" >file
        print ".SH DESCRIPTION\n" all also >file
        close(file)
    }
}
