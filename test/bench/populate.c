/*
 * Fills a root with many stopped sessions, quickly.
 *
 *   populate ROOT COUNT
 *
 * ROOT holds exactly one session, made by mas: the pattern. Its workspace and its row in the index
 * are written COUNT times more, each with an id of its own, the tmux name that goes with it, and
 * one minute between them. All else they have from the pattern, so that this knows little of the
 * format; whether the result is valid is for `mas doctor` to say.
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ID_LEN = 36, NAME_LEN = 12, TIME_LEN = 20, TEXT_MAX = 1 << 20 };

/* What tells one session from another. */
struct marks {
    char id[ID_LEN + 1];
    char name[NAME_LEN + 1]; /* of the tmux session */
    char created[TIME_LEN + 1];
};

static struct marks pattern;

static void set_name(struct marks *marks)
{
    (void)snprintf(marks->name, sizeof marks->name, "mas-%.8s", marks->id);
}

/* A version 4 UUID that is different for each number, and not in the order of the numbers. */
static void make_marks(unsigned number, unsigned count, time_t last, struct marks *marks)
{
    time_t created = last - 60 * (time_t)(count - number + 1);
    struct tm tm;

    (void)snprintf(marks->id, sizeof marks->id, "%08x-%04x-4bec-8000-%012x", number * 2654435761U,
                   number & 0xffffU, number);
    set_name(marks);
    (void)strftime(marks->created, sizeof marks->created, "%Y-%m-%dT%H:%M:%SZ",
                   gmtime_r(&created, &tm));
}

/* Writes the text with the marks of the pattern replaced by these. */
static void put_as(FILE *out, const char *text, const struct marks *marks)
{
    const struct {
        const char *from, *to;
        size_t len;
    } pairs[] = {{pattern.id, marks->id, ID_LEN},
                 {pattern.name, marks->name, NAME_LEN},
                 {pattern.created, marks->created, TIME_LEN}};

    while (*text != '\0') {
        size_t i = 0;
        while (i < 3 && strncmp(text, pairs[i].from, pairs[i].len) != 0)
            i++;
        if (i < 3)
            (void)fputs(pairs[i].to, out);
        else
            (void)putc(*text, out);
        text += i < 3 ? pairs[i].len : 1;
    }
}

static char *read_text(int dir, const char *name)
{
    char *text = calloc(1, TEXT_MAX);
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

    if (text == NULL || fd == -1 || read(fd, text, TEXT_MAX - 1) == -1)
        err(1, "cannot read '%s'", name);
    (void)close(fd);
    return text;
}

static FILE *create(int dir, const char *name, mode_t mode)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    FILE *out = fd != -1 ? fdopen(fd, "w") : NULL;

    if (out == NULL || fchmod(fd, mode) == -1)
        err(1, "cannot write '%s'", name);
    return out;
}

static void finish(FILE *out)
{
    if (fclose(out) != 0)
        err(1, "cannot write");
}

/* Everything below a directory; read once, written COUNT times. */
struct entry {
    char *name;
    char *text; /* of a file, the target of a link */
    struct entry *list; /* of a directory, ends with one that has no name */
    mode_t mode;
};

static struct entry *load(int dir)
{
    DIR *stream = fdopendir(dir);
    struct entry *list = NULL;
    size_t n = 0;
    const struct dirent *d;

