"""The patterns of policies in the local stack, held against IAM's: in the emulator's own interpreter."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from fanout_cli.local.serving import policies
from tests.docs.pages import ROOT

PYTHON = ROOT / ".fanout/tools/emulator/bin/python"
ASK = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("policies", sys.argv[1])
policies = importlib.util.module_from_spec(spec)
spec.loader.exec_module(policies)
policies.match_every_character()
from ministack.core.iam_evaluator import fnmatch_iam, fnmatch_iam_cs
print(json.dumps([[fnmatch_iam_cs(*pair), fnmatch_iam(*pair)] for pair in json.loads(sys.argv[2])]))
"""
# Name, pattern, whether a resource matches, whether an action does.
ROWS = [
    ("arn:aws:s3:::b/a\nb", "arn:aws:s3:::b/*", True, True),
    ("arn:aws:s3:::b/a\nb", "arn:aws:s3:::b/a?b", True, True),
    ("arn:aws:s3:::b/a\n", "arn:aws:s3:::b/a", False, False),
    ("arn:aws:s3:::b/a", "arn:aws:s3:::b/a", True, True),
    ("arn:aws:s3:::b/A.c", "arn:aws:s3:::b/a.c", False, True),
    ("arn:aws:s3:::b/axc", "arn:aws:s3:::b/a.c", False, False),
    ("arn:aws:s3:::bb/a", "arn:aws:s3:::b/*", False, False),
    ("\u2028\r", "??", True, True),
]


def test_a_pattern_matches_as_in_iam() -> None:
    pairs = json.dumps([row[:2] for row in ROWS])
    words = [str(PYTHON), "-c", ASK, str(Path(policies.__file__)), pairs]
    found = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(found.stdout) == [list(row[2:]) for row in ROWS]
