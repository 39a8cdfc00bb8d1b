-- Who tries a product out, and what may be bought.
-- Instants are whole seconds since 1970 UTC, ends are exclusive; durations are ISO 8601 text.
CREATE TABLE trials (
    id TEXT NOT NULL PRIMARY KEY,
    product_id TEXT NOT NULL REFERENCES products (id),
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    -- The install that started it. NULL: an administrator issued it, or that install was removed since.
    install_id TEXT REFERENCES installs (id) ON DELETE SET NULL,
    -- The machine it counts for, where one is known: a reinstall finds it by this, also once the first install is gone.
    fingerprint BLOB CHECK (length(fingerprint) = 32),
    started_at INTEGER NOT NULL CHECK (started_at >= 0),
    -- NULL: no length has applied yet; only the first contact is recorded.
    ends_at INTEGER,
    -- An administrator's word, which survives every change of the length.
    extended_until INTEGER,
    -- HMAC-SHA-256 of purpose, product and token. NULL until the token is told for the first time.
    token_digest BLOB UNIQUE CHECK (length(token_digest) = 32),
    -- The token, to be told again to the same install. NULL beside a digest: shown once to an administrator.
    token_sealed BLOB,
    created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX trials_by_fingerprint ON trials (product_id, mode, fingerprint) WHERE fingerprint IS NOT NULL;
CREATE INDEX trials_by_product ON trials (product_id, id);
CREATE INDEX trials_by_install ON trials (install_id) WHERE install_id IS NOT NULL;

-- Which trial an install shares: its own, or that of its machine. NULL: it was in contact while trials were started by hand.
ALTER TABLE installs ADD COLUMN trial_id TEXT REFERENCES trials (id);

CREATE INDEX installs_by_trial ON installs (trial_id) WHERE trial_id IS NOT NULL;

CREATE TABLE offers (
    product_id TEXT NOT NULL REFERENCES products (id),
    -- How the vendor calls it.
    id TEXT NOT NULL,
    -- A plan of this product, by its code.
    plan TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('trial', 'subscription', 'purchase')),
    price_milliunits INTEGER CHECK (price_milliunits >= 0),
    currency TEXT CHECK (length(currency) = 3),
    store_product_id TEXT,
    trial_duration TEXT,
    url TEXT,
    starts_at INTEGER,
    ends_at INTEGER,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (product_id, id),
    FOREIGN KEY (product_id, plan) REFERENCES plans (product_id, code),
    CHECK ((price_milliunits IS NULL) = (currency IS NULL))
) STRICT, WITHOUT ROWID;
