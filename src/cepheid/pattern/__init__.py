"""The pattern model: typed, immutable, with places. Every front end builds it, every engine reads it."""
