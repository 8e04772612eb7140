"""Hooks of mkdocs: links that leave docs/, and which pages the search finds.

A link to another file of the checkout leads to the repository, or becomes its text where ``repo_url`` is not set. A
link to a file that does not exist stays, and mkdocs reports it. Readers who use the product search for its words, so
the search leaves out benchmarks and decisions, puts the other pages for developers last, and knows for which words
readers of other tools look.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

UNSEARCHED = ("develop/benchmarks/", "develop/decisions/")
LAST = "develop/"
# Words that the search takes as tags of a page: the first result for each is this page.
WORDS = {
    "start/first-copy.md": ["dry-run", "dry run", "preview"],
    "start/try-locally.md": ["localstack", "emulator", "demo"],
    "how-to/filters.md": ["exclude", "include", "ignore", "glob"],
    "how-to/limit-the-rate.md": ["bandwidth", "bwlimit", "throttle"],
    "how-to/resume-and-retry.md": ["cancel", "abort", "continue"],
    "how-to/verify.md": ["checksum", "compare", "diff"],
    "how-to/publish.md": ["snapshot", "rollback", "undo"],
    "operate/delete.md": ["uninstall", "teardown"],
    "operate/monitoring.md": ["progress", "alarm", "cloudwatch", "notification"],
    "reference/commands.md": ["exit code", "exit status", "completion"],
    "reference/errors.md": ["NoSuchBucket", "AccessDenied", "timeout"],
    "understand/what-is-copied.md": ["hidden files", "dotfiles", "symlinks", "sparse"],
    "understand/attributes.md": ["permissions", "owner", "chmod", "metadata"],
    "understand/cost.md": ["price", "dollars", "bill"],
}
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)((?:#[^)]*)?)\)")


def on_page_markdown(markdown: str, /, *, page: Any, config: Any, files: Any) -> str:
    """The text of a page with its links to the rest of the checkout mended; sets what the search does with the page."""
    if page.file.src_uri.startswith(UNSEARCHED):
        page.meta["search"] = {"exclude": True}
    elif page.file.src_uri.startswith(LAST):
        page.meta["search"] = {"boost": 0.1}
    if page.file.src_uri in WORDS:
        page.meta["tags"] = WORDS[page.file.src_uri]
    docs = Path(config["docs_dir"]).resolve()
    folder = (docs / page.file.src_uri).parent

    def mended(link: re.Match[str]) -> str:
        target = (folder / link[2]).resolve()
        if target.is_relative_to(docs) or not target.exists() or not target.is_relative_to(docs.parent):
            return link[0]
        if not config["repo_url"]:
            return link[1]
        path = target.relative_to(docs.parent).as_posix()
        return f"[{link[1]}]({config['repo_url'].rstrip('/')}/blob/main/{path}{link[3]})"

    return LINK.sub(mended, markdown)
