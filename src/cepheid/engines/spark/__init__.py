"""Where Spark carries a matcher: batch, streaming, and the set-up both need."""
