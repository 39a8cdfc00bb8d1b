#ifndef COUNTERSIGN_CSYSTEM_H
#define COUNTERSIGN_CSYSTEM_H
#include <sys/epoll.h>
#endif
