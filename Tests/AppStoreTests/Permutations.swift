/// Every order of `items`.
func permutations<Item>(_ items: [Item]) -> [[Item]] {
    guard let first = items.first else { return [[]] }
    return permutations(Array(items.dropFirst())).flatMap { rest in
        (0...rest.count).map { Array(rest[..<$0]) + [first] + Array(rest[$0...]) }
    }
}
