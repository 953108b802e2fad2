"""The commands and their options, a file for each kind. What they do is in the files of `cli`."""
