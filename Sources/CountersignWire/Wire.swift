/// The JSON of `/v1`: what stands in its answers, in the order in which it is written.
///
/// Shared by server and client, so that they cannot drift. Instants are RFC 3339 texts, made and read by whoever has a
/// calendar.
public enum Wire {}
