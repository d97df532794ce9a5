#!/usr/bin/env python3
"""Fails if a page of the site in a directory has a script, or a link that leads nowhere: site-links.py DIR."""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """The links of a page, and the places in it that links can name."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places, self.wrong = [], set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "script" or any(name.startswith("on") for name in attrs):
            self.wrong.append(f"a script, in <{tag}>")
        self.places.update(attrs[name] for name in ("id", "name") if attrs.get(name))
        self.links += [attrs[name] for name in ("href", "src") if attrs.get(name)]


top = pathlib.Path(sys.argv[1]).resolve()
pages = {path: Page(path) for path in sorted(top.rglob("*.html"))}
wrong = [f"{path.relative_to(top)}: {what}" for path, page in pages.items() for what in page.wrong]
for path, page in pages.items():
    for link in page.links:
        to = urllib.parse.urlsplit(link)
        file = (path.parent / urllib.parse.unquote(to.path)).resolve() if to.path else path
        if to.scheme:
            if to.scheme not in ("https", "mailto"):
                wrong.append(f"{path.relative_to(top)}: {link}: not https")
        elif not file.is_file() or top not in file.parents:
            wrong.append(f"{path.relative_to(top)}: {link}: there is no such file")
        elif to.fragment and urllib.parse.unquote(to.fragment) not in pages.get(file, page).places:
            wrong.append(f"{path.relative_to(top)}: {link}: there is no such place")
print("".join(f"site: {line}\n" for line in wrong), end="", file=sys.stderr)
sys.exit(wrong != [])
