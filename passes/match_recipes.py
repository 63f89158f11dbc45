"""`match-recipes`: what a kernel computes as a recipe does becomes one composite with the product after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ..backend_sim.target.machine_file import machine_of
from ..dialects import tl
from ..dialects.remarks import remark
from ..dialects.shapes import element_of, is_float, shape_of
from .analysis.terms import Ref, Terms
from .composites.iteration_cost import single_ops_are_faster
from .composites.loaded_ahead import InLoops, loaded_ahead, loop_of
from .composites.recipe_wrap import Refused, wrap
from .recipes import EXPONENTIALS, SOFTMAX_MERGE


@dataclass(frozen=True)
class MatchRecipesPass(ModulePass):
    """Make the online-softmax step of a loop and the product after it one composite with recipe `softmax_merge`.

    before:  the row maximum of s, the new maximum, two exponentials, the row sum, the rescaling of l and O, and
             %o = tl.dot %p, %v acc(%o_rescaled)
    after:   %m, %l, %o = tl.composite(%s, %m, %l, %o, %v) {recipe = "softmax_merge", params} { those ops }

    What counts is the flow of data, not how it is spelled: the expected terms are built for each choice of the
    recipe's parameters and compared with the kernel's. `ahbmc recipes` lists operands, parameters and rows.

    needs:   `dot-accumulate`, `canonicalize` and `cse`. m, l and O are blocks of floats, m and l of rank 1, O the
             accumulator of the dot.
    keeps:   values; the body of the composite holds the kernel's own ops. A dot whose `a` comes from an exponential
             and that does not match leaves a remark with the reason.
    options: in-loops=stream|load  whether the product streams its b in a loop, or leaves it to the load that is there,
                                   for `prefetch-loads`
             when=always|auto      `auto` leaves a loop alone whose iterations single-op commands do faster
    """

    name = "match-recipes"

    in_loops: InLoops = "stream"
    when: Literal["always", "auto"] = "always"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op)
        for dot in [each for each in op.walk() if isinstance(each, tl.DotOp)]:
            if isinstance(dot.parent_op(), tl.CompositeOp) or dot.is_batch or not _follows_exponential(dot.a):
                continue
            location, loop = dot.location, loop_of(dot)
            load = loaded_ahead(dot, dot.b, machine) if self.in_loops == "load" else None
            try:
                match = match_softmax_merge(dot)
                if self.when == "auto" and loop is not None and single_ops_are_faster(loop, machine):
                    raise Refused("single ops do an iteration of the loop faster")
                wrap(SOFTMAX_MERGE, match, stream=load is None)
            except Refused as refusal:
                remark(op, self.name, "recipe", "refused", f"softmax_merge: {refusal}", location)
            else:
                remark(op, self.name, "recipe", "matched", "softmax_merge", location)


def _follows_exponential(value: SSAValue) -> bool:
    """Whether an exponential is among the last few ops that make `value`: only such a dot is worth a word."""
    todo, steps = [value], 0
    while todo and steps < 8:
        op = todo.pop(0).owner
        steps += 1
        if isinstance(op, math.ExpOp | math.Exp2Op):
            return True
        if isinstance(op, Operation) and is_float(value.type) and not isinstance(op, tl.DotOp | tl.LoadRegionOp):
            todo += [v for v in op.operands if is_float(v.type)]
    return False


@dataclass(frozen=True)
class Match:
    """What `wrap` needs: the parameters, the value of every operand by name, the results in the recipe's order."""

    dot: tl.DotOp
    params: dict[str, str]
    inputs: dict[str, SSAValue]
    results: tuple[SSAValue, ...]


def match_softmax_merge(dot: tl.DotOp) -> Match:
    """The softmax merge that ends in `dot`; raises `Refused` with the first condition that does not hold."""
    return _SoftmaxMerge(dot).match()


@dataclass(frozen=True)
class _Exponent:
    """An exponent that subtracts a running maximum: `scaled` and `scale` as the recipe's parameter says."""

    scaled: str
    scale: Ref | None
    scores: SSAValue
    m_new: Ref
    m_old: Ref

    def of(self, terms: Terms, x: Ref) -> Ref:
        """x - m_new as the kernel scales it (a maximum is scaled already, unless the scale is inside)."""
        difference = terms.add(x, terms.negative(self.m_new))
        return terms.mul(self.scale, difference) if self.scaled == "inside" and self.scale is not None else difference


