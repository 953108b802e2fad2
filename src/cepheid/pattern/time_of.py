"""`timeof(?e)`: when an event of a rule happened. In the model it is a call, as it is written."""

from __future__ import annotations

from cepheid.errors import PatternMistake
from cepheid.pattern.expr import Call, Expr, Field
from cepheid.pattern.rule_fields import variable_name
from cepheid.pattern.rule_model import object_field

TIMEOF = "timeof"
TIME = "time"  # the field by which an event has its time, too, unless it has one of that name itself


def time_of(variable: str) -> Call:
    """
    >>> time_of("e")
    Call(name='timeof', args=(Field(alias=None, path=('?e',)),))
    """
    return Call(TIMEOF, (object_field(variable),))


def is_time_of(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.name == TIMEOF


def timed_variable(call: Call) -> str:
    """Whose time it is. Only a variable has one, and no field of it."""
    only = call.args[0] if len(call.args) == 1 else None
    name = None if only is None else variable_name(only)
    if isinstance(only, Field) and len(only.path) == 1:
        if name is not None:
            return name
        hint = f"a variable begins with a question mark: timeof(?{only.path[0]})"
    elif name is not None:
        hint = f"write timeof(?{name})"
    else:
        hint = "write timeof(?a), where ?a is an event"
    raise PatternMistake("`timeof` takes one event", code="wrong_arguments", place=call.place, hint=hint)
