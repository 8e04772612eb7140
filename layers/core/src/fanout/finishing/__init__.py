"""FinishTree and FinishShard: big files, hard links and directories, when every file is in its place."""
