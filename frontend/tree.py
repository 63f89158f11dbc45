"""From Lark's tree to ours: one method per rule of `kernel.lark`, in a table by the rule's name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any, Literal, cast

from lark import Token, Tree

from . import syntax as s

Child = Any  # a Tree, a Token or None: Lark's own stubs say no more


class TreeBuilder:
    """Builds the nodes of one piece, whose text starts at offset `base` of the file."""

    def __init__(self, base: int):
        self.base = base
        self._table: dict[str, Callable[[Tree[Token]], Any]] = {}

    def build(self, tree: Child) -> Any:
        """The node of a tree (None for an optional part that is absent)."""
        if tree is None:
            return None
        build = self._table.get(tree.data)
        if build is None:
            build = self._table[tree.data] = getattr(self, f"_{tree.data}")
        return build(tree)

    def _all(self, trees: Iterable[Child]) -> tuple[Any, ...]:
        return tuple(self.build(t) for t in trees if t is not None)

    def _span(self, tree: Child) -> s.Span:
        where = tree if isinstance(tree, Token) else tree.meta
        return self.base + (getattr(where, "start_pos", 0) or 0), self.base + (getattr(where, "end_pos", 0) or 0)

    # Expressions ----------------------------------------------------------------------------------

    def _name(self, t: Child) -> s.Name:
        return s.Name(self._span(t), str(t.children[0]))

    def _number(self, t: Child) -> s.Constant:
        text = t.children[0].replace("_", "").lower()
        value: int | float
        if text.startswith(("0x", "0b", "0o")):
            value = int(text, 0)
        elif any(c in text for c in ".e"):
            value = float(text)
        else:
            value = int(text)
        return s.Constant(self._span(t), value)

    def _strings(self, t: Child) -> s.Constant:
        formatted, parts = False, list[str]()
        for token in t.children:
            quote = min(token.index(q) for q in "'\"" if q in token)
            prefix = token[:quote].lower()
            formatted = formatted or "f" in prefix
            # The lexer has made sure that this is a string literal and nothing else.
            value: str | bytes = ast.literal_eval(prefix.replace("f", "") + token[quote:])
            parts.append(value if isinstance(value, str) else value.decode("latin-1"))
        return s.Constant(self._span(t), "".join(parts), formatted=formatted)

    def _none(self, t: Child) -> s.Constant:
        return s.Constant(self._span(t), None)

    def _true(self, t: Child) -> s.Constant:
        return s.Constant(self._span(t), True)

    def _false(self, t: Child) -> s.Constant:
        return s.Constant(self._span(t), False)

    def _ellipsis(self, t: Child) -> s.Constant:
        return s.Constant(self._span(t), None, ellipsis=True)

    def _sequence(self, t: Child, kind: Literal["tuple", "list", "set"]) -> s.Sequence:
        return s.Sequence(self._span(t), kind, self._all(t.children))

    def _tuple(self, t: Child) -> s.Sequence:
        return self._sequence(t, "tuple")

    def _list(self, t: Child) -> s.Sequence:
        return s.Sequence(self._span(t), "list", self._items(t.children[0]) if t.children else ())

    def _set(self, t: Child) -> s.Sequence:
        return s.Sequence(self._span(t), "set", self._items(t.children[0]))

    def _items(self, t: Child) -> tuple[s.Expression, ...]:
        return () if t is None else self._all(t.children)

    def _parenthesis(self, t: Child) -> s.Expression:
        return cast(s.Expression, self.build(t.children[0]))

    def _dictionary(self, t: Child) -> s.Dictionary:
        pairs = list[tuple[s.Expression | None, s.Expression]]()
        for pair in t.children[0].children if t.children and t.children[0] is not None else ():
            if pair.data == "pair":
                pairs.append((self.build(pair.children[0]), self.build(pair.children[1])))
            else:
                pairs.append((None, self.build(pair.children[-1])))
        return s.Dictionary(self._span(t), tuple(pairs))

    def _attribute(self, t: Child) -> s.Attribute:
        value, name = t.children
        return s.Attribute(self._span(t), self.build(value), str(name), self._span(name))

    def _subscript(self, t: Child) -> s.Subscript:
        value, index = t.children
        return s.Subscript(self._span(t), self.build(value), self.build(index))

    def _slice(self, t: Child) -> s.Slice:
        lower, upper, step = [*t.children, None][:3]
        return s.Slice(self._span(t), self.build(lower), self.build(upper), self.build(step))

    def _call(self, t: Child) -> s.Call:
        function, given = t.children
        nodes = () if given is None else self._all(given.children)
        positional = tuple(n for n in nodes if not isinstance(n, s.Keyword))
        keywords = tuple(n for n in nodes if isinstance(n, s.Keyword))
        return s.Call(self._span(t), self.build(function), positional, keywords)

    def _keyword(self, t: Child) -> s.Keyword:
        return s.Keyword(self._span(t), str(t.children[0]), self.build(t.children[1]))

    def _double_star_argument(self, t: Child) -> s.Keyword:
        return s.Keyword(self._span(t), None, self.build(t.children[-1]))

    def _starred(self, t: Child) -> s.Starred:
        return s.Starred(self._span(t), self.build(t.children[0]))

    def _unary(self, t: Child) -> s.Unary:
        return s.Unary(self._span(t), str(t.children[0]), self.build(t.children[1]))

    def _logical_not(self, t: Child) -> s.Unary:
        return s.Unary(self._span(t), "not", self.build(t.children[0]))

    def _binary(self, t: Child) -> s.Binary:
        left, operator, right = t.children
        return s.Binary(self._span(t), str(operator), self.build(left), self.build(right))

    def _compare(self, t: Child) -> s.Compare:
        operators = tuple(" ".join(o.children) for o in t.children[1::2])
        return s.Compare(self._span(t), self.build(t.children[0]), operators, self._all(t.children[2::2]))

    def _logical_or(self, t: Child) -> s.Logical:
        return s.Logical(self._span(t), "or", self._all(t.children))

    def _logical_and(self, t: Child) -> s.Logical:
        return s.Logical(self._span(t), "and", self._all(t.children))

    def _conditional(self, t: Child) -> s.Conditional:
        on_true, test, on_false = self._all(t.children)
        return s.Conditional(self._span(t), test, on_true, on_false)

    def _named(self, t: Child) -> s.Named:
        return s.Named(self._span(t), str(t.children[0]), self.build(t.children[1]))

    def _lambda_expression(self, t: Child) -> s.Lambda:
        names = t.children[0].children if t.children[0] is not None else ()
        return s.Lambda(self._span(t), tuple(str(name) for name in names), self.build(t.children[-1]))

    def _comprehension(self, t: Child) -> s.Comprehension:
        parts = self._all(t.children)
        clauses = tuple(part for part in parts if isinstance(part, s.Clause))
        element = parts[0] if len(parts) == len(clauses) + 1 else None
        return s.Comprehension(self._span(t), element, clauses)

    def _comprehension_for(self, t: Child) -> s.Clause:
        target, iterable, *tests = self._all(t.children)
        return s.Clause(self._span(t), target, iterable, tuple(tests))

    # Statements -----------------------------------------------------------------------------------

    def _body(self, t: Child) -> s.Body:
        """The statements of a block; a line of several simple ones is flattened."""
        found = list[s.Statement]()
        for child in () if t is None else t.children:
            if child.data == "simple_line":
                found += self._all(child.children)
            else:
                found.append(self.build(child))
        return tuple(found)

    def _simple_line(self, t: Child) -> s.Body:
        return cast(s.Body, self._all(t.children))

    def _expression_statement(self, t: Child) -> s.Evaluate:
        return s.Evaluate(self._span(t), self.build(t.children[0]))

    def _assign(self, t: Child) -> s.Assign:
        *targets, value = self._all(t.children)
        return s.Assign(self._span(t), tuple(targets), value)

    def _augmented(self, t: Child) -> s.Augmented:
        target, operator, value = t.children
        return s.Augmented(self._span(t), self.build(target), operator.removesuffix("="), self.build(value))

    def _annotated(self, t: Child) -> s.Annotated:
        target, annotation, value = [*t.children, None][:3]
        return s.Annotated(self._span(t), self.build(target), self.build(annotation), self.build(value))

    def _return_statement(self, t: Child) -> s.Return:
        return s.Return(self._span(t), self.build(_first(t)))

    def _raise_statement(self, t: Child) -> s.Raise:
        return s.Raise(self._span(t), self.build(t.children[0]))

    def _assert_statement(self, t: Child) -> s.Assert:
        return s.Assert(self._span(t), self.build(t.children[0]), self.build(t.children[1]))

    def _pass_statement(self, t: Child) -> s.Pass:
        return s.Pass(self._span(t))

    def _break_statement(self, t: Child) -> s.Refused:
        return s.Refused(self._span(t), "break")

    def _continue_statement(self, t: Child) -> s.Refused:
        return s.Refused(self._span(t), "continue")

    def _delete_statement(self, t: Child) -> s.Refused:
        return s.Refused(self._span(t), "del")

    def _scope_statement(self, t: Child) -> s.Refused:
        return s.Refused(self._span(t), "global")

    def _module_as(self, t: Child) -> tuple[str, str | None]:
        return ".".join(t.children[0].children), _text(t.children[1])

    def _name_as(self, t: Child) -> tuple[str, str | None]:
        return str(t.children[0]), _text(t.children[1])

    def _import_modules(self, t: Child) -> s.Import:
        return s.Import(self._span(t), self._all(t.children))

    def _import_names(self, t: Child) -> s.ImportFrom:
        module, names = "", list[tuple[str, str | None]]()
        for child in t.children:
            if child.data == "dots":
                module += "".join(child.children)
            elif child.data == "dotted":
                module += ".".join(child.children)
            else:
                names.append(self.build(child))
        return s.ImportFrom(self._span(t), module, tuple(names))

    def _if_statement(self, t: Child) -> s.If:
        test, then, *elifs, orelse = t.children
        rest = self._body(orelse)
        for clause in reversed(elifs):
            condition, block = clause.children
            span = (self._span(clause)[0], self._span(t)[1])
            rest = (s.If(span, self.build(condition), self._body(block), rest),)
        return s.If(self._span(t), self.build(test), self._body(then), rest)

    def _for_statement(self, t: Child) -> s.For:
        target, iterable, body, orelse = t.children
        return s.For(self._span(t), self.build(target), self.build(iterable), self._body(body), self._body(orelse))

    def _while_statement(self, t: Child) -> s.While:
        test, body, orelse = t.children
        return s.While(self._span(t), self.build(test), self._body(body), self._body(orelse))

    def _with_statement(self, t: Child) -> s.With:
        *items, body = t.children
        pairs = tuple((self.build(i.children[0]), self.build(i.children[1])) for i in items)
        return s.With(self._span(t), pairs, self._body(body))

    def _function(self, t: Child) -> s.Function:
        name, parameters, returns, body = t.children
        return s.Function(self._span(t), str(name), self._parameters(parameters), self.build(returns), self._body(body))

    def _parameters(self, t: Child) -> tuple[s.Parameter, ...]:
        found = list[s.Parameter]()
        kind: Literal["plain", "keyword"] = "plain"
        for child in () if t is None else t.children:
            span = self._span(child)
            match child.data:
                case "parameter":
                    name, annotation, default = child.children
                    found.append(s.Parameter(span, str(name), self.build(annotation), self.build(default), kind))
                case "star_parameter":
                    kind = "keyword"
                    if child.children[0] is not None:
                        found.append(s.Parameter(span, str(child.children[0]), None, None, "rest"))
                case "double_star_parameter":
                    found.append(s.Parameter(span, str(child.children[-1]), None, None, "keywords"))
                case _:
                    pass  # `/` changes nothing for a kernel
        return tuple(found)


def _first(t: Child) -> Child:
    return t.children[0] if t.children else None


def _text(token: Child) -> str | None:
    return None if token is None else str(token)
