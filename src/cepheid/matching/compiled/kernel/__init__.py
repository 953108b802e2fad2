"""Inside the kernel: functions that numba compiles, over arrays of whole numbers. Nothing here is called from Python
but the entrance."""
