"""Where the nodes of a graph stand: sizes and edges go in, positions come out. Plain functions, no browser.

Layers along the data's way (Sugiyama, Tagawa and Toda 1981): cycles opened, longest-path layers, sources drawn up to
what uses them, crossings reduced by barycentres, and in each layer the positions nearest to the neighbours' that keep
order and distances (isotonic regression, by pooling adjacent violators). The same graph gives the same picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, sqrt

import networkx

Size = tuple[float, float]
Position = tuple[float, float]

_WINDOW = (1240.0, 640.0)
_BETWEEN_LAYERS = 64.0
_BESIDE = 20.0
_BETWEEN_BLOCKS = 24.0
_BETWEEN_ROWS = 48.0
_SWEEPS = 12
_LEGIBLE = 0.7
_LIGHT = 0.01
_MOST_BENDS = 20_000


@dataclass(frozen=True)
class Layout:
    """The centre of each node, the whole picture's size, and whether data goes from left to right (else downwards)."""

    positions: Mapping[str, Position]
    size: Size
    across: bool

    @property
    def scale(self) -> float:
        """How much of its natural size the picture keeps in a usual window, at most 1."""
        return min(1.0, _WINDOW[0] / max(self.size[0], 1), _WINDOW[1] / max(self.size[1], 1))


def arrange(sizes: Mapping[str, Size], edges: Sequence[tuple[str, str]], light: Set[str] = frozenset()) -> Layout:
    """Return the layout of a graph: `sizes` (width, height) of each node, in order; `edges` as (from, to) of those;
    `light` nodes stand near the others without pulling them out of line.

    From left to right where that is legible in a usual window, else downwards where that is; else from left to right in
    as many rows, one below the other like lines of text, as leave the largest letters.
    """
    across = _arranged(sizes, edges, light, across=True, wrap=False)
    if across.scale >= _LEGIBLE:
        return across
    down = _arranged(sizes, edges, light, across=False, wrap=False)
    return down if down.scale >= _LEGIBLE else _arranged(sizes, edges, light, across=True, wrap=True)


def _arranged(
    sizes: Mapping[str, Size], edges: Sequence[tuple[str, str]], light: Set[str], *, across: bool, wrap: bool
) -> Layout:
    """Work with (extent along the data's way, extent across it); turned at the end."""
    extents = {node: size if across else (size[1], size[0]) for node, size in sizes.items()}
    layers, links = layered(list(sizes), edges)
    ordered = uncrossed(layers, links)
    blocks = [block for layer in ordered for block in _folded(layer, extents, across)]
    beside = _beside(blocks, links, {node: extent[1] for node, extent in extents.items()}, light)
    most = ceil(sqrt(len(blocks))) if wrap else 1
    tries = (_in_rows(blocks, extents, beside, rows) for rows in range(1, most + 1))
    layouts = (
        _centred({node: at[node] if across else (at[node][1], at[node][0]) for node in sizes}, sizes, across)
        for at in tries
    )
    return max(layouts, key=lambda layout: layout.scale)


