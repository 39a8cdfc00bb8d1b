-- What the engine itself needs: which migrations ran, the state version, and the wrapped data keys.
-- Instants are whole seconds since 1970, UTC, unless a column says otherwise.

-- The text itself is kept, not a digest of it: a migration that was changed after it ran is refused by comparing.
CREATE TABLE schema_migrations (
    number INTEGER NOT NULL PRIMARY KEY CHECK (number >= 1),
    name TEXT NOT NULL UNIQUE,
    sql TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

-- One row. `version` is the `seq` of every bundle: it grows with each commit that changed something and with each
-- start of a server, and is never lower than the microseconds since 1970 of that moment (when the clock is trusted).
-- `committed_at` is the wall clock of the last such commit, 0 before the first: a start compares its clock with it.
-- `clock` says which clock the database was first served with; NULL before its first start.
CREATE TABLE state (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    version INTEGER NOT NULL CHECK (version >= 0),
    committed_at INTEGER NOT NULL CHECK (committed_at >= 0),
    clock TEXT CHECK (clock IN ('wall', 'test'))
) STRICT;

INSERT INTO state (id, version, committed_at, clock) VALUES (1, 0, 0, NULL);

-- The two random 32-byte keys under which everything secret is looked up (HMAC) or sealed (AES-256-GCM), each wrapped
-- by the master key, which is not in the database: nonce (12) || ciphertext (32) || tag (16).
CREATE TABLE data_keys (
    purpose TEXT NOT NULL PRIMARY KEY CHECK (purpose IN ('lookup', 'seal')),
    wrapped BLOB NOT NULL CHECK (length(wrapped) = 60),
    wrapped_at INTEGER NOT NULL
) STRICT;
