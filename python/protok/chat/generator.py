"""The code that a template becomes: literal text is marked, and every turn is paid for.

Jinja writes Python source from the tree of a template. This writes the same, except that constant
text is a marked constant, that what joins or prints text goes through the environment, and that
nothing is evaluated while compiling: folding `'a' * 300000000` is how a template costs memory
before it runs.
"""

from __future__ import annotations

from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame, operators

from protok.chat.provenance import TEMPLATE, Marked, mark

__all__ = ["Generator", "spend_in_loops"]

NODES_A_STEP = 16


def spend_in_loops(tree: nodes.Template) -> None:
    """Make every loop and macro pay for each turn, by the size of its body."""
    kinds: Any = (nodes.For, nodes.Macro, nodes.CallBlock)
    found: list[Any] = list(tree.find_all(kinds))
    for node in found:
        cost = 1 + sum(1 for _ in node.find_all(nodes.Node)) // NODES_A_STEP
        spend = nodes.ExprStmt(_turn(cost), lineno=node.lineno)
        node.body.insert(0, spend)
        if isinstance(node, nodes.For) and node.test is not None:
            node.test = nodes.And(_turn(cost), node.test, lineno=node.lineno)


def _turn(cost: int) -> nodes.Expr:
    return nodes.EnvironmentAttribute(f"turn({cost})")


class Generator(CodeGenerator):
    """Jinja's code generator with marked constants; they end up in ``literals``."""

    literals: list[Marked]

    def __init__(self, environment: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(environment, *args, **kwargs)
        self.literals = environment.literals

    def _literal(self, text: str) -> str:
        self.literals.append(mark(text, ((len(text), TEMPLATE, -1),) if text else ()))
        return f"literals[{len(self.literals) - 1}]"

    # What is printed.

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        if isinstance(node, (nodes.TemplateData, nodes.Const)) and not frame.eval_ctx.volatile:
            return super()._output_child_to_const(node, frame, finalize)
        raise nodes.Impossible

    def _output_const_repr(self, group: Any) -> str:
        return self._literal("".join(group))

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super()._output_child_pre(node, frame, finalize)
        else:
            self.write("environment.show(")

    # Constants.

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super().visit_TemplateData(node, frame)
        else:
            self.write(self._literal(node.data))

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:
        if isinstance(node.value, str):
            self.write(self._literal(node.value))
        else:
            super().visit_Const(node, frame)

    # What makes a value.

    def visit_List(self, node: nodes.List, frame: Frame) -> None:
        self._built(super().visit_List, node, frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:
        if node.ctx == "load":
            self._built(super().visit_Tuple, node, frame)
        else:
            super().visit_Tuple(node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:
        self._built(super().visit_Dict, node, frame)

    def _built(self, visit: Any, node: nodes.Node, frame: Frame) -> None:
        constant = all(isinstance(child, nodes.Const) for child in node.iter_child_nodes())
        if constant:
            visit(node, frame)
            return
        self.write("environment.built(")
        visit(node, frame)
        self.write(")")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super().visit_Concat(node, frame)
            return
        self.write("environment.join((")
        for child in node.nodes:
            self.visit(child, frame)
            self.write(", ")
        self.write("))")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        if isinstance(node.arg, nodes.Slice):
            self.write("environment.cut(")
            self.visit(node.node, frame)
            for bound in (node.arg.start, node.arg.stop, node.arg.step):
                self.write(", ")
                if bound is None:
                    self.write("None")
                else:
                    self.visit(bound, frame)
            self.write(")")
            return
        self.write("environment.getitem(")
        self.visit(node.node, frame)
        self.write(", ")
        self._compared(node.arg, frame)
        self.write(")")

    # What only looks at values.

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:
        self.write("(")
        self._weighed(node.expr, frame)
        for operand in node.ops:
            self.visit(operand, frame)
        self.write(")")

    def visit_Operand(self, node: nodes.Operand, frame: Frame) -> None:
        self.write(f" {operators[node.op]} ")
        self._weighed(node.expr, frame)

    def _weighed(self, node: nodes.Expr, frame: Frame) -> None:
        if isinstance(node, nodes.Const):
            self._compared(node, frame)
            return
        self.write("environment.budget.weigh(")
        self.visit(node, frame)
        self.write(")")

    def _compared(self, node: nodes.Expr, frame: Frame) -> None:
        """Write a value that is only compared: its runs do not matter."""
        if isinstance(node, nodes.Const):
            super().visit_Const(node, frame)
        else:
            self.visit(node, frame)

    # What would be evaluated while compiling.

    def visit_EvalContextModifier(self, node: nodes.EvalContextModifier, frame: Frame) -> None:
        if all(isinstance(option.value, nodes.Const) for option in node.options):
            super().visit_EvalContextModifier(node, frame)
            return
        for option in node.options:
            self.writeline(f"context.eval_ctx.{option.key} = ")
            self.visit(option.value, frame)
        frame.eval_ctx.volatile = True
