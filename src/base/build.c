#include "base/build.h"

const char build_commit[] = MAS_COMMIT;
const char build_data[] = MAS_DATADIR;
const char build_libexec[] = MAS_LIBEXECDIR;
