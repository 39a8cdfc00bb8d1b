#include "COpenSSLMemory.h"

#include <openssl/crypto.h>
#include <stdlib.h>

static _Thread_local uint64_t failed;

// Set once, before OpenSSL allocates and so before a second thread could use it. NULL: the C library's.
static CRYPTO_malloc_fn next_malloc;
static CRYPTO_realloc_fn next_realloc;
static CRYPTO_free_fn next_free;

static void *watched_malloc(size_t size, const char *file, int line) {
    if (size == 0) return NULL;  // as OpenSSL's own does; no failure
    void *result = next_malloc ? next_malloc(size, file, line) : malloc(size);
    if (!result) failed++;
    return result;
}

static void watched_free(void *pointer, const char *file, int line) {
    if (next_free) {
        next_free(pointer, file, line);
    } else {
        free(pointer);
    }
}

static void *watched_realloc(void *pointer, size_t size, const char *file, int line) {
    if (size == 0) {
        watched_free(pointer, file, line);
        return NULL;
    }
    void *result = next_realloc ? next_realloc(pointer, size, file, line) : realloc(pointer, size);
    if (!result) failed++;
    return result;
}

int cs_watch_memory(void) {
    CRYPTO_malloc_fn current_malloc;
    CRYPTO_realloc_fn current_realloc;
    CRYPTO_free_fn current_free;
    CRYPTO_get_mem_functions(&current_malloc, &current_realloc, &current_free);
    if (current_malloc == watched_malloc) return 1;
    // OpenSSL's own functions call whatever is set: on top of them it would be a circle.
    if (current_malloc != CRYPTO_malloc) {
        next_malloc = current_malloc;
        next_realloc = current_realloc;
        next_free = current_free;
    }
    return CRYPTO_set_mem_functions(watched_malloc, watched_realloc, watched_free);
}

uint64_t cs_failed_allocations(void) { return failed; }
