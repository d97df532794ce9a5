#!/usr/bin/env bash
# Who may name whom. Includes go down only, by the floors of the Makefile; cmd.c and cmd.h are of cli,
# main.c is of cmd. What base/base.h brings nobody includes. No two modules include each other, nor any number of them in a circle: a module is a source
# and its header, and X_internal.h is of module X. A library has one file that includes its header, and
# os/proc.c alone starts processes, os/loop.c alone waits for descriptors, client/hosts.c,
# client/broker.c and the hook told/main.c alone connect to hosts. Only those who know where the directories of a session are compare its mode. A tag
# stands for one thing. The two kinds of agent in host/ do not include each other, and host/talk/ none.
. "$(dirname "$0")/lib.sh"
mapfile -t sources < <(files 'src/**/*.[ch]')

# Text without comments and without what stands in strings, lines kept, for each file as file:line:text.
code() {
    awk '
        FNR == 1 { comment = 0 }
        {
            line = $0; out = ""
            if (line !~ /^[ \t]*#[ \t]*include/) gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
            while (line != "") {
                if (comment) {
                    at = index(line, "*/")
                    if (at == 0) break
                    line = substr(line, at + 2); comment = 0
                } else {
                    at = match(line, /\/\*|\/\//)
                    if (at == 0) { out = out line; break }
                    out = out substr(line, 1, at - 1)
                    if (substr(line, at, 2) == "//") break
                    line = substr(line, at + 2); comment = 1
                }
            }
            if (out != "") print FILENAME ":" FNR ":" out
        }' "$@"
}
code=$(mktemp) || exit 1
trap 'rm -f "$code"' EXIT
code "${sources[@]}" >"$code"

rc=0
# complain TEXT: prints the lines of stdin, which are against the rules, and why.
complain() {
    local line
    while IFS= read -r line; do
        printf '%s\n    %s\n' "$line" "$1"
        rc=1
    done
}

floors=$(sed -n 's/^FLOORS := //p' Makefile)
# Includes of our own headers: the floor of the file and the floor of what it names.
complain 'an include names a higher floor, or no floor at all' < <(
    awk -F: -v floors="$floors" '
        BEGIN {
            count = split(floors, names, " ")
            for (i = 1; i <= count; i++) floor[names[i]] = i
            # Programs of their own: they stand on everything below cli, and nobody stands on them.
            count = split("serve archive chat top enter network told", names, " ")
            for (i = 1; i <= count; i++) { program[names[i]]; floor[names[i]] = floor["cmd"] }
            # Libraries of these programs, which the program mas does not link.
            library["filter"]; floor["filter"] = 2.5
            library["markdown"]; floor["markdown"] = 1.5
        }
        function dir_of(path) {
            if (path == "cmd.h" || path == "cmd.c") return "cli"
            if (path == "main.c") return "cmd"
            return path ~ /\// ? substr(path, 1, index(path, "/") - 1) : ""
        }
        $3 ~ /^[ \t]*#[ \t]*include[ \t]*"/ {
            from = dir_of(substr($1, 5))
            split($3, part, "\"")
            to = dir_of(part[2])
            if (!(from in floor) || !(to in floor) || floor[to] > floor[from] ||
                (from != to && (to in program || to in library && !(from in program) ||
                                from in program && (to == "cli" || to == "cmd"))))
                print
        }' "$code"
)

complain 'base/base.h, which the compiler reads first, brings it' < <(
    grep -HnFx -f <(grep '^#include' src/base/base.h; echo '#include "base/base.h"') \
        "${sources[@]}" test/{unit,fuzz,tools}/*.[ch] | grep -v '^src/base/base\.h:'
)

# What is left when modules that include none of the others, or that none of the others include, go
# one after the other.
complain 'these modules include each other' < <(
    awk -F: '
        function module_of(path) {
            sub(/\.[ch]$/, "", path)
            sub(/_internal$/, "", path)
            return path
        }
        $3 ~ /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($3, part, "\"")
            from = module_of(substr($1, 5))
            to = module_of(part[2])
            if (from != to) edges[from, to] = 1
        }
        END {
            do {
                changed = 0
                split("", leads)
                split("", led)
                for (edge in edges) {
                    split(edge, ends, SUBSEP)
                    leads[ends[1]] = led[ends[2]] = 1
                }
                for (edge in edges) {
                    split(edge, ends, SUBSEP)
                    if (!(ends[2] in leads) || !(ends[1] in led)) {
                        delete edges[edge]
                        changed = 1
                    }
                }
            } while (changed)
            for (edge in edges) {
                split(edge, ends, SUBSEP)
                print ends[1] " -> " ends[2]
            }
        }' "$code" | sort
)

# only HEADER FILE...: the system header is included by these files alone.
only() {
    local header=$1 allowed
    shift
    allowed=$(printf '|%s' "$@")
    complain "only these include <$header>: $*" < <(
        grep -E "#[ \t]*include[ \t]*<(.*/)?${header//./\\.}>" "$code" |
            grep -vE "^src/(${allowed#|}):"
    )
}
only cJSON.h base/json.c
only ini.h model/ini.c
only uuid.h base/id.c
only sha2.h base/sha.h
only sha1.h base/sha.c
only sqlite3.h 'memory/.*'
only microhttpd.h serve/http_internal.h
only archive.h archive/pack.c archive/unpack_internal.h
only archive_entry.h archive/pack.c archive/unpack_internal.h
only zstd.h archive/zstd_writer.c archive/zstd_reader.c
only openssl/evp.h archive/hasher.c
only histedit.h chat/line.c
only curses.h top/screen.c
only ncurses.h top/screen.c
only seccomp.h filter/rules.h
only md4c.h markdown/markdown.c
complain 'only base/palette.c knows the numbers of colours' < <(
    grep -rnE --include='*.c' '\\033\[([0-9;]*;)?[349][0-7]m' src | grep -v '^src/base/palette.c:'
)

