-- Who may call and what signs: signing keys, credentials, and the records of what was done.
CREATE TABLE signing_keys (
    id TEXT NOT NULL PRIMARY KEY,
    vendor_id TEXT NOT NULL REFERENCES vendors (id),
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    algorithm TEXT NOT NULL CHECK (algorithm IN ('ES256')),
    state TEXT NOT NULL CHECK (state IN ('next', 'active', 'retiring', 'retired', 'discarded')),
    -- RFC 7638 thumbprint of the public key.
    kid TEXT NOT NULL UNIQUE,
    spki BLOB NOT NULL,
    -- PKCS#8, sealed. NULL: only the public half is here yet (import-next), or the key is retired.
    private_sealed BLOB,
    created_at INTEGER NOT NULL,
    activated_at INTEGER,
    rotated_at INTEGER,
    -- While retiring: until when it stays published, exclusive.
    published_until INTEGER
) STRICT;

CREATE UNIQUE INDEX signing_keys_active ON signing_keys (vendor_id, mode, algorithm) WHERE state = 'active';
CREATE UNIQUE INDEX signing_keys_next ON signing_keys (vendor_id, mode, algorithm) WHERE state = 'next';

CREATE TABLE credentials (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('pk', 'sk', 'ul')),
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    vendor_id TEXT NOT NULL REFERENCES vendors (id),
    -- NULL: the whole vendor (sk, ul).
    product_id TEXT REFERENCES products (id),
    name TEXT NOT NULL,
    -- SHA-256 of the token: 32 random bytes need no key and no salt.
    token_digest BLOB NOT NULL UNIQUE CHECK (length(token_digest) = 32),
    -- The token, sealed: only of pk, which may be shown again.
    token_sealed BLOB,
    last_four TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- Exclusive end, set by a rotation.
    expires_at INTEGER,
    revoked_at INTEGER,
    CHECK (kind <> 'pk' OR product_id IS NOT NULL)
) STRICT;

CREATE INDEX credentials_by_vendor ON credentials (vendor_id, id);

CREATE TABLE idempotency (
    -- HMAC of mode, product, route, caller and key.
    digest BLOB NOT NULL PRIMARY KEY CHECK (length(digest) = 32),
    body_digest BLOB NOT NULL CHECK (length(body_digest) = 32),
    -- What was decided, as JSON; never the answer.
    facts TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_by_age ON idempotency (created_at);

CREATE TABLE audit (
    position INTEGER NOT NULL PRIMARY KEY,
    -- NULL: about the server itself.
    vendor_id TEXT REFERENCES vendors (id),
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    request_id TEXT,
    reason TEXT,
    -- Before and after, as JSON. NULL once a person named in it was erased.
    detail TEXT,
    -- Keyed digest of reason and detail: the chain holds this, so that an erasure does not break it.
    detail_digest BLOB NOT NULL CHECK (length(detail_digest) = 32),
    -- HMAC over the one before and every column but reason and detail.
    mac BLOB NOT NULL CHECK (length(mac) = 32)
) STRICT;

CREATE INDEX audit_by_vendor ON audit (vendor_id, position);
CREATE INDEX audit_by_target ON audit (target, position);

-- What happened, for webhooks: written in the transaction of the change, delivered by a later part.
CREATE TABLE outbox (
    position INTEGER NOT NULL PRIMARY KEY,
    vendor_id TEXT NOT NULL REFERENCES vendors (id),
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    target TEXT NOT NULL,
    payload TEXT NOT NULL
) STRICT;
