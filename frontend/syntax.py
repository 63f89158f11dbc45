"""The syntax tree of the kernel language: plain frozen data, every node with its span of the file's text.

The tree says what was written, not whether a kernel may say it: statements and expressions that no kernel may use are
nodes too, so that they can be refused by name and place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Span = tuple[int, int]
"""Offsets of the first character and of the one after the last, in the text of the file."""


@dataclass(frozen=True, slots=True)
class Node:
    span: Span


# Expressions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name(Node):
    id: str


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A number, string, True, False, None or `...`. An f-string keeps its text unformatted (`formatted`)."""

    value: int | float | bool | str | None
    formatted: bool = False
    ellipsis: bool = False


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """A tuple, list or set; a kernel makes no difference between the first two."""

    kind: Literal["tuple", "list", "set"]
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Dictionary(Node):
    """Pairs of key and value; the key of a `**spread` is None."""

    pairs: tuple[tuple[Expression | None, Expression], ...]


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    value: Expression
    name: str
    name_span: Span


@dataclass(frozen=True, slots=True)
class Subscript(Node):
    value: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Slice(Node):
    lower: Expression | None
    upper: Expression | None
    step: Expression | None


@dataclass(frozen=True, slots=True)
class Keyword(Node):
    """`name=value` in a call; `**value` where `name` is None."""

    name: str | None
    value: Expression


@dataclass(frozen=True, slots=True)
class Call(Node):
    function: Expression
    arguments: tuple[Expression, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True)
class Starred(Node):
    value: Expression


@dataclass(frozen=True, slots=True)
class Unary(Node):
    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """A chain: `left operators[0] others[0] operators[1] others[1] ...`."""

    left: Expression
    operators: tuple[str, ...]
    others: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Logical(Node):
    operator: Literal["and", "or"]
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    test: Expression
    on_true: Expression
    on_false: Expression


@dataclass(frozen=True, slots=True)
class Named(Node):
    """`(name := value)`."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    body: Expression


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """A list, set, dictionary or generator comprehension; only its place matters, for no kernel may use one."""


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


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`targets[0] = targets[1] = ... = value`."""

    targets: tuple[Expression, ...]
    value: Expression


@dataclass(frozen=True, slots=True)
class Augmented(Node):
    target: Expression
    operator: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Annotated(Node):
    target: Expression
    annotation: Expression
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
    """An expression for its effect."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Return(Node):
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Raise(Node):
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Assert(Node):
    test: Expression
    message: Expression | None


@dataclass(frozen=True, slots=True)
class Pass(Node):
    pass


@dataclass(frozen=True, slots=True)
class Refused(Node):
    """A statement that no kernel may use, by its keyword: `break`, `continue`, `del`, `global`, `nonlocal`."""

    keyword: str


@dataclass(frozen=True, slots=True)
class Import(Node):
    """`names` are pairs of dotted module and alias."""

    names: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class ImportFrom(Node):
    """`names` are pairs of name and alias; () for `*`. A relative module starts with its dots."""

    module: str
    names: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class If(Node):
    test: Expression
    then: Body
    orelse: Body


@dataclass(frozen=True, slots=True)
class For(Node):
    target: Expression
    iterable: Expression
    body: Body
    orelse: Body


@dataclass(frozen=True, slots=True)
class While(Node):
    test: Expression
    body: Body
    orelse: Body


@dataclass(frozen=True, slots=True)
class With(Node):
    """`items` are pairs of context and target."""

    items: tuple[tuple[Expression, Expression | None], ...]
    body: Body


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """`kind` is "plain", "keyword" (after a star), "rest" (`*name`) or "keywords" (`**name`)."""

    name: str
    annotation: Expression | None
    default: Expression | None
    kind: Literal["plain", "keyword", "rest", "keywords"] = "plain"


@dataclass(frozen=True, slots=True)
class Function(Node):
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
