"""The charts of the pages: places and labels in percent, from what a run or a probe recorded."""
