# SPDX-License-Identifier: BSD-3-Clause
# Makes c_kernel_text.h of headers and of what writes sources (the .c files, which
# come last): what headers declare, item by item, without comments; the names, and
# what each item needs.  #if .. #endif is one item with all that is in it; guards,
# #includes, #undefs and _Static_asserts are left out, and so is what no .c file
# can ask for.  Of two items of one name the first stands; an item of
# source_int8.h stands beside another, as its twin.

# Takes what is comment away.
function bare(line,    at, before) {
    before = ""
    while (line != "") {
        if (comment) {
            if (!(at = index(line, "*/")))
                return before
            line = substr(line, at + 2)
            comment = 0
        }
        at = match(line, /\/[*\/]/)
        if (!at)
            return before line
        before = before substr(line, 1, at - 1)
        if (substr(line, at, 2) == "//")
            return before
        line = substr(line, at + 2)
        comment = 1
    }
    return before
}

function count(line, what,    copy) {
    copy = line
    return gsub(what, "", copy)
}

# Adds the names that a declaration, or an enumeration, defines.
function name(text,    list, n, i, word) {
    gsub(/__attribute__\(\([^)]*\)+\)/, "", text)
    gsub(/\n/, " ", text)
    if (text ~ /^LANES_/) {
        sub(/^LANES_.\(/, "", text)
        sub(/,.*/, "", text)
        names = names " " text
        is_function = 1
        return
    }
    if (text ~ /^(typedef )?enum/ && text ~ /{/) {
        list = text
        sub(/^[^{]*{/, "", list)
        sub(/}.*/, "", list)
        n = split(list, word, ",")
        for (i = 1; i <= n; i++) {
            sub(/=.*/, "", word[i])
            gsub(/[ ]/, "", word[i])
            names = names " " word[i]
        }
    }
    if (text ~ /^typedef.*\(/ && text !~ /{/) {
        sub(/\(.*/, "", text)
    } else if (text ~ /^typedef/) {
        sub(/^.*}/, "", text)
        sub(/[;\[].*/, "", text)
    } else if (text ~ /^enum/) {
        return
    } else {
        sub(/^static const struct *{[^}]*}/, "", text)
        is_function = text ~ /^[^=;\[{]*\(/
        sub(/[=(;\[].*/, "", text)
    }
    gsub(/ +$/, "", text)
    sub(/.*[ *]/, "", text)
    names = names " " text
}

# An item is whole.
function finish(    n, i, word) {
    if (item !~ /^(_Static_assert|extern)/ && names ~ /[a-zA-Z]/) {
        n = split(names, word, " ")
        body[items] = item
        for (i = 1; i <= n; i++) {
            if (!(word[i] in listed))
                all_names[count_names++] = word[i]
            listed[word[i]]
            if (FILENAME ~ /int8/)
                of_int8[word[i]] = items
            else if (!(word[i] in of))
                of[word[i]] = items
            if (is_function && n == 1)
                calls[items]
        }
        items++
    }
    item = names = declaration = ""
    braces = brackets = is_function = 0
}

# Makes a list of the items that a text names, but for item `own`.  A function is
# named where it is called, or passed on (a .c file: all words).
function needed(code, own, all,    list, word, seen, before, one) {
    list = ""
    while (match(code, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(code, RSTART, RLENGTH)
        before = substr(code, 1, RSTART - 1)
        code = substr(code, RSTART + RLENGTH)
        if (!(word in of) || (before ~ /(\.|->) *$/ && !all))
            continue
        one = of[word]
        if (one == own || one in seen ||
            (one in calls && !all && code !~ /^ *\(/))
            continue
        seen[one]
        list = list " " one
    }
    return list
}

# Marks what an item needs as what may be asked for.
function reach(one,    n, i, list) {
    if (one in reached)
        return
    reached[one]
    n = split(needs[one] " " twin[one], list, " ")
    for (i = 1; i <= n; i++)
        reach(list[i])
}

# Writes an item, its lines in quotes, and numbers it anew.
function put(one,    n, i, line) {
    gsub(/\\/, "&&", body[one])
    gsub(/"/, "\\\"", body[one])
    number[one] = put_items++
    n = split(body[one], line, "\n")
    for (i = 1; i <= n; i++)
        printf "    %s\"%s\\n\"%s\n", i == 1 ? "\"\" " : "", line[i],
            i == n ? "," : ""
}

BEGIN { items = count_names = put_items = put_needs = 0 }
FILENAME ~ /\.c$|terms\.h$/ { writers = writers "\n" $0; next }
FNR == 1 { depth = comment = 0; item = names = declaration = "" }
{
    was = $0
    line = bare($0)
    sub(/[ \t]+$/, "", line)
    if (line == "" && was != "") next
}
line == "" { if (item != "" && declaration != "") item = item "\n"; next }
/^#(ifndef|define) LS_[A-Z0-9_]+_H$/ && depth == 0 { next }
/^#undef/ && declaration == "" && depth == 0 { next }
/^#include/ && depth == 0 && declaration == "" { next }
/^#endif/ && depth == 0 && declaration == "" { next }
{
    item = item (item == "" ? "" : "\n") line
    going = line ~ /\\$/
    if (in_define) {
        in_define = going
        if (!going && depth == 0 && declaration == "") finish()
        next
    }
    if (line ~ /^#/) {
        if (declaration == "") {
            if (line ~ /^#if/) depth++
            if (line ~ /^#endif/ && --depth == 0) { finish(); next }
        }
        if (line ~ /^#define/ && declaration == "") {
            text = line
            sub(/^#define /, "", text)
            sub(/[^A-Za-z0-9_].*/, "", text)
            names = names " " text
            if (!going && depth == 0) { finish(); next }
        }
        in_define = going
        next
    }
    declaration = declaration (declaration == "" ? "" : "\n") line
    braces += count(line, "{") - count(line, "}")
    brackets += count(line, "\\(") - count(line, "\\)")
    if (braces == 0 && brackets == 0 && line ~ /([;}]|^LANES_.*\))$/) {
        name(declaration)
        declaration = ""
        if (depth == 0) finish()
    }
}
END {
    for (word in of_int8) {
        if (!(word in of))
            of[word] = of_int8[word]
        else
            twin[of[word]] = of_int8[word]
    }
    for (i = 0; i < items; i++)
        needs[i] = needed(body[i], i, 0)
    n = split(needed(writers, -1, 1), root, " ")
    for (i = 1; i <= n; i++)
        reach(root[i])
    print "/* Made of headers by kernel_text.awk. */"
    print "static const char *const item_text[] = {"
    for (i = 0; i < items; i++)
        if (i in reached)
            put(i)
    print "};"
    print "enum { ITEMS = " put_items " };"
    print "static const short needs[] = {"
    for (i = 0; i < items; i++)
        if (i in reached) {
            first[i] = put_needs + 0
            n = split(needs[i], list, " ")
            put_needs += n + 1
            for (k = 1; k <= n; k++)
                printf "%d, ", number[list[k]]
            print "-1,"
        }
    print "};"
    print "static const struct item {\n    short needs, twin;\n} item[] = {"
    for (i = 0; i < items; i++)
        if (i in reached)
            printf "    {%d, %d},\n", first[i],
                twin[i] != "" ? number[twin[i]] : number[i]
    print "};"
    print "static const struct name {\n    const char *of;\n    short item;"
    print "} name[] = {"
    for (i = 0; i < count_names; i++)
        if (of[all_names[i]] in reached)
            printf "    {\"%s\", %d},\n", all_names[i],
                number[of[all_names[i]]]
    print "};"
}