    if (stream == NULL)
        err(1, "fdopendir");
    for (;;) {
        struct stat st;
        d = readdir(stream);
        if (d != NULL && (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0))
            continue;
        list = realloc(list, (n + 1) * sizeof *list);
        if (list == NULL)
            err(1, "realloc");
        list[n] = (struct entry){.name = NULL};
        if (d == NULL)
            break;
        if (fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
            err(1, "cannot examine '%s'", d->d_name);
        struct entry *entry = &list[n++];
        entry->name = strdup(d->d_name);
        entry->mode = st.st_mode;
        if (S_ISDIR(st.st_mode)) {
            entry->list = load(openat(dir, d->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        } else if (S_ISREG(st.st_mode)) {
            entry->text = read_text(dir, d->d_name);
        } else {
            entry->text = calloc(1, TEXT_MAX);
            if (readlinkat(dir, d->d_name, entry->text, TEXT_MAX - 1) == -1)
                err(1, "cannot read the link '%s'", d->d_name);
        }
    }
    (void)closedir(stream);
    return list;
}

static void store(int dir, const struct entry *entry, const struct marks *marks)
{
    for (; entry->name != NULL; entry++) {
        if (S_ISREG(entry->mode)) {
            FILE *out = create(dir, entry->name, entry->mode & ALLPERMS);
            put_as(out, entry->text, marks);
            finish(out);
        } else if (S_ISLNK(entry->mode)) {
            if (symlinkat(entry->text, dir, entry->name) == -1)
                err(1, "cannot link '%s'", entry->name);
        } else {
            int sub = -1;
            if (mkdirat(dir, entry->name, 0700) == 0)
                sub = openat(dir, entry->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            if (sub == -1 || fchmod(sub, entry->mode & ALLPERMS) == -1)
                err(1, "cannot make '%s'", entry->name);
            store(sub, entry->list, marks);
            (void)close(sub);
        }
    }
}

static int find_pattern(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = dir != -1 ? fdopendir(dup(dir)) : NULL;
    const struct dirent *d;

    if (stream == NULL)
        err(1, "cannot read '%s'", path);
    while ((d = readdir(stream)) != NULL) {
        if (d->d_name[0] == '.')
            continue;
        if (pattern.id[0] != '\0' || strlen(d->d_name) != ID_LEN)
            errx(1, "'%s' has to hold one session", path);
        memcpy(pattern.id, d->d_name, ID_LEN);
    }
    (void)closedir(stream);
    if (pattern.id[0] == '\0')
        errx(1, "'%s' holds no session", path);
    return dir;
}

/* When the pattern was made, as its row says. */
static time_t read_created(const char *row)
{
    static const char key[] = "\"createdAt\":\"";
    const char *at = strstr(row, key);
    struct tm tm = {.tm_isdst = 0};

    if (at == NULL || strptime(at + strlen(key), "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL)
        errx(1, "the row does not say when the session was made");
    memcpy(pattern.created, at + strlen(key), TIME_LEN);
    return timegm(&tm);
}

int main(int argc, char **argv)
{
    char *path;

    if (argc != 3)
        errx(2, "usage: populate ROOT COUNT");
    if (asprintf(&path, "%s/sessions", argv[1]) == -1)
        err(1, "asprintf");
    unsigned count = (unsigned)strtoul(argv[2], NULL, 10);
    int sessions = find_pattern(path);
    set_name(&pattern);
    struct entry *tree = load(openat(sessions, pattern.id, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    char *index = read_text(sessions, ".sessions.index");
    char *row = strstr(index, "\n{");
    char *end = row != NULL ? strchr(row + 1, '\n') : NULL;
    if (end == NULL || end[1] != ']')
        errx(1, "the index does not hold one row in one line");
    time_t last = read_created(row);

    FILE *out = create(sessions, ".sessions.index", 0600);
    (void)fprintf(out, "%.*s", (int)(row + 1 - index), index);
    for (unsigned i = 1; i <= count; i++) {
        struct entry workspace[2] = {{.mode = S_IFDIR | 0700, .list = tree}, {.name = NULL}};
        struct marks marks;
        make_marks(i, count, last, &marks);
        workspace[0].name = marks.id;
        store(sessions, workspace, &marks);
        *end = '\0';
        put_as(out, row + 1, &marks);
        (void)fputs(",\n", out);
        *end = '\n';
    }
    (void)fputs(row + 1, out);
    finish(out);
    return 0;
}
