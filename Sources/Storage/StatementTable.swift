internal import CSQLite

/// The prepared statements of one connection, found by the address of the literal they were written as.
///
/// An address is the cheapest key there is: two literals that start at one address are one text.
struct StatementTable: ~Copyable {
    private struct Entry {
        let statement: OpaquePointer
        let literal: UInt
        var isLent: Bool
    }

    /// In order of preparation, so that an index stays valid while others are added.
    private var entries: [Entry] = []
    /// Open addressing over a power of two; 0 is free, else the entry's index + 1.
    private var slots: [UInt32] = Array(repeating: 0, count: 64)

    deinit {
        for entry in entries { sqlite3_finalize(entry.statement) }
    }

    /// The statement of this literal: `nil` when there is none yet.
    ///
    /// The index is for `giveBack`; it is `nil` when the statement is in use further up the stack, by a closure that
    /// asks the same question again: then the caller prepares one of its own.
    mutating func lend(_ literal: UInt) -> (statement: OpaquePointer, index: Int?)? {
        var slot = home(of: literal)
        while slots[slot] != 0 {
            let index = Int(slots[slot]) - 1
            if entries[index].literal == literal {
                if entries[index].isLent { return (entries[index].statement, nil) }
                entries[index].isLent = true
                return (entries[index].statement, index)
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Keeps a statement prepared for `literal`, lent out from the start.
    mutating func add(_ statement: OpaquePointer, for literal: UInt) -> Int {
        if entries.count * 2 >= slots.count {
            slots = Array(repeating: 0, count: slots.count * 2)
            for index in entries.indices { place(index) }
        }
        entries.append(Entry(statement: statement, literal: literal, isLent: true))
        place(entries.count - 1)
        return entries.count - 1
    }

    mutating func giveBack(_ index: Int) {
        entries[index].isLent = false
    }

    private mutating func place(_ index: Int) {
        var slot = home(of: entries[index].literal)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = UInt32(index + 1)
    }

    private func home(of literal: UInt) -> Int {
        Int(truncatingIfNeeded: (literal &* 0x9E37_79B9_7F4A_7C15) >> 32) & (slots.count - 1)
    }
}
