/*
 * Checks that the words of a root's search index are those of its messages, for tests: only mas has
 * the tokenizer of the index.
 *
 *   words ROOT
 */
#include "memory/db.h"
#include "memory/search_internal.h"
#include "store/root.h"

int main(int argc, char **argv)
{
    struct root root = ROOT_INIT;
    struct search *search = NULL;
    struct err err = ERR_INIT;

    if (argc != 2 || root_open(argv[1], &root, &err) == -1 ||
        search_open(&root, NULL, &search, &err) == -1 ||
        db_exec(search->db, "INSERT INTO word (word) VALUES ('integrity-check')", &err) == -1) {
        (void)fprintf(stderr, "words: %s\n", err.text);
        return 1;
    }
    search_close(search);
    root_close(&root);
    return 0;
}
