"""The compiled matcher: the reference's rules over arrays, one key after the other, many keys a call."""
