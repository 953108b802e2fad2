"""Reading and writing at an address: columns and answers are told to the kernel by where they lie.

So a function of the kernel takes two arrays (the tables and the space) and not twenty; passing them would cost more
than the work.
"""

from __future__ import annotations

from numba import types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def load_int(typing_context, address):
    def code(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], context.get_value_type(types.int64).as_pointer())
        return builder.load(pointer)

    return types.int64(types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def load_float(typing_context, address):
    def code(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], context.get_value_type(types.float64).as_pointer())
        return builder.load(pointer)

    return types.float64(types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def load_byte(typing_context, address):
    def code(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], context.get_value_type(types.uint8).as_pointer())
        return builder.zext(builder.load(pointer), context.get_value_type(types.int64))

    return types.int64(types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def store_int(typing_context, address, value):
    def code(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], context.get_value_type(types.int64).as_pointer())
        builder.store(args[1], pointer)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def as_float(typing_context, bits):
    """A double from its bits."""

    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def as_bits(typing_context, number):
    """The bits of a double."""

    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.int64))

    return types.int64(types.float64), code


# The words of the kernel's arrays. Functions are handed only where an array begins: an array is seven numbers to numba,
# and to pass them from function to function took a good part of the time.


@intrinsic  # type: ignore[untyped-decorator]
def words_of(typing_context, array):
    """Where the words of an array begin."""

    def code(context, builder, signature, args):
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return types.CPointer(types.int64)(array), code


# `w[i]` and `w[i] = x` become these (see jit.py), which are there sooner than what numba looks up for them.


@intrinsic  # type: ignore[untyped-decorator]
def word_at(typing_context, words, index):
    def code(context, builder, signature, args):
        return builder.load(builder.gep(args[0], [args[1]], inbounds=True))

    return types.int64(words, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def put_word_at(typing_context, words, index, value):
    def code(context, builder, signature, args):
        builder.store(args[2], builder.gep(args[0], [args[1]], inbounds=True))
        return context.get_dummy_value()

    return types.none(words, types.int64, types.int64), code
