"""Where matchers run: a thin folder per place."""
