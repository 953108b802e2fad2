"""The same questions put to Cepheid and to other engines, over the same events: see `benchmarks/peers.py`."""
