"""What users' tests and our own share: golden scenarios, event strategies, a brute-force oracle."""
