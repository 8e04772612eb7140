"""FinishTree: big files, hard links and directories, when every file is in its place."""
