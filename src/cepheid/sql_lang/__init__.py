"""SQL as a front end: MATCH_RECOGNIZE clauses, and FROM PATTERN queries."""
