"""SQL statements with MATCH_RECOGNIZE: the clause is matched here, all around it is left to DuckDB or Spark."""
