# SPDX-License-Identifier: BSD-3-Clause
# Makes the header of another version: in every struct that can grow, WAY
# "smaller" leaves the last member out and "larger" adds one.  What the last
# member shares a word with goes too: no version has members in what was padding
# in another (lockstep/base.h), so none ends there.
#
#     awk -v way=smaller -f headers.awk FILE FILE

# code LINE: it without comments; a comment may go on over lines.
function code(line, out, at) {
    out = ""
    while (line != "") {
        at = index(line, comment ? "*/" : "/*")
        if (!comment)
            out = out (at ? substr(line, 1, at - 1) : line)
        if (!at)
            break
        line = substr(line, at + 2)
        comment = !comment
    }
    return out
}

# Whether a member is narrower than a word.
function is_narrow(text) {
    return text ~ /^ *(bool|int|float|ls_[a-z_]*(type|kind|fit|mean|state|keys|precision)) /
}

# The last member of the smaller struct.
function kept(i) {
    i = last
    while (i > 2 && narrow[i] && narrow[i - 1])
        i--
    return i - 1
}

function flush(most, i) {
    for (i = 1; i <= most; i++)
        print member[i]
}

# Which structs grow: those that a function is given with their size.
NR == FNR {
    said = said code($0)
    if (said ~ /;/) {
        if (match(said, /ls_[a-z_]+ \*[a-z]+, +size_t size/))
            grows[substr(said, RSTART, index(substr(said, RSTART), " ") - 1)] = 1
        said = ""
    }
    next
}

{ text = code($0) }

text ~ /^typedef struct ls_[a-z_]+ \{/ && ($3 in grows) {
    inside = 1
    members = 0
    last = 0
    print
    next
}

inside && text ~ /^\} / {
    flush(way == "smaller" ? kept() : members)
    if (way == "larger")
        print "    unsigned char later[40];"
    inside = 0
    print
    next
}

inside {
    member[++members] = $0
    narrow[members] = is_narrow(text)
    if (text ~ /;/)
        last = members
    next
}

{ print }
