"""FinishTree and FinishShard: big files, hard links and directories, after all copies."""
