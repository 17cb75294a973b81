"""Find the single subtle changes of a Python module: source text in, mutants out.

Each mutant changes one node of the syntax tree. The rest of the text stays as it is, so that a mutant can be shown as
one changed line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """A changed module: its path, the whole new text, the first line of the enclosing function, and the change."""

    path: str
    line: int
    function: int
    text: str
    before: str
    after: str

    @property
    def key(self) -> str:
        """A name of the change that does not depend on line numbers."""
        return f"{self.path}: {self.before} -> {self.after}"


def mutants(path: str, text: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of the text."""
    lines = text.split("\n")
    found = []
    for node, new, function in _visited(ast.parse(text)):
        first, last = node.lineno - 1, node.end_lineno - 1
        head = lines[first].encode()[: node.col_offset].decode()
        tail = lines[last].encode()[node.end_col_offset :].decode()
        changed = f"{head}{new}{tail}".split("\n")
        whole = "\n".join([*lines[:first], *changed, *lines[last + 1 :]])
        before, after = (" ".join(" ".join(part).split()) for part in (lines[first : last + 1], changed))
        if _compiles(whole):
            found.append(Mutant(path, node.lineno, function, whole, before, after))
    return found


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _visited(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int]]:
    """Yield (node, its new source text, first line of the outermost function around it). Constants of modules and
    classes, defaults, annotations and messages stay."""
    waiting: list[tuple[ast.AST, int]] = [(tree, 0)]
    while waiting:
        node, function = waiting.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not function:
            function = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield node.test, f"(not {ast.unparse(node.test)})", function
        if isinstance(node, ast.comprehension):
            yield from ((test, "True", function) for test in node.ifs)
        if function and hasattr(node, "lineno"):
            yield from ((node, f"({new})" if isinstance(node, ast.expr) else new, function) for new in _changes(node))
        waiting += [(child, function) for child in _children(node)]


def _children(node: ast.AST) -> Iterator[ast.AST]:
    left_out = {
        "annotation",
        "returns",
        "decorator_list",
        "type_params",
        "args" if isinstance(node, ast.FunctionDef) else "",
    }
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    for name, value in ast.iter_fields(node):
        if name not in left_out:
            yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, ast.AST))


def _changes(node: ast.AST) -> Iterator[str]:  # noqa: C901
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            yield ast.unparse(ast.Compare(node.left, [COMPARISONS[type(op)]()], node.comparators))
        case ast.Compare(ops=[first, second]) if {type(first), type(second)} <= COMPARISONS.keys():
            yield ast.unparse(ast.Compare(node.left, [COMPARISONS[type(first)](), second], node.comparators))
            yield ast.unparse(ast.Compare(node.left, [first, COMPARISONS[type(second)]()], node.comparators))
        case ast.BoolOp(op=op):
            yield ast.unparse(ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), node.values))
            for place in range(len(node.values)):
                rest = node.values[:place] + node.values[place + 1 :]
                yield ast.unparse(ast.BoolOp(op, rest) if len(rest) > 1 else rest[0])
        case ast.UnaryOp(op=ast.Not()):
            yield ast.unparse(node.operand)
        case ast.BinOp(op=op) if type(op) in OPERATORS and not isinstance(node.left, ast.Constant | ast.JoinedStr):
            yield ast.unparse(ast.BinOp(node.left, OPERATORS[type(op)](), node.right))
        case ast.Constant(value=bool()):
            yield repr(not node.value)
        case ast.Constant(value=int()):
            yield repr(node.value + 1)
            if node.value > 0:
                yield repr(node.value - 1)
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
            yield "pass"
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield "return None"
        case ast.Break():
            yield "continue"
        case ast.Continue():
            yield "break"
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield ast.unparse(ast.Call(ast.Name(NAMES[name]), node.args, node.keywords))
        case ast.Slice(lower=lower, upper=upper):
            if lower is not None:
                yield ast.unparse(ast.Slice(None, upper, node.step))
            if upper is not None:
                yield ast.unparse(ast.Slice(lower, None, node.step))
        case ast.IfExp():
            yield ast.unparse(node.body)
            yield ast.unparse(node.orelse)
