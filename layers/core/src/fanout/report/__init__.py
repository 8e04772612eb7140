"""report.html: one page that says what became of the run, with no network and no script."""
