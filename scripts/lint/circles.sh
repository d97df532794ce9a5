#!/usr/bin/env bash
# Files of a folder that call each other in a circle: by the symbols that an object uses and another
# defines, which shows what headers do not. Two files that need each other are one idea and belong in
# one file, or the lower one is handed what it needs. Run it after a build of today's sources.
. "$(dirname "$0")/lib.sh"
need nm

# Prints the files of each circle of the folder whose objects are given.
circles_of() {
    nm -P -A "$@" | awk '
        { file = $1; sub(/:$/, "", file); sub(/.*\//, "", file); sub(/\.o$/, "", file); files[file] }
        $3 ~ /^[TDBRCVW]$/ { home[$2] = file }
        $3 == "U" { uses[file, $2] }
        END {
            for (use in uses) {
                split(use, part, SUBSEP)
                if (part[2] in home && home[part[2]] != part[1]) reach[part[1], home[part[2]]]
            }
            for (k in files) for (i in files) if ((i, k) in reach)
                for (j in files) if ((k, j) in reach) reach[i, j]
            for (i in files) if (!(i in seen) && (i, i) in reach) {
                names = ""
                for (j in files) if ((i, j) in reach && (j, i) in reach) { seen[j]; names = names " " j }
                print names
            }
        }'
}

rc=0
count=0
while IFS= read -r folder; do
    mapfile -t objects < <(files "$folder/*.c" | sed 's|.*|build/&|; s|c$|o|')
    for object in "${objects[@]}"; do
        [[ -e $object ]] || finish 1 "$object is not there; \`make\` makes it"
    done
    while read -r names; do
        echo "$folder: these call each other: $(tr ' ' '\n' <<<"$names" | sort | tr '\n' ' ')"
        echo '    let the lower one be called with what it needs, or make them one file'
        rc=1
    done < <(circles_of "${objects[@]}")
    count=$((count + ${#objects[@]}))
done < <(find src -name '*.c' -printf '%h\n' | sort -u)
finish "$rc" "$count objects"
