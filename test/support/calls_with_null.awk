# SPDX-License-Identifier: BSD-3-Clause
# Makes a C file of calls from the public headers: every function they declare,
# once for each argument that is a pointer, with NULL there and something good
# everywhere else.  test/whole/test_null.c includes it and says what is good.
#
#     awk -f calls_with_null.awk lockstep.h lockstep/*.h >calls_with_null.h

# A handle is a member of `given`; of other types there is a zeroed value.
BEGIN {
    n = split("mesh pool graph node trainer batch checkpoints loader archive onnx " \
              "shards gradients predictor context generator trace " \
              "transport table source array buffers sharding gradient own_op " \
              "checkpoints_options save_options pmap_fn gradients_fn " \
              "coding table_data table_model table_context transcript " \
              "control realmlp record", \
              names, " ")
    for (i = 1; i <= n; i++)
        held["ls_" names[i]] = "given." names[i]
    print "/* Made by test/support/calls_with_null.awk from the public headers. */"
}

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

# good TYPE: an expression for an argument that is not NULL; `stars` are its
# pointers, `value` its type without them and without const.
function good(stars, value) {
    if (stars == 0 && value == "size_t")
        return "sizeof(" last ")"
    if (stars == 0)
        return value == "double" || value ~ /^(u?int|bool|size_t)/ ? "1" : \
            "(" value "){0}"
    if (stars == 1 && value == "char")
        return "given.text"
    if (stars == 2 && value == "ls_node" && kept)
        return "given.nodes"
    if (stars == 2)
        return "(void *)&(" value " *){0}"
    if (value in held)
        return held[value]
    return value ~ /^ls_/ ? "&(" value "){0}" : "(void *)given.room"
}

function call(function_name, count, k, i, text) {
    text = function_name "("
    for (i = 1; i <= count; i++)
        text = text (i > 1 ? ", " : "") (i == k ? "NULL" : value[i])
    return text ")"
}

# How an answer of a type is kept.
function keep(type) {
    if (type ~ /\*/)
        return "a->pointer = "
    if (type == "double")
        return "a->real = "
    return type ~ /^(bool|int|int64_t)$/ ? "a->number = " : "(void)"
}

function declared(text, open, type, name, count, i, list, part, bare) {
    open = index(text, "(")
    type = name = substr(text, 1, open - 1)
    sub(/.*[ *]/, "", name)
    type = substr(type, 1, length(type) - length(name))
    gsub(/ +$/, "", type)
    count = split(substr(text, open + 1, length(text) - open - 1), list, ",")
    last = ""
    for (i = 1; i <= count; i++) {
        part = list[i]
        gsub(/\[[^]]*\]/, "", part)
        stars[i] = gsub(/\*/, " ", part) + (list[i] ~ /\[/)
        kept = part ~ /ls_node +const/
        gsub(/(^|[^a-z_])const /, " ", part)
        gsub(/^ +| +$/, "", part)
        bare = part
        sub(/ +[a-z_0-9]+$/, "", bare)
        argument[i] = substr(part, length(bare) + 1)
        gsub(/ /, "", argument[i])
        gsub(/ /, "", bare)
        pointed[i] = bare
        value[i] = good(stars[i], bare)
        if (stars[i])
            last = bare
    }
    for (i = 1; i <= count; i++)
        if (stars[i] && argument[i] != "user")
            row(name, argument[i], type, type == "ls_node *" && \
                pointed[i] == "ls_node" && stars[i] == 1, call(name, count, i))
}

function row(name, argument, type, node, text) {
    printf "static void call_%d(answer *a)\n{\n", ++rows
    printf "    (void)a;\n    %s%s;\n", keep(type), text
    print "}"
    table = table "    {\"" name "\", \"" argument "\", \"" type "\", " \
        (node ? "true" : "false") ", call_" rows "},\n"
}

/^#/ { next }

{
    text = text " " code($0)
    while (match(text, /LS_API [^;]*;/)) {
        declaration = substr(text, RSTART + 7, RLENGTH - 8)
        text = substr(text, RSTART + RLENGTH)
        gsub(/ +/, " ", declaration)
        declared(declaration)
    }
}

END {
    print "static const row table[] = {"
    printf "%s", table
    print "};"
}
