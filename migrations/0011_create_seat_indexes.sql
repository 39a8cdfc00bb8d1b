-- Activation asks for the one seat it needs and never reads all seats of a license: the longest unseen, and those of a
-- machine.
CREATE INDEX activations_unseen ON activations (license_id, last_seen_at, id) WHERE released_at IS NULL;
CREATE INDEX activations_by_machine ON activations (license_id, fingerprint, last_seen_at, id)
    WHERE released_at IS NULL AND fingerprint IS NOT NULL;
