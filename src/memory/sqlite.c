#include "memory/sqlite.h"

#include <dlfcn.h>
#include <pthread.h>

/* Of the library that this was compiled for: the name says which binary interface it has. */
#define LIBRARY "libsqlite3.so.0"

struct sqlite_functions sqlite;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *failure; /* NULL: it is loaded */

/* The library stays until the process ends. */
static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool complete = library != NULL;

#define LOAD(name)                                                                                 \
    {                                                                                              \
        void *symbol = complete ? dlsym(library, NAME(name)) : NULL;                               \
        complete = symbol != NULL;                                                                 \
        memcpy(&sqlite.name, &symbol, sizeof symbol);                                              \
    }
#define NAME(name) "sqlite3_" #name
    SQLITE_FUNCTIONS(LOAD)
    if (!complete)
        failure = mem_dup(dlerror());
}

int sqlite_load(struct err *err)
{
    if (pthread_once(&once, load) != 0 || failure != NULL) {
        (void)err_set(err, MAS_FAILED, "cannot load SQLite: %s",
                      failure != NULL ? failure : "it was not tried");
        return err_hint(err, "install it, for example: apt-get install libsqlite3-0");
    }
    return 0;
}
