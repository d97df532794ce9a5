/* Pictures that come with a request. */
#pragma once

#include "host/talk/talk.h"

/* Reads the pictures that a request names, and finds them. *ret_data is what the message keeps of
 * them, which the caller frees; NULL: there are none. Fails if the agent takes none. */
int picture_request(const struct host *host, const struct frame *frame, char **ret_data,
                    struct err *err);
/* Fails, and says how else the agent can be shown a picture. */
int picture_refuse(const struct host *host, struct err *err);
