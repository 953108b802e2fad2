"""Rules over facts and events for their users: sessions, tables and files, patterns beside rules."""
