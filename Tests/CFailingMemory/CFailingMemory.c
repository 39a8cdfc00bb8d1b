#include "CFailingMemory.h"

#include <openssl/crypto.h>
#include <stdlib.h>

static int64_t count;
static int64_t failing;
static int is_lasting;

static int fails(void) {
    count++;
    return failing > 0 && (is_lasting ? count >= failing : count == failing);
}

static void *failing_malloc(size_t size, const char *file, int line) {
    (void)file, (void)line;
    return size == 0 || fails() ? NULL : malloc(size);
}

static void *failing_realloc(void *pointer, size_t size, const char *file, int line) {
    (void)file, (void)line;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    return fails() ? NULL : realloc(pointer, size);
}

static void failing_free(void *pointer, const char *file, int line) {
    (void)file, (void)line;
    free(pointer);
}

int failing_memory_install(void) {
    return CRYPTO_set_mem_functions(failing_malloc, failing_realloc, failing_free);
}

void failing_memory_fail(int64_t number, int lasting) {
    count = 0;
    failing = number;
    is_lasting = lasting;
}

int64_t failing_memory_count(void) { return count; }
