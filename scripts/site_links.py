"""A hook of mkdocs: links of docs/ to other files of the checkout lead to the repository.

Where ``repo_url`` is not set, such a link becomes its text. One to a file that is not there stays, and mkdocs finds it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)((?:#[^)]*)?)\)")


def on_page_markdown(markdown: str, /, *, page: Any, config: Any, files: Any) -> str:
    """The text of a page with its links to the rest of the checkout mended."""
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
