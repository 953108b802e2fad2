"""From a pattern to an automaton: small named rewrites, one file each, then the tests split and the states built."""
