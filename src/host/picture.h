/* Pictures that come with a request, and how a program on a terminal gets them. */
#pragma once

#include "host/state.h"

struct pictures;

/* Reads the pictures that a request names, and finds them. *ret_data is what the message keeps of
 * them, which the caller frees; NULL: there are none. Fails if the agent takes none. */
int picture_request(const struct host *host, const struct frame *frame, char **ret_data,
                    struct err *err);
/* Fails, and says how else the agent can be shown a picture. */
int picture_refuse(struct err *err);

/* Makes the directory from which the program reads them, before it starts. */
int picture_open_dir(const struct host *host, struct err *err);
/* Copies them there, from where the session keeps them. */
int picture_place(const struct host *host, const struct pictures *pictures, struct err *err);
/* Appends what is typed for one of them. Returns true if it is to be a paste of its own. */
bool picture_type_in(const struct host *host, const struct pictures *pictures, size_t i,
                     struct str *to);
