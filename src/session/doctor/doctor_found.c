/* The part of session/doctor/doctor.h for what was found: every check adds to it. */
#include "os/path.h"
#include "session/doctor/doctor_internal.h"

void doctor_add(struct doctor *doctor, enum finding_state state, const char *subject,
                const char *fmt, ...)
{
    struct findings *all = doctor->findings;
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    all->items = mem_grow(all->items, all->count + 1, sizeof *all->items);
    all->items[all->count++] =
        (struct finding){.subject = mem_dup(subject), .what = mem_dup(text), .state = state};
}

void doctor_mend(struct doctor *doctor, const char *subject, const char *what, int mended,
                 const struct err *why)
{
    if (!doctor->fix)
        doctor_add(doctor, FINDING_OPEN, subject, "%s", what);
    else if (mended == 0)
        doctor_add(doctor, FINDING_MENDED, subject, "%s", what);
    else
        doctor_add(doctor, FINDING_HAND, subject, "%s (cannot repair it: %s)", what, why->text);
}

void doctor_check_mode(struct doctor *doctor, const char *subject, int dir, const char *name,
                       mode_t want)
{
    struct stat st;
    struct err why = ERR_INIT;
    char what[128];
    const char *shown = strcmp(name, ".") == 0 ? "its directory" : name;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    if ((st.st_mode & S_IFMT) != (want & S_IFMT)) {
        doctor_add(doctor, FINDING_HAND, subject, "%s is %s", shown, path_type_name(st.st_mode));
        return;
    }
    if (S_ISREG(st.st_mode) && st.st_nlink > 1) {
        doctor_add(doctor, FINDING_HAND, subject, "%s is a file with several names", shown);
        return;
    }
    if ((st.st_mode & 07777) == (want & 07777))
        return;
    (void)snprintf(what, sizeof what, "%s has mode %03o instead of %03o", shown,
                   (unsigned)(st.st_mode & 07777), (unsigned)(want & 07777));
    int rc = 0;
    if (doctor->fix && fchmodat(dir, name, want & 07777, 0) == -1)
        rc = err_errno(&why, "chmod");
    doctor_mend(doctor, subject, what, rc, &why);
}

void doctor_check_left(struct doctor *doctor, const char *subject, int dir, const char *name)
{
    struct err why = ERR_INIT;
    char what[160];
    if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == -1)
        return;
    (void)snprintf(what, sizeof what, "an interrupted write left %s behind", name);
    int rc = doctor->fix ? unlinkat(dir, name, 0) : 0;
    if (rc == -1)
        (void)err_errno(&why, "unlink");
    doctor_mend(doctor, subject, what, rc, &why);
}

void findings_free(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        free(findings->items[i].subject);
        free(findings->items[i].what);
    }
    free(findings->items);
    *findings = (struct findings){.items = NULL};
}

const char *finding_state_name(enum finding_state state)
{
    static const char *const names[] = {"note", "open", "by hand", "mended"};
    return names[state];
}
