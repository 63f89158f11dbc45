"""The syntax tree of the kernel language: plain frozen data, every node with its span of the file's text.

The tree says what was written, not whether a kernel may say it: statements and expressions that no kernel may use are
nodes too, so that they can be refused by name and place. The nodes are structs of msgspec, which define themselves a
hundred times faster than dataclasses: the program starts with every one of them.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Span = tuple[int, int]
"""Offsets of the first character and of the one after the last, in the text of the file."""


class Node(Struct, frozen=True):
    span: Span


# Expressions --------------------------------------------------------------------------------------


class Name(Node, frozen=True):
    id: str


class Constant(Node, frozen=True):
    """A number, string, True, False, None or `...`. An f-string keeps its text unformatted (`formatted`)."""

    value: int | float | bool | str | None
    formatted: bool = False
    ellipsis: bool = False


class Sequence(Node, frozen=True):
    """A tuple, list or set; a kernel makes no difference between the first two."""

    kind: Literal["tuple", "list", "set"]
    items: tuple[Expression, ...]


class Dictionary(Node, frozen=True):
    """Pairs of key and value; the key of a `**spread` is None."""

    pairs: tuple[tuple[Expression | None, Expression], ...]


class Attribute(Node, frozen=True):
    value: Expression
    name: str
    name_span: Span


class Subscript(Node, frozen=True):
    value: Expression
    index: Expression


class Slice(Node, frozen=True):
    lower: Expression | None
    upper: Expression | None
    step: Expression | None


class Keyword(Node, frozen=True):
    """`name=value` in a call; `**value` where `name` is None."""

    name: str | None
    value: Expression


class Call(Node, frozen=True):
    function: Expression
    arguments: tuple[Expression, ...]
    keywords: tuple[Keyword, ...]


class Starred(Node, frozen=True):
    value: Expression


class Unary(Node, frozen=True):
    operator: str
    operand: Expression


class Binary(Node, frozen=True):
    operator: str
    left: Expression
    right: Expression


class Compare(Node, frozen=True):
    """A chain: `left operators[0] others[0] operators[1] others[1] ...`."""

    left: Expression
    operators: tuple[str, ...]
    others: tuple[Expression, ...]


class Logical(Node, frozen=True):
    operator: Literal["and", "or"]
    operands: tuple[Expression, ...]


class Conditional(Node, frozen=True):
    test: Expression
    on_true: Expression
    on_false: Expression


class Named(Node, frozen=True):
    """`(name := value)`."""

    name: str
    value: Expression


class Lambda(Node, frozen=True):
    parameters: tuple[str, ...]
    body: Expression


class Clause(Node, frozen=True):
    """`for target in iterable if test if test` of a comprehension."""

    target: Expression
    iterable: Expression
    tests: tuple[Expression, ...]


class Comprehension(Node, frozen=True):
    """A list, set, dictionary or generator comprehension. No kernel may use one, but a decorator may; `element` is None
    in one of pairs.
    """

    element: Expression | None
    clauses: tuple[Clause, ...]


Expression = (
    Name
    | Constant
    | Sequence
    | Dictionary
    | Attribute
    | Subscript
    | Slice
    | Call
    | Starred
    | Unary
    | Binary
    | Compare
    | Logical
    | Conditional
    | Named
    | Lambda
    | Comprehension
)


# Statements ---------------------------------------------------------------------------------------


class Assign(Node, frozen=True):
    """`targets[0] = targets[1] = ... = value`."""

    targets: tuple[Expression, ...]
    value: Expression


class Augmented(Node, frozen=True):
    target: Expression
    operator: str
    value: Expression


class Annotated(Node, frozen=True):
    target: Expression
    annotation: Expression
    value: Expression | None


class Evaluate(Node, frozen=True):
    """An expression for its effect."""

    value: Expression


class Return(Node, frozen=True):
    value: Expression | None


class Raise(Node, frozen=True):
    value: Expression | None


class Assert(Node, frozen=True):
    test: Expression
    message: Expression | None


class Pass(Node, frozen=True):
    pass


class Refused(Node, frozen=True):
    """A statement that no kernel may use, by its keyword: `break`, `continue`, `del`, `global`, `nonlocal`."""

    keyword: str


class Import(Node, frozen=True):
    """`names` are pairs of dotted module and alias."""

    names: tuple[tuple[str, str | None], ...]


class ImportFrom(Node, frozen=True):
    """`names` are pairs of name and alias; () for `*`. A relative module starts with its dots."""

    module: str
    names: tuple[tuple[str, str | None], ...]


class If(Node, frozen=True):
    test: Expression
    then: Body
    orelse: Body


class For(Node, frozen=True):
    target: Expression
    iterable: Expression
    body: Body
    orelse: Body


class While(Node, frozen=True):
    test: Expression
    body: Body
    orelse: Body


class With(Node, frozen=True):
    """`items` are pairs of context and target."""

    items: tuple[tuple[Expression, Expression | None], ...]
    body: Body


class Parameter(Node, frozen=True):
    """`kind` is "plain", "keyword" (after a star), "rest" (`*name`) or "keywords" (`**name`)."""

    name: str
    annotation: Expression | None
    default: Expression | None
    kind: Literal["plain", "keyword", "rest", "keywords"] = "plain"


class Function(Node, frozen=True):
    name: str
    parameters: tuple[Parameter, ...]
    returns: Expression | None
    body: Body


Statement = (
    Assign
    | Augmented
    | Annotated
    | Evaluate
    | Return
    | Raise
    | Assert
    | Pass
    | Refused
    | Import
    | ImportFrom
    | If
    | For
    | While
    | With
    | Function
)

Body = tuple[Statement, ...]
