-- The machines that a trial is known by: the one it began on, and what its fingerprint drifted to. Once for a machine
-- means once for each of them.
CREATE TABLE trial_fingerprints (
    product_id TEXT NOT NULL REFERENCES products (id),
    mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32),
    trial_id TEXT NOT NULL REFERENCES trials (id),
    PRIMARY KEY (product_id, mode, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE INDEX trial_fingerprints_by_trial ON trial_fingerprints (trial_id);

INSERT INTO trial_fingerprints (product_id, mode, fingerprint, trial_id)
SELECT product_id, mode, fingerprint, id FROM trials WHERE fingerprint IS NOT NULL;

DROP INDEX trials_by_fingerprint;
ALTER TABLE trials DROP COLUMN fingerprint;

-- Who presented a transaction first within one second: counts up within the links of one.
ALTER TABLE purchase_links ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0;
