"""Event time: watermark, temporal buffer, lateness. Plain logic that every engine shares; no Spark in it."""
