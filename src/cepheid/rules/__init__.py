"""Rules over facts and events: working memory, network, expiry, agenda, session."""