complain 'only os/proc.c starts processes (others call proc_exec() and its kind)' < <(
    grep -E '(^|[^A-Za-z0-9_.>])(v?fork|forkpty|daemon|posix_spawnp?|exec(l|lp|le|v|vp|ve|vpe|veat)|fexecve|clone3?)[ \t]*\(' \
        "$code" | grep -v '^src/os/proc\.c:'
)
complain 'only os/proc_end.c takes apart how a process has ended (others ask proc_exit_code())' < <(
    grep -E '[^A-Za-z0-9_](WIF(EXITED|SIGNALED)|WEXITSTATUS|WTERMSIG)[ \t]*\(' "$code" |
        grep -v '^src/os/proc_end\.c:'
)
complain 'only os/ and the walls know what only Linux has: see os/path.h, file.h, proc.h, watch.h, signals.h, sock.h, thread.h' < <(
    {
        grep -E '(^|[^A-Za-z0-9_])(O_PATH|(SYS_)?pidfd(_[a-z_]+)?|signalfd(_siginfo)?|inotify(_[a-z0-9_]+)?|memfd_create|SOCK_SEQPACKET|renameat2|RENAME_(NOREPLACE|EXCHANGE)|prctl|SYS_close_range|eventfd(_[a-z]+)?|timerfd_[a-z]+|(SYS_)?statx|STATX_[A-Z_]+|unshare|setns|syncfs)([^A-Za-z0-9_]|$)' "$code"
        grep -nE '^[^/]*"/(proc|sys)/' "${sources[@]}"
    } | grep -vE '^src/((os|wall|enter|filter|network)/|base/libc.h:)'
)
complain 'only fleet/slurm.c knows the programs of Slurm' < <(
    grep -rnE '"(sbatch|squeue|scancel|scontrol|sacct)["_ ]' src | grep -v '^src/fleet/slurm\.c:'
)
complain 'only os/loop.c waits for descriptors (others use struct loop or loop_wait_for())' < <(
    grep -E '(^|[^A-Za-z0-9_.>])(p?poll|epoll_p?wait2?|p?select)[ \t]*\(' "$code" |
        grep -v '^src/os/loop\.c:'
)
complain 'only client/hosts.c, client/broker.c and told/main.c connect to hosts' < <(
    grep -E '(^|[^A-Za-z0-9_])sock_connect[ \t]*\(' "$code" | grep -vE '^src/(os/sock\.[ch]|client/(hosts|broker)\.c|told/main\.c|fleet/reach_master\.c):' # that of ssh
)
complain 'only fleet/reach*.c know ssh and srun' < <(
    grep -nE '"(ssh|srun|scp|sftp|(BatchMode|Control(Master|Path|Persist))=?.*|--overlap)"' "${sources[@]}" |
        grep -vE '^src/fleet/reach[a-z_]*\.c:'
)
complain 'only store/placement*.c and session/migrate.c compare modes: ask placement_is_shared()' < <(
    grep -E '[!=]= *MODE_(ISOLATED|LEGACY)' "$code" |
        grep -vE '^src/(store/placement[a-z_]*|session/migrate)\.c:'
)
complain 'this tag stands for something else, too' < <(
    awk -F: '
        match($3, /^(static |const )*(struct|union|enum) [a-z_0-9]+ \{/) {
            tag = substr($3, RSTART, RLENGTH)
            sub(/^(static |const )*(struct|union|enum) /, "", tag)
            lines[tag] = lines[tag] $0 "\n"
            count[tag]++
        }
        END {
            for (tag in count)
                if (count[tag] > 1) printf "%s", lines[tag]
        }' "$code" | sort
)
complain 'a kind of agent does not include the other one' < <(
    grep -E '^src/host/(terminal|acp)/[^:]*:[0-9]+:[ \t]*#[ \t]*include[ \t]*"host/(terminal|acp)/' "$code" |
        grep -vE '^src/host/(terminal|acp)/[^"]*"host/\1/'
)
complain 'host/talk/ is for any kind of agent' < <(
    grep -E '^src/host/talk/[^:]*:[0-9]+:[ \t]*#[ \t]*include[ \t]*"(host/(terminal|acp)/|protocol/acp)' "$code"
)
finish "$rc" "${#sources[@]} C files name only whom they may"
