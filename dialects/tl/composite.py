"""`tl.composite`: ops that are to be issued as one composite command, still in the form of what they compute; and
`tl.recipe`: those among them that are the rows of a recipe.

The bodies hold the ops themselves, so that values at this level need no rule for them; `lower-to-commands` turns the
body of a composite into op specs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    EffectInstance,
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    MemoryEffectKind,
    Pure,
    RecursiveMemoryEffect,
)

from ..shapes import require
from .compute import DotOp, GemmOp

STAGES = ("a", "b", "none")

ONCE = "ahbm.once"
"""The attribute of a lane-by-lane op after the product that runs once, on the whole output, when it is stored."""


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The values that a composite gives, or the tiles that a GEMM multiplies."""

    name = "tl.yield"

    values = var_operand_def(AnyAttr())
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(CompositeOp, RecipeOp, GemmOp), Pure()))
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[values])


class CompositeEffects(RecursiveMemoryEffect):
    """Those of the ops inside. A command that a programmer has placed counts as a write, so that it stays."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance] | None:
        effects = super().get_effects(op)
        if effects is None or "as_written" not in op.properties:
            return effects
        return {*effects, EffectInstance(MemoryEffectKind.WRITE)}


def _print_held(op: CompositeOp | RecipeOp, printer: Printer) -> None:
    """`(%arg = %operand : type, ...) attributes {...} -> types { body }`"""
    with printer.in_parens():
        printer.print_list(
            zip(op.body.block.args, op.inputs, strict=True),
            lambda pair: (
                printer.print_ssa_value(pair[0]),
                printer.print_string(" = "),
                printer.print_ssa_value(pair[1]),
                printer.print_string(" : "),
                printer.print_attribute(pair[1].type),
            ),
        )
    if op.properties:
        # With the keyword, since the body too begins with a brace.
        printer.print_string(" attributes ")
        printer.print_attr_dict(op.properties)
    if op.outputs:
        printer.print_string(" -> ")
        printer.print_list(op.output_types, printer.print_attribute)
    printer.print_string(" ")
    printer.print_region(op.body, print_entry_block_args=False)


def _parse_held(parser: Parser) -> tuple[list[SSAValue], dict[str, Attribute], list[Attribute], Region]:
    """Operands, properties, result types and body of what `_print_held` prints."""
    arguments: list[Parser.Argument] = []
    operands: list[SSAValue] = []

    def one() -> None:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        operand = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        arguments.append(name.resolve(kind))
        operands.append(parser.resolve_operand(operand, kind))

    parser.parse_comma_separated_list(parser.Delimiter.PAREN, one)
    properties = parser.parse_optional_attr_dict_with_keyword()
    results: list[Attribute] = []
    if parser.parse_optional_punctuation("->"):
        results = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    body = parser.parse_region(arguments)
    return operands, dict(properties.data) if properties else {}, results, body


def _verify_held(op: CompositeOp | RecipeOp) -> None:
    """The body takes what the op takes and yields what it gives."""
    block = op.body.block
    require(
        [a.type for a in block.args] == [v.type for v in op.inputs],
        "the arguments of the body differ from the operands",
    )
    last = block.last_op
    require(isinstance(last, YieldOp), "the body must end in tl.yield")
    assert isinstance(last, YieldOp)
    require(
        [v.type for v in last.values] == [r.type for r in op.outputs],
        "the yielded values differ from the results in type",
    )


@irdl_op_definition
class RecipeOp(IRDLOperation):
    """Ops of a composite that are the rows of the recipe `recipe` of `passes/recipes.py`, with its parameters `params`.

    Operands stand in the order of the recipe's operands for these parameters. Results are its read-write operands, in
    order, as they are afterwards, then its primary output.
    """

    name = "tl.recipe"

    inputs = var_operand_def(AnyAttr())
    outputs = var_result_def(AnyAttr())
    recipe = prop_def(StringAttr)
    params = prop_def(DictionaryAttr)
    body = region_def("single_block")
    traits = lazy_traits_def(lambda: (IsolatedFromAbove(), RecursiveMemoryEffect(), HasParent(CompositeOp)))

    def __init__(
        self,
        recipe: str,
        params: Mapping[str, str],
        inputs: Sequence[SSAValue],
        output_types: Sequence[Attribute],
        body: Region,
    ):
        super().__init__(
            operands=[inputs],
            result_types=[output_types],
            properties={
                "recipe": StringAttr(recipe),
                "params": DictionaryAttr({name: StringAttr(value) for name, value in params.items()}),
            },
            regions=[body],
        )

    @property
    def choice(self) -> dict[str, str]:
        """The parameters, by name."""
        return {name: value.data for name, value in self.params.data.items() if isinstance(value, StringAttr)}

    @property
    def output_types(self) -> list[Attribute]:
        return [r.type for r in self.outputs]

    def verify_(self) -> None:
        _verify_held(self)

    def print(self, printer: Printer) -> None:
        _print_held(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> RecipeOp:
        operands, properties, results, body = _parse_held(parser)
        return cls.create(operands=operands, result_types=results, properties=properties, regions=[body])


@irdl_op_definition
class CompositeOp(IRDLOperation):
    """Ops that one composite command will carry out: at most one product, what comes before it and what comes after.

    Operands are regions (streamed), blocks (in TCM) and scalars; the body sees them as its arguments and nothing
    else. `stage` names the region operand of the product that is to be read into TCM before the composite is issued.
    One that is `as_written` is a command that the programmer has placed: no pass adds to it, splits it or takes it out.
    Where a `tl.copy_to` into an operand ends the body, the output takes that block's place. A `tl.recipe` may be among
    the ops.
    """

    name = "tl.composite"

    inputs = var_operand_def(AnyAttr())
    outputs = var_result_def(AnyAttr())
    stage = opt_prop_def(StringAttr)
    as_written = opt_prop_def(UnitAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), CompositeEffects())

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        output_types: Sequence[Attribute],
        body: Region,
        *,
        stage: str | None = None,
        as_written: bool = False,
    ):
        super().__init__(
            operands=[inputs],
            result_types=[output_types],
            properties={
                "stage": StringAttr(stage) if stage else None,
                "as_written": UnitAttr() if as_written else None,
            },
            regions=[body],
        )

    @property
    def product(self) -> DotOp | GemmOp | None:
        """The one product of the body."""
        return next((op for op in self.body.block.ops if isinstance(op, DotOp | GemmOp)), None)

    @property
    def recipe(self) -> RecipeOp | None:
        """The first recipe of the body."""
        return next((op for op in self.body.block.ops if isinstance(op, RecipeOp)), None)

    def verify_(self) -> None:
        block = self.body.block
        _verify_held(self)
        products = [op for op in block.ops if isinstance(op, DotOp | GemmOp)]
        require(len(products) <= 1, "{} products in one composite, which has one GEMM at most", len(products))
        require(
            self.stage is None or self.stage.data in STAGES,
            "stage '{}': it must be one of {}",
            self.stage.data if self.stage else "",
            ", ".join(STAGES),
        )

    def print(self, printer: Printer) -> None:
        _print_held(self, printer)

    @property
    def output_types(self) -> list[Attribute]:
        return [r.type for r in self.outputs]

    @classmethod
    def parse(cls, parser: Parser) -> CompositeOp:
        operands, properties, results, body = _parse_held(parser)
        return cls.create(operands=operands, result_types=results, properties=properties, regions=[body])
