#include "cli/consent.h"

#include "base/number.h"
#include "base/term_escape.h"
#include "host/supervisor.h"
#include "os/proc.h"

enum { LINES_SHOWN = 20, BYTES_SHOWN = 4000, FILES_SHOWN = 100 };

bool caller_is_agent(void)
{
    _cleanup_free_ struct proc_above *line = NULL;
    const char *agent = getenv("MAS_AGENT_ID");
    struct proc_id self;
    size_t count = 0;
    bool is_operator = false;

    if (!proc_identify(getpid(), &self) || proc_lineage(&self, &line, &count) == -1)
        return true; /* nobody can tell */
    for (size_t i = 1; i < count; i++) {
        if (strcmp(line[i].name, SUPERVISOR_NAME) == 0)
            return true;
        is_operator = is_operator || strcmp(line[i].name, SUPERVISOR_NAME_OPERATOR) == 0;
    }
    return !is_operator && agent != NULL && agent[0] != '\0';
}

bool consent_possible(void)
{
    return isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0;
}

/* Returns the length of the part that is shown, and counts the lines behind it. */
static size_t cut(const struct setup_script *script, size_t *ret_more)
{
    size_t lines = 0;
    size_t shown = 0;
    size_t more = 0;

    for (size_t i = 0; i < script->len; i++) {
        bool ends = script->text[i] == '\n' || i + 1 == script->len;
        if (lines < LINES_SHOWN && i < BYTES_SHOWN)
            shown = i + 1;
        else
            more += ends;
        lines += ends;
    }
    *ret_more = more;
    return shown;
}

/* Appends the beginning of the script, without what a terminal would obey, below a margin. */
static void add_text(const struct setup_script *script, struct str *to)
{
    _cleanup_str_ struct str safe = STR_INIT;
    struct term_escape escape = {.count = 0};
    size_t more = 0;
    size_t shown = cut(script, &more);

    term_escape_add(&escape, script->text, shown, &safe);
    term_escape_end(&escape, &safe);
    for (char *rest = safe.data, *line; rest != NULL && (line = strsep(&rest, "\n")) != NULL;)
        if (rest != NULL || line[0] != '\0')
            str_addf(to, "  | %s\n", line);
    if (more > 0)
        str_addf(to, "  ... and %zu more line%s\n", more, more == 1 ? "" : "s");
}

int consent_read(char *ret, struct err *err)
{
    char line[16];

    clearerr(stdin);
    errno = 0;
    if (fgets(line, sizeof line, stdin) == NULL) {
        if (errno == EINTR)
            return err_set(err, MAS_FAILED, "interrupted");
        line[0] = '\0';
    }
    line[strcspn(line, "\n")] = '\0';
    bool yes = strcmp(line, "y") == 0 || strcmp(line, "yes") == 0;
    bool no = strcmp(line, "n") == 0 || strcmp(line, "no") == 0;
    *ret = (char)(yes ? 'y' : no ? 'n' : '\0');
    return 0;
}

int consent_ask(const char *project, const struct setup_script *script, enum setup_answer *ret,
                struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    char size[16];
    char answer;

    number_format_size(script->len, size);
    str_add(&text, "\r\033[KProject '");
    str_add_visible(&text, project, strlen(project));
    str_addf(&text,
             "' has a setup, " SETUP_SCRIPT " (%s). It would run once in each new work tree,\n"
             "as you, before the agent there starts:\n",
             size);
    add_text(script, &text);
    (void)fprintf(stderr,
                  "%sMay it run? y or n, for all sessions until it changes; Enter: not now [y/n] ",
                  text.data);
    if (consent_read(&answer, err) == -1)
        return -1;
    if (answer != '\0')
        *ret = answer == 'y' ? SETUP_YES : SETUP_NO;
    return 0;
}

int consent_ask_files(const char *project, const struct parcel *files, const char *host, bool *ret,
                      struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    char size[NUMBER_SIZE_TEXT];
    char answer;

    number_format_size(files->bytes, size);
    str_add(&text, "The .worktreeinclude of project '");
    str_add_visible(&text, project, strlen(project));
    str_addf(&text, "' names %zu file%s (%s) that git ignores, often secrets:\n", files->count,
             files->count == 1 ? "" : "s", size);
    for (size_t i = 0; i < files->count && i < FILES_SHOWN; i++) {
        const struct parcel_file *file = &files->files[i];
        number_format_size(file->len, size);
        str_add(&text, "  | ");
        str_add_visible(&text, file->name, strlen(file->name));
        str_addf(&text, " (%s)\n", size);
    }
    if (files->count > FILES_SHOWN)
        str_addf(&text, "  ... and %zu more\n", files->count - FILES_SHOWN);
    (void)fprintf(stderr, "%sMay they go to host '%s'? y or n; Enter: no [y/n] ", text.data, host);
    if (consent_read(&answer, err) == -1)
        return -1;
    *ret = answer == 'y';
    return 0;
}
