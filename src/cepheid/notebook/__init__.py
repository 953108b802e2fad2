"""`%%cepheid` cells in IPython and Jupyter, which need not be installed for anything else."""
