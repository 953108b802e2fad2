"""The local engine: frames, files and dicts in; the same kind out; or events one by one."""