def layered(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> tuple[list[list[str]], list[tuple[str, str]]]:
    """Return the layers and the links between them.

    Every link goes from a layer to a later one; one that leaps over layers gets a bend (a name that is no node) in
    each, unless the graph has so many that they would cost more than they show.
    """
    links = _opened(nodes, edges)
    level = _levels(nodes, links)
    layers: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for node in nodes:
        layers[level[node]].append(node)
    if sum(level[end] - level[start] - 1 for start, end in links) > _MOST_BENDS:
        return layers, links
    bent: list[tuple[str, str]] = []
    for start, end in links:
        before = start
        for middle in range(level[start] + 1, level[end]):
            bend = f"\0{start}\0{end}\0{middle}"
            layers[middle].append(bend)
            bent.append((before, bend))
            before = bend
        bent.append((before, end))
    return layers, bent


def _opened(nodes: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The edges without loops and repeats, those that close a cycle turned round."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((start, end) for start, end in edges if start != end)
    place = {node: number for number, node in enumerate(nodes)}
    group = {}
    for number, members in enumerate(networkx.strongly_connected_components(graph)):
        group.update(dict.fromkeys(members, number))
    links = [
        (end, start) if group[start] == group[end] and place[start] > place[end] else (start, end)
        for start, end in graph.edges
    ]
    return list(dict.fromkeys(links))


def _levels(nodes: Sequence[str], links: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Longest paths from the sources; then each source is drawn up to just before its first user."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(links)
    level = {node: number for number, layer in enumerate(networkx.topological_generations(graph)) for node in layer}
    for node in nodes:
        if graph.in_degree(node) == 0 and graph.out_degree(node):
            level[node] = min(level[user] for user in graph.successors(node)) - 1
    return level


def uncrossed(layers: Sequence[Sequence[str]], links: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the layers, each in the order of its neighbours' mean places; the best of some sweeps up and down."""
    before, after = _neighbours(links)
    current = [list(layer) for layer in layers]
    best, fewest = [list(layer) for layer in current], _crossings(current, after)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        nearer = before if down else after
        for number in range(1, len(current)) if down else range(len(current) - 2, -1, -1):
            place = {node: at for at, node in enumerate(current[number - 1 if down else number + 1])}
            current[number] = _by_mean(current[number], nearer, place)
        crossings = _crossings(current, after)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in current], crossings
    return best


def _neighbours(links: Sequence[tuple[str, str]]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for start, end in links:
        before.setdefault(end, []).append(start)
        after.setdefault(start, []).append(end)
    return before, after


def _by_mean(layer: Sequence[str], nearer: Mapping[str, Sequence[str]], place: Mapping[str, int]) -> list[str]:
    """One without neighbours keeps its place."""
    means = {}
    for at, node in enumerate(layer):
        places = [place[other] for other in nearer.get(node, ()) if other in place]
        means[node] = sum(places) / len(places) if places else at
    return sorted(layer, key=means.__getitem__)


def _crossings(layers: Sequence[Sequence[str]], after: Mapping[str, Sequence[str]]) -> int:
    """How many pairs of links between adjacent layers cross, counted with a Fenwick tree."""
    total = 0
    for layer, following in pairwise(layers):
        place = {node: at for at, node in enumerate(following)}
        counts = [0] * (len(following) + 1)
        met = 0
        for node in layer:
            ends = sorted(place[end] for end in after.get(node, ()) if end in place)
            total += sum(met - _counted(counts, end + 1) for end in ends)
            for end in ends:
                _count(counts, end + 1)
            met += len(ends)
    return total


def _counted(counts: Sequence[int], upto: int) -> int:
    total = 0
    while upto > 0:
        total += counts[upto]
        upto -= upto & -upto
    return total


def _count(counts: list[int], at: int) -> None:
    while at < len(counts):
        counts[at] += 1
        at += at & -at


def _folded(layer: Sequence[str], extents: Mapping[str, Size], across: bool) -> list[list[str]]:
    """A layer with far more nodes than a window shows, in several blocks side by side; bends go with the first."""
    real = [node for node in layer if node in extents]
    if not real:
        return [list(layer)]
    along = sum(extents[node][0] for node in real) / len(real) + _BETWEEN_BLOCKS
    beside = sum(extents[node][1] for node in real) / len(real) + _BESIDE
    aspect = _WINDOW[1] / _WINDOW[0] if across else _WINDOW[0] / _WINDOW[1]
    most = max(ceil(sqrt(len(real) * along / beside * aspect)), 14 if across else 7)
    count = ceil(len(real) / most)
    if count == 1:
        return [list(layer)]
    return [real[first::count] for first in range(count)]


def _beside(
    blocks: Sequence[Sequence[str]], links: Sequence[tuple[str, str]], extent: Mapping[str, float], light: Set[str]
) -> dict[str, float]:
    """The positions across the data's way: each block as near to its neighbours as order and distances allow."""
    before, after = _neighbours(links)
    placed: dict[str, float] = {}
    near = {
        node: [other for other in (*before.get(node, ()), *after.get(node, ())) if other not in light]
        for block in blocks
        for node in block
    }
    for sweep in range(_SWEEPS + 1):
        for block in blocks if sweep % 2 == 0 else reversed(blocks):
            wanted = [_mean([placed[n] for n in near[node] if n in placed], placed.get(node)) for node in block]
            weights = [_LIGHT if node in light else 1.0 for node in block]
            nearest = _nearest(wanted, [extent.get(node, 0.0) for node in block], weights)
            placed.update(zip(block, nearest, strict=True))
    return placed


def _mean(values: Sequence[float], otherwise: float | None) -> float:
    return sum(values) / len(values) if values else otherwise or 0.0


def _nearest(wanted: Sequence[float], extents: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Positions in order, apart by the extents, with the least weighted sum of squared distances to the wanted ones."""
    offsets = [0.0]
    for one, other in pairwise(extents):
        offsets.append(offsets[-1] + (one + other) / 2 + _BESIDE)
    pools: list[tuple[float, float, int]] = []
    for want, offset, heaviness in zip(wanted, offsets, weights, strict=False):
        total, weight, count = (want - offset) * heaviness, heaviness, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / weight:
            total, weight, count = total + pools[-1][0], weight + pools[-1][1], count + pools[-1][2]
            pools.pop()
        pools.append((total, weight, count))
    flat = [total / weight for total, weight, count in pools for _ in range(count)]
    return [base + offset for base, offset in zip(flat, offsets, strict=False)]


def _in_rows(
    blocks: Sequence[Sequence[str]], extents: Mapping[str, Size], beside: Mapping[str, float], rows: int
) -> dict[str, Position]:
    """The positions (along, beside) with the blocks in `rows` rows of about equal length; a block is as wide as its
    widest node."""
    widest = [max((extents[node][0] for node in block if node in extents), default=0.0) for block in blocks]
    length = sum(widest) + _BETWEEN_LAYERS * len(blocks)
    placed: dict[str, Position] = {}
    base = begun = passed = 0.0
    row: list[tuple[str, float]] = []
    for place, (block, width) in enumerate(zip(blocks, widest, strict=True)):
        row += [(node, passed - begun + width / 2) for node in block if node in extents]
        passed += width + _BETWEEN_LAYERS
        if place + 1 == len(blocks) or passed - begun > length / rows - _BETWEEN_LAYERS:
            top = min((beside[node] - extents[node][1] / 2 for node, _ in row), default=0.0)
            placed.update((node, (along, base + beside[node] - top)) for node, along in row)
            base += max((beside[node] + extents[node][1] / 2 for node, _ in row), default=0.0) - top + _BETWEEN_ROWS
            begun, row = passed, []
    return placed


def _centred(positions: Mapping[str, Position], sizes: Mapping[str, Size], across: bool) -> Layout:
    """Rounded, with the picture's middle at the origin."""
    if not positions:
        return Layout({}, (0.0, 0.0), across)
    low = [min(positions[node][axis] - sizes[node][axis] / 2 for node in sizes) for axis in (0, 1)]
    high = [max(positions[node][axis] + sizes[node][axis] / 2 for node in sizes) for axis in (0, 1)]
    middle = [(one + other) / 2 for one, other in zip(low, high, strict=True)]
    centred = {node: (round(x - middle[0], 1), round(y - middle[1], 1)) for node, (x, y) in positions.items()}
    return Layout(centred, (high[0] - low[0], high[1] - low[1]), across)
