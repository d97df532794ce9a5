#include "unit.h"

#include "code/land/forge.h"

TEST(each_forge_has_its_page)
{
    static const struct {
        const char *remote, *want; /* of mas/login for main; NULL: none is known */
    } cases[] = {
        {"https://github.com/o/r.git", "https://github.com/o/r/compare/main...mas/login?expand=1"},
        {"git@github.com:o/r.git", "https://github.com/o/r/compare/main...mas/login?expand=1"},
        {"github.com:o/r", "https://github.com/o/r/compare/main...mas/login?expand=1"},
        {"ssh://git@github.com:22/o/r/",
         "https://github.com/o/r/compare/main...mas/login?expand=1"},
        {"git+ssh://git@GitHub.com/o/r",
         "https://GitHub.com/o/r/compare/main...mas/login?expand=1"},
        {"https://me:secret@github.example.org:8443/o/r",
         "https://github.example.org:8443/o/r/compare/main...mas/login?expand=1"},
        {"https://a@b@github.com/o/r", "https://github.com/o/r/compare/main...mas/login?expand=1"},
        {"git@gitlab.com:group/sub/r.git",
         "https://gitlab.com/group/sub/r/-/merge_requests/new?merge_request%5Bsource_branch%5D=mas/"
         "login&merge_request%5Btarget_branch%5D=main"},
        {"ssh://git@codeberg.org/o/r.git", "https://codeberg.org/o/r/compare/main...mas/login"},
        {"http://gitea.local:3000/o/r.git", "http://gitea.local:3000/o/r/compare/main...mas/login"},
        {"git@forgejo.example:o/r.git", "https://forgejo.example/o/r/compare/main...mas/login"},
        {"git@bitbucket.org:o/r.git",
         "https://bitbucket.org/o/r/pull-requests/new?source=mas/login&dest=main"},
        /* what is hostile is escaped, or no URL */
        {"git@github.com:o/r\033[31m; rm -rf $HOME'\"`\xc3\xbc",
         "https://github.com/o/r%1B%5B31m%3B%20rm%20-rf%20%24HOME%27%22%60%C3%BC/compare/"
         "main...mas/"
         "login?expand=1"},
        {"https://github.com/o/r?x=y#z",
         "https://github.com/o/r%3Fx%3Dy%23z/compare/main...mas/login?expand=1"},
        {"https://git\033hub.com/o/r", NULL},
        {"https://github.com:80x/o/r", NULL},
        {"https://github.com\\@evil/o/r", NULL},
        {"https://github.com", NULL},
        {"https://github.com/", NULL},
        {"https://github.com//", NULL},
        {"https:///o/r", NULL},
        {"git@:o/r", NULL},
        {"git.example.org:o/r", NULL},
        {"/home/github.com/r", NULL},
        {"../github.com:r/x", NULL},
        {"file:///github/r", NULL},
        {"ext::sh -c github", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *got = forge_request_url(cases[i].remote, "main", "mas/login");
        if (!CHECK_STR(got != NULL ? got : "none", cases[i].want != NULL ? cases[i].want : "none"))
            unit_print_str("remote", cases[i].remote);
    }
}

TEST(who_owns_a_repository_is_in_its_url)
{
    static const char *const cases[][2] = {{"https://github.com/me/r.git", "me"},
                                           {"git@github.com:me/r", "me"},
                                           {"work:/me/r.git", "me"},
                                           {"https://github.com/r", ""},
                                           {"https://github.com//", ""},
                                           {"/home/me/r", ""}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *got = forge_owner(cases[i][0]);
        CHECK_STR(got != NULL ? got : "", cases[i][1]);
    }
}

TEST(host_and_repository_are_in_a_url)
{
    static const char *const cases[][3] = {
        {"https://me:x@gitlab.com:8443/group/sub/r.git/", "gitlab.com", "group/sub/r"},
        {"git@gitlab.com:o/r.git", "gitlab.com", "o/r"},
        {"ssh://git@gitlab.com:22//o/r", "gitlab.com", "o/r"},
        {"https://gitlab.com", "", ""},
        {"https://gitlab.com/", "gitlab.com", ""},
        {"/home/gitlab/r", "", ""},
        {"", "", ""}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_free_ char *host = NULL;
        _cleanup_free_ char *path = NULL;
        CHECK(forge_place(cases[i][0], &host, &path) == (cases[i][1][0] != '\0'));
        CHECK_STR(host != NULL ? host : "", cases[i][1]);
        CHECK_STR(path != NULL ? path : "", cases[i][2]);
    }
}

TEST(branches_are_escaped)
{
    _cleanup_free_ char *got = forge_request_url("github.com:o/r", "a&b", "mas/x y");
    CHECK_STR(got, "https://github.com/o/r/compare/a%26b...mas/x%20y?expand=1");
}
