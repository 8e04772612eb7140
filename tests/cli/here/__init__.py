"""``fanout local MODE``: the engine on this machine, through the installed command."""
