"""Generated inputs by the thousand (every run) or the million (``-m fuzz``): no traceback, and what must hold holds."""
