// Placeholder until this target's first suite lands.
