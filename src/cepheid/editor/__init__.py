"""Help for editors: what a text declares, what stands where, what is wrong; and a server that tells it."""
