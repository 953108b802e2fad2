"""Families of sets as zero-suppressed decision diagrams, in arrays of our own.

A node says: the sets with its item (`high`, the item taken off them) and those without (`low`). Equal nodes are one
node, and items only get smaller on the way down, so equal families are one number. Node 0 is the family of no set,
node 1 the family of the empty set alone.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from random import Random

NO_SET, EMPTY_SET = 0, 1


class Forest:
    """Many families that share their nodes. A child is always older than its parents."""

    def __init__(self) -> None:
        self.items, self.lows, self.highs = array("q", [-1, -1]), array("q", [0, 0]), array("q", [0, 0])
        self.known: dict[tuple[int, int, int], int] = {}
        self.counts: list[int] = [0, 1]  # how many sets, of any size of number

    def node(self, item: int, low: int, high: int) -> int:
        """The sets of `low`, and those of `high` each with the item, which is larger than all of theirs."""
        if high == NO_SET:
            return low
        key = (item, low, high)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = len(self.items)
            self.items.append(item)
            self.lows.append(low)
            self.highs.append(high)
            self.counts.append(self.counts[low] + self.counts[high])
        return found

    # Making families.

    def of_sets(self, sets: Iterable[Iterable[int]]) -> int:
        root = NO_SET
        for one in sets:
            found = EMPTY_SET
            for item in sorted(set(one)):
                found = self.node(item, NO_SET, found)
            root = self.union(root, found)
        return root

    def subsets(self, items: Iterable[int], least: int = 1) -> int:
        """All subsets of at least so many items.

        >>> forest = Forest()
        >>> forest.count(forest.subsets(range(100))) == 2**100 - 1
        True
        """
        families = [EMPTY_SET, *([NO_SET] * least)]  # of at least 0, 1, 2, ... items so far
        for item in sorted(set(items)):
            fewer = [families[0], *families[:-1]]
            families = [self.node(item, low, high) for low, high in zip(families, fewer, strict=True)]
        return families[-1]

    def union(self, one: int, other: int) -> int:
        return self._both(one, other, lambda a, b: b if a == NO_SET else a if b in (NO_SET, a) else None)

    def intersection(self, one: int, other: int) -> int:
        return self._both(one, other, lambda a, b: NO_SET if NO_SET in (a, b) else a if a == b else None)

    def difference(self, one: int, other: int) -> int:
        return self._both(one, other, lambda a, b: NO_SET if a in (NO_SET, b) else a if b == NO_SET else None)

    def _both(self, one: int, other: int, settled: Callable[[int, int], int | None]) -> int:
        """Item by item, without recursion: families may be as deep as there are events."""
        done: dict[tuple[int, int], int] = {}
        todo = [(one, other)]
        while todo:
            pair = todo[-1]
            if pair in done:
                todo.pop()
                continue
            a, b = pair
            simple = settled(a, b)
            if simple is not None:
                done[pair] = simple
                continue
            item = max(self.items[a], self.items[b])
            low_a, high_a = self._split(a, item)
            low_b, high_b = self._split(b, item)
            parts = ((low_a, low_b), (high_a, high_b))
            missing = [part for part in parts if part not in done]
            if missing:
                todo += missing
            else:
                done[pair] = self.node(item, done[parts[0]], done[parts[1]])
        return done[one, other]

    def _split(self, node: int, item: int) -> tuple[int, int]:
        return (self.lows[node], self.highs[node]) if self.items[node] == item else (node, NO_SET)

    def restricted(self, root: int, test: Callable[[int, int], bool]) -> int:
        """The sets of which every two neighbours pass the test, the smaller one first."""
        done: dict[tuple[int, int], int] = {}
        todo = [(root, -1)]  # a node, and the item taken last on the way to it
        while todo:
            node, last = todo[-1]
            if node <= EMPTY_SET:
                done[node, last] = node
            if (node, last) in done:
                todo.pop()
                continue
            item = self.items[node]
            fits = last < 0 or test(item, last)
            parts = [(self.lows[node], last), *([(self.highs[node], item)] if fits else [])]
            missing = [part for part in parts if part not in done]
            if missing:
                todo += missing
            else:
                done[node, last] = self.node(item, done[parts[0]], done[parts[1]] if fits else NO_SET)
        return done[root, -1]

    # Asking.

    def count(self, root: int) -> int:
        return self.counts[root]

    def contains(self, root: int, items: Iterable[int]) -> bool:
        node = root
        for item in sorted(set(items), reverse=True):
            while self.items[node] > item:
                node = self.lows[node]
            if self.items[node] != item:
                return False
            node = self.highs[node]
        while node > EMPTY_SET:
            node = self.lows[node]
        return node == EMPTY_SET

    def sample(self, root: int, random: Random) -> list[int]:
        """One of the sets, each as likely as any other."""
        if root == NO_SET:
            raise ValueError("there is no set to choose from")
        found, node = [], root
        chosen = random.randrange(self.counts[root])
        while node > EMPTY_SET:
            low = self.lows[node]
            if chosen < self.counts[low]:
                node = low
            else:
                chosen -= self.counts[low]
                found.append(self.items[node])
                node = self.highs[node]
        return found[::-1]

    def nodes(self, root: int) -> list[int]:
        """All nodes of a family, children first."""
        seen, todo = {root}, [root]
        while todo:
            node = todo.pop()
            if node > EMPTY_SET:
                for child in (self.lows[node], self.highs[node]):
                    if child not in seen:
                        seen.add(child)
                        todo.append(child)
        return sorted(seen - {NO_SET, EMPTY_SET})

    def in_order(self, root: int) -> Iterator[list[int]]:
        """By the smallest item, then smaller sets first, then item by item: as matches of one moment are listed."""
        yield from Walk(self, root).sets()


class Walk:
    """A family read from the smallest item on, which in the diagram is from the bottom up.

    A set is one path. So a prefix is a few nodes of one item, and from each of them paths lead up to the root.
    """

    def __init__(self, forest: Forest, root: int) -> None:
        self.forest, self.root = forest, root
        nodes = forest.nodes(root)
        self.above: dict[
            int, list[int]
        ] = {}  # the nodes that may be taken next after a node; 1 is the beginning
        for node in nodes:
            for below in self._endings(forest.highs[node]):
                self.above.setdefault(below, []).append(node)
        ends = set(self._endings(root))
        self.holds_empty = EMPTY_SET in ends
        # Bit k: from here on exactly k more items can be taken.
        self.more = {EMPTY_SET: 0}
        for node in reversed([EMPTY_SET, *nodes]):
            sizes = int(node in ends)
            for after in self.above.get(node, ()):
                sizes |= self.more[after] << 1
            self.more[node] = sizes

    def _endings(self, node: int) -> list[int]:
        """A node and what stands in its place if its item is not taken."""
        found = []
        while node != NO_SET:
            found.append(node)
            node = self.forest.lows[node] if node > EMPTY_SET else NO_SET
        return found

    def sets(self) -> Iterator[list[int]]:
        if self.holds_empty:
            yield []
        for item, nodes in self._next([EMPTY_SET]):
            sizes = 0
            for node in nodes:
                sizes |= self.more[node]
            for more in range(sizes.bit_length()):
                if sizes >> more & 1:
                    yield from self._of_size(item, nodes, more)

    def _next(self, nodes: list[int]) -> list[tuple[int, list[int]]]:
        by_item: dict[int, list[int]] = {}
        for node in nodes:
            for after in self.above.get(node, ()):
                by_item.setdefault(self.forest.items[after], []).append(after)
        return sorted(by_item.items())

    def _of_size(self, item: int, nodes: list[int], more: int) -> Iterator[list[int]]:
        """The sets that begin with an item and have so many more."""
        path = [item]
        ways = [iter([] if more == 0 else self._next(nodes))]
        if more == 0:
            yield list(path)
            return
        while ways:
            step = next(ways[-1], None)
            if step is None:
                ways.pop()
                path.pop()
                continue
            left = more - len(ways)
            fitting = [node for node in step[1] if self.more[node] >> left & 1]
            if not fitting:
                continue
            if left == 0:
                yield [*path, step[0]]
            else:
                path.append(step[0])
                ways.append(iter(self._next(fitting)))
