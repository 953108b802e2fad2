"""The pattern model: typed, immutable, with source positions. Every front end builds it, every engine reads it."""
