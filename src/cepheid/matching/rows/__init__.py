"""Row patterns over the sorted rows of a partition: the first match in the order of preferment, from each row on."""
