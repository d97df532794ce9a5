/* The part of base/err.h that writes to stderr. */

#define COMMAND "mas "
#define LOCAL "help" /* a command that is the same on each machine */

/* One write, so that the lines of parallel processes do not mix. */
static void write_stderr(const struct str *s)
{
    size_t done = 0;

    while (done < s->len) {
        ssize_t n = write(STDERR_FILENO, s->data + done, s->len - done);

        if (n == -1 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* there is nowhere to report this */
        done += (size_t)n;
    }
}

/* Returns true if a command line begins at `at`, see err.h. */
static bool is_command(const char *text, const char *at)
{
    size_t len = strspn(at, "abcdefghijklmnopqrstuvwxyz");

    if (len == 0 || (len == strlen(LOCAL) && str_starts(at, LOCAL)))
        return false;
    at -= strlen(COMMAND);
    return (at > text && (at[-1] == '(' || at[-1] == '\'')) ||
           (at > text + 1 && at[-1] == ' ' && (at[-2] == ':' || at[-2] == '&'));
}

void err_add_commands(struct str *to, const char *fmt, ...)
{
    _cleanup_str_ struct str text = STR_INIT;
    const char *name = getenv(ERR_REACHED_AS);
    va_list args;

    va_start(args, fmt);
    str_vaddf(&text, fmt, args);
    va_end(args);
    const char *from = str_text(&text);
    for (const char *at = from; name != NULL && (at = strstr(at, COMMAND)) != NULL;) {
        at += strlen(COMMAND);
        if (!is_command(str_text(&text), at))
            continue;
        str_addn(to, from, (size_t)(at - from));
        str_addf(to, "--host %s ", name);
        from = at;
    }
    str_add(to, from);
}

static void add_visible(struct str *to, const char *text)
{
    _cleanup_str_ struct str with = STR_INIT;

    err_add_commands(&with, "%s", text);
    str_add_visible(to, str_text(&with), with.len);
}

void err_print(const struct err *err)
{
    _cleanup_str_ struct str s = STR_INIT;

    str_add(&s, "mas: ");
    str_add_visible(&s, err->text, strlen(err->text));
    str_addc(&s, '\n');
    if (err->hint[0] != '\0') {
        add_visible(&s, err->hint);
        str_addc(&s, '\n');
    }
    write_stderr(&s);
}

void err_warn(const char *fmt, ...)
{
    _cleanup_str_ struct str s = STR_INIT;
    struct err err = ERR_INIT;
    va_list args;

    va_start(args, fmt);
    (void)err_vset(&err, MAS_FAILED, fmt, args);
    va_end(args);
    str_add(&s, "mas: warning: ");
    add_visible(&s, err.text);
    str_addc(&s, '\n');
    write_stderr(&s);
}
