"""report.html: what became of the run, with no network and no script."""
