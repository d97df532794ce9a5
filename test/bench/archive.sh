# A session of 65 MB into its archive and back, against tar with zstd at the same level; in memory,
# so that the disk does not decide. What is made is removed between the runs, not within them.
# shellcheck shell=bash

# archive_of CONTENT WHAT: CONTENT makes 128 KiB a call on standard output.
archive_of() {
    local dir=$FAST/archive-$1 root id unit i
    root=$dir/root
    mkdir "$dir" "$dir/tar" && make_root "$root" || return 1
    id=$("$MAS" --root "$root" new -q --no-start) || return 1
    for unit in "$root/sessions/$id"/unit/*/; do
        for ((i = 0; i < 40; i++)); do
            "content_$1" "$unit/$i" >"$unit/data-$i" || return 1
        done
    done
    export ARCHIVE_DIR=$dir
    # shellcheck disable=SC2016 # for the script
    make_script drop <<<'rm -f "$ARCHIVE_DIR"/*.tmp.zst'
    measure -b "$FAST/drop" \
        mas="$MAS --root $root archive -q -o $dir/mas.tmp.zst $id" \
        tar="tar -C $root/sessions -I 'zstd -3' -cf $dir/tar.tmp.zst $id" || return 1
    at_most "archive of 65 MB / tar --zstd, $2" "$(calc "${T[mas]} / ${T[tar]}")" 1.2 \
        "(mas $(ms mas), tar $(ms tar))"

    "$MAS" --root "$root" archive -q -o "$dir/a.zst" "$id" >/dev/null || return 1
    "$MAS" --root "$root" rm -q "$id" || return 1
    # shellcheck disable=SC2016 # for the script
    make_script drop <<<'rm -rf "$ARCHIVE_DIR"/root/sessions/*-* "$ARCHIVE_DIR"/tar/*'
    measure -b "$FAST/drop" \
        mas="$MAS --root $root restore -q $dir/a.zst" \
        tar="tar -C $dir/tar -I zstd -xf $dir/a.zst" || return 1
    at_most "restore of 65 MB / tar -x, $2" "$(calc "${T[mas]} / ${T[tar]}")" 1.3 \
        "(mas $(ms mas), tar $(ms tar))"
}

content_random() { head -c 131072 /dev/urandom; }
# Lines like those of a log: they compress to a third or so.
content_text() {
    awk -v seed="${#1}${1##*/}" 'BEGIN { srand(seed); for (n = 0; n < 131000; n += length(l) + 1) {
        l = sprintf("2025-12-18T08:%02d:%02dZ agent %d says word%d word%d", n / 2000 % 60, n % 60,
            rand() * 30, rand() * 9999, rand() * 999); print l } }'
}

archive_of random 'random bytes' || return 1
archive_of text 'text' || return 1
