#include "host/talk/picture.h"

#include "host/server.h"
#include "store/pictures.h"

int picture_refuse(const struct host *host, struct err *err)
{
    (void)err_set(err, MAS_CONFLICT, "%s", host->talk->ops->no_pictures(host));
    return err_hint(err, "put the file where the agent can read it, and name its path in the text");
}

int picture_request(const struct host *host, const struct frame *frame, char **ret_data,
                    struct err *err)
{
    struct pictures pictures;

    if (pictures_read(frame->head, &pictures, err) == -1)
        return -1;
    if (pictures.count > 0 && host->talk->ops->no_pictures(host) != NULL)
        return picture_refuse(host, err);
    if (pictures_find(host->dir, &pictures, err) == -1)
        return -1;
    *ret_data = pictures_data(&pictures);
    return 0;
}
