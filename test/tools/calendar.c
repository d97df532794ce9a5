/* calendar BASE COUNT: prints times of the calendars on standard input, a line each, after BASE in
 * seconds: as "systemd-analyze calendar" does, or "refused". */
#include "model/calendar.h"

int main(int argc, char **argv)
{
    char line[512];

    while (argc == 3 && fgets(line, sizeof line, stdin) != NULL) {
        struct calendar calendar;
        time_t t = strtol(argv[1], NULL, 10);
        line[strcspn(line, "\n")] = '\0';
        printf("= %s\n", line);
        if (calendar_parse(line, &calendar) != NULL) {
            (void)puts("refused");
            continue;
        }
        for (long i = 0; i < strtol(argv[2], NULL, 10) && calendar_next(&calendar, t, &t); i++) {
            struct tm tm;
            char text[64];
            if (gmtime_r(&t, &tm) == NULL || strftime(text, sizeof text, "%a %F %T UTC", &tm) == 0)
                return 1;
            (void)puts(text);
        }
    }
    return 0;
}
