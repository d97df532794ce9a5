#include "fleet/seal.h"

#include "os/file.h"
#include "os/job.h"
#include "os/loop.h"
#include "os/path.h"
#include "os/proc.h"

static void make_line(const char *text, char ret[SEAL_LEN + 1])
{
    (void)snprintf(ret, SEAL_LEN + 1, "\x1e%s\n", text);
}

int seal_make(struct seal *ret, struct err *err)
{
    char text[ID_TEXT];

    if (id_make(text, err) == -1)
        return -1;
    *ret = (struct seal){.seen = 0};
    make_line(text, ret->line);
    return 0;
}

/* Passes on what is no seal. */
static void pass(struct seal *seal, const char *bytes, size_t len, struct str *to)
{
    if (seal->begun) {
        str_addn(to, bytes, len);
        return;
    }
    for (size_t i = 0; i < len && seal->before_len < SEAL_BEFORE_MAX; i++)
        if (bytes[i] != '\0' && (seal->before_len > 0 || strchr("\r\n\t ", bytes[i]) == NULL))
            seal->before[seal->before_len++] = bytes[i];
}

void seal_take(struct seal *seal, const char *bytes, size_t len, struct str *to)
{
    for (size_t i = 0; i < len;) {
        if (seal->whole) { /* somebody writes who outlives the verb */
            pass(seal, bytes + i, len - i, to);
            return;
        }
        if (bytes[i] == seal->line[seal->seen]) {
            i++;
            if (++seal->seen == SEAL_LEN) {
                *(seal->begun ? &seal->whole : &seal->begun) = true;
                seal->seen = 0;
            }
            continue;
        }
        /* its first byte stands nowhere else in it: what was seen can hold no other beginning */
        bool again = seal->seen > 0;
        pass(seal, seal->line, seal->seen, to);
        seal->seen = 0;
        if (again)
            continue;
        const char *next = memchr(bytes + i, seal->line[0], len - i);
        size_t plain = next != NULL ? (size_t)(next - bytes) - i : len - i;
        pass(seal, bytes + i, plain, to);
        i += plain;
    }
}

void seal_end(struct seal *seal, struct str *to)
{
    pass(seal, seal->line, seal->seen, to);
    seal->seen = 0;
}

int seal_run(const char *text, char *const *argv, int *ret_code, struct err *err)
{
    _cleanup_free_ char *mas = path_exe();
    char line[SEAL_LEN + 1];
    int sig = 0;

    if (!id_is_valid(text))
        return err_set(err, MAS_USAGE, "cannot run 'mas': '%s' is no seal", text);
    const struct proc_tied tied = {.file = mas, .argv = argv};
    if (mas == NULL)
        return err_errno(err, "cannot find the mas program");
    make_line(text, line);
    (void)file_write_all(STDOUT_FILENO, line, SEAL_LEN); /* missing, it tells */
    if (proc_run_tied(&tied, ret_code, &sig, err) == -1)
        return -1;
    job_drain_output(); /* errors come before the seal */
    (void)file_write_all(STDOUT_FILENO, line, SEAL_LEN);
    job_drain_output();
    if (job_is_step()) /* unless nobody reads any more */
        (void)loop_wait_for(STDOUT_FILENO, 0, SEAL_SETTLE_MS);
    return 0;
}
