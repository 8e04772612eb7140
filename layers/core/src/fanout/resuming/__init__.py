"""Going on with what an earlier run did."""
