-- How many seats of a license are not released is counted as they come and go, so that no call counts a license's seats
-- one by one; a license without a row has none. Triggers keep it, whoever writes.
CREATE TABLE seat_counts (
    license_id TEXT NOT NULL PRIMARY KEY REFERENCES licenses (id),
    unreleased INTEGER NOT NULL CHECK (unreleased >= 0)
) STRICT, WITHOUT ROWID;

INSERT INTO seat_counts (license_id, unreleased)
SELECT license_id, count(*) FROM activations WHERE released_at IS NULL GROUP BY license_id;

CREATE TRIGGER activations_counted_insert AFTER INSERT ON activations WHEN new.released_at IS NULL
BEGIN
    INSERT INTO seat_counts (license_id, unreleased) VALUES (new.license_id, 1)
    ON CONFLICT (license_id) DO UPDATE SET unreleased = unreleased + 1;
END;

CREATE TRIGGER activations_counted_delete AFTER DELETE ON activations WHEN old.released_at IS NULL
BEGIN
    UPDATE seat_counts SET unreleased = unreleased - 1 WHERE license_id = old.license_id;
END;

CREATE TRIGGER activations_counted_release AFTER UPDATE OF released_at ON activations
WHEN old.released_at IS NULL AND new.released_at IS NOT NULL
BEGIN
    UPDATE seat_counts SET unreleased = unreleased - 1 WHERE license_id = old.license_id;
END;

CREATE TRIGGER activations_counted_return AFTER UPDATE OF released_at ON activations
WHEN old.released_at IS NOT NULL AND new.released_at IS NULL
BEGIN
    INSERT INTO seat_counts (license_id, unreleased) VALUES (new.license_id, 1)
    ON CONFLICT (license_id) DO UPDATE SET unreleased = unreleased + 1;
END;

-- Those among them whose lease is over are found and counted by when it was renewed, until when that lasts at most, or, of a
-- seat from before its plan had a lease, by when it was seen. With released_at, which is always NULL here, a count needs
-- nothing but the index.
CREATE INDEX activations_renewed ON activations (license_id, lease_renewed_at, released_at)
    WHERE released_at IS NULL AND lease_renewed_at IS NOT NULL;
CREATE INDEX activations_expiring ON activations (license_id, lease_expires_at, lease_renewed_at, released_at)
    WHERE released_at IS NULL AND lease_expires_at IS NOT NULL;
DROP INDEX activations_unseen;
CREATE INDEX activations_unseen ON activations (
    license_id, last_seen_at, id, activated_at, lease_renewed_at, released_at
) WHERE released_at IS NULL;

-- What counts toward the cap on new seats: those that are not released, and of the past what the customer gave back,
-- however many leases ended meanwhile.
DROP INDEX activations_by_license;
CREATE INDEX activations_by_license ON activations (license_id);
CREATE INDEX activations_begun ON activations (license_id, activated_at) WHERE released_at IS NULL;
CREATE INDEX activations_given_back ON activations (license_id, activated_at, release_reason)
    WHERE release_reason IN ('deactivated', 'replaced', 'idle');