class _SoftmaxMerge:
    """One attempt. Each step either finds the next piece or refuses with what it found instead."""

    def __init__(self, dot: tl.DotOp):
        assert dot.parent is not None
        self.dot = dot
        self.block = dot.parent
        self.terms = Terms(dot.parent)
        if dot.acc is None:
            raise Refused("the product is not added to anything")
        self.acc = dot.acc

    def match(self) -> Match:
        terms = self.terms
        rounded = terms.of(self.dot.a)
        p = self._without_casts(rounded)
        base = {exp: base for base, exp in EXPONENTIALS.items()}.get(terms.node(p).kind)
        if base is None:
            raise Refused("the product does not take the exponential itself")
        form = self._exponent(p)
        corr = terms.unary(EXPONENTIALS[base], form.of(terms, form.m_old))
        sum_of, new_l, old_l = self._sum(p, rounded, corr)
        old_o = self._rescaled(terms.of(self.acc), corr.on((0,)), "the output")
        inputs = {
            "s": form.scores,
            "m": self._block_of(form.m_old, 1, "the old maximum"),
            "l": self._block_of(old_l, 1, "the old sum"),
            "O": self._block_of(old_o, 2, "the old output"),
            "b": self.dot.b,
        }
        params = {"base": base, "scale": form.scaled, "sum": sum_of}
        if form.scale is not None:
            inputs["scale"] = self._scale_of(form.scale, form.scores)
        new_m = self._block_of(form.m_new, 1, "the new maximum")
        self._check_shapes(inputs, new_m, new_l)
        return Match(self.dot, params, inputs, (new_m, new_l, self.dot.result))

    def _without_casts(self, ref: Ref) -> Ref:
        node = self.terms.node(ref)
        while node.kind == "cast":
            ref = node.operands[0].on(ref.axes)
            node = self.terms.node(ref)
        return ref

    def _exponent(self, p: Ref) -> _Exponent:
        """The exponent of P taken apart, in whichever form of the scale it is written."""
        terms = self.terms
        if p.axes != (0, 1):
            raise Refused("the exponential is not a block of rows and columns")
        exponent = terms.node(p).operands[0].on(p.axes)
        factors = terms.operands(exponent, "mul")
        uniform = [r for r in factors if not r.axes]
        rest = [r for r in factors if r.axes]
        if uniform and len(rest) == 1 and terms.node(rest[0]).kind == "add":
            s, m_new = self._difference(rest[0])
            found = self._maximum(s, m_new, None)
            if found is not None:
                return _Exponent("inside", terms.mul(*uniform), found[0], m_new, found[1])
        s, m_new = self._difference(exponent)
        found = self._maximum(s, m_new, None)
        if found is not None:
            return _Exponent("before", None, found[0], m_new, found[1])
        factors = terms.operands(s, "mul")
        uniform, lanes = [r for r in factors if not r.axes], [r for r in factors if r.axes]
        if uniform and lanes:
            scale = terms.mul(*uniform)
            found = self._maximum(terms.mul(*lanes), m_new, scale)
            if found is not None:
                return _Exponent("after", scale, found[0], m_new, found[1])
        raise Refused("the new maximum is not that of the old one and the rows of what is in the exponent")

    def _difference(self, exponent: Ref) -> tuple[Ref, Ref]:
        """(s, m) of s - m: what is subtracted is the one maximum of rows among the addends."""
        terms = self.terms
        addends = terms.operands(exponent, "add")
        found = [a for a in addends if a.axes == (0,) and terms.node(terms.negative(a)).kind == "max"]
        if len(found) != 1:
            raise Refused("the exponent does not subtract the running maximum of its rows")
        rest = list(addends)
        rest.remove(found[0])
        return terms.add(*rest), terms.negative(found[0])

    def _maximum(self, s: Ref, m_new: Ref, scale: Ref | None) -> tuple[SSAValue, Ref] | None:
        """(the value whose rows are reduced, the old maximum) where m_new is max(m_old, max of rows of s [* scale])."""
        terms = self.terms
        if s.axes != (0, 1):
            return None
        of_rows = terms.reduce("reduce_max", s, 1)
        expected = of_rows if scale is None else terms.mul(scale, of_rows)
        parts = terms.operands(m_new, "max")
        if expected not in parts or len(parts) < 2:
            return None
        value = terms.value(s, 2)
        if value is None:
            raise Refused("the scores are no value of their own")
        return value, terms.maximum(*(r for r in parts if r != expected))

    def _sum(self, p: Ref, rounded: Ref, corr: Ref) -> tuple[str, SSAValue, Ref]:
        """(parameter `sum`, the new sum, the old one), from l_new = l_old * corr + sum of rows of P."""
        terms = self.terms
        sums = {terms.reduce("reduce_sum", p, 1): "before"}
        for op in self.block.ops:
            if isinstance(op, tl.ReduceOp) and op.kind.data == "sum":
                summed = terms.of(op.operand)
                if summed.axes == p.axes and summed != p and self._is_rounding(summed, rounded):
                    sums[terms.reduce("reduce_sum", summed, 1)] = "after"
        for op in self.block.ops:
            if not any(is_float(r.type) and shape_of(r.type) == shape_of(self.dot.a.type)[:1] for r in op.results):
                continue
            ref = terms.of(op.results[0])
            parts = terms.operands(ref, "add")
            of_rows = [r for r in parts if self._without_casts(r) in sums]
            if len(of_rows) != 1 or len(parts) != 2:
                continue
            rest = next(r for r in parts if r != of_rows[0])
            return sums[self._without_casts(of_rows[0])], op.results[0], self._rescaled(rest, corr, "the sum")
        raise Refused("no running sum of what the product takes")

    def _is_rounding(self, ref: Ref, rounded: Ref) -> bool:
        """`ref` is P as the product takes it, perhaps widened again."""
        node = self.terms.node(ref)
        return ref == rounded or (node.kind == "cast" and node.operands[0].on(ref.axes) == rounded)

    def _rescaled(self, ref: Ref, corr: Ref, what: str) -> Ref:
        """The other factor of a product with the correction."""
        parts = self.terms.operands(ref, "mul")
        if corr not in parts or len(parts) < 2:
            raise Refused(f"{what} is not rescaled by the exponential of the old maximum minus the new one")
        rest = list(parts)
        rest.remove(corr)
        return self.terms.mul(*rest)

    def _block_of(self, ref: Ref, rank: int, what: str) -> SSAValue:
        value = self.terms.value(ref, rank)
        if value is None:
            raise Refused(f"{what} is no value of rank {rank}")
        return value

    def _scale_of(self, scale: Ref, scores: SSAValue) -> SSAValue:
        """The scale as a scalar. A number that the kernel writes has none of its own; `wrap` puts its op into place."""
        node, kind = self.terms.node(scale), element_of(scores.type)
        number = node.detail if node.kind == "constant" else None
        if isinstance(number, float) and isinstance(kind, AnyFloat) and self.terms.value(scale, 0) is None:
            constant = arith.ConstantOp(FloatAttr(number, kind))
            constant.location = self.dot.location
            return constant.result
        return self._block_of(scale, 0, "the scale (multiply its factors into one first)")

    def _check_shapes(self, inputs: dict[str, SSAValue], new_m: SSAValue, new_l: SSAValue) -> None:
        rows, columns = shape_of(self.dot.a.type)
        for name, shape in (
            ("s", (rows, columns)),
            ("m", (rows,)),
            ("l", (rows,)),
            ("O", shape_of(self.dot.result.type)),
        ):
            if shape_of(inputs[name].type) != shape:
                raise Refused(f"{name} is {inputs[name].type}, not a block of {shape}")
        if new_m.type != inputs["m"].type or new_l.type != inputs["l"].type:
            raise Refused("the maximum or the sum changes its type")
        if element_of(inputs["O"].type) != element_of(self.dot.result.type):
            raise Refused("the output changes its type")
