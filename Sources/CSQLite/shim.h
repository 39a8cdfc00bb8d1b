#ifndef COUNTERSIGN_CSQLITE_SHIM_H
#define COUNTERSIGN_CSQLITE_SHIM_H
#include <sqlite3.h>
#endif
