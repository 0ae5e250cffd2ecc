#!/usr/bin/env python3
"""Compares two folders of results: prints a table and writes it as a page.

    python/scenarios/generate_final_report.py before after --output final_report.html
"""

from __future__ import annotations

import argparse

import running  # noqa: F401  finds gpreempt

from gpreempt import report


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("before", help="a folder with results.json")
    parser.add_argument("after", help="another")
    parser.add_argument("--output", default="final_report.html", metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="only the table that is printed")
    options = parser.parse_args()
    before, after = report.load(options.before), report.load(options.after)
    comparison = report.compare(before, after)
    print(comparison)
    if options.quick:
        return
    parts = (("Comparison", comparison), (options.before, before), (options.after, after))
    style = "body{font-family:sans-serif}td,th{padding:.2em .8em;text-align:left}"
    with open(options.output, "w", encoding="utf-8") as page:
        page.write("<!doctype html><meta charset=utf-8><title>gpreempt</title>"
                   f"<style>{style}</style>")
        for title, part in parts:
            page.write(f"<h2>{report.escaped(title)}</h2>{part._repr_html_()}")
    print(options.output)


if __name__ == "__main__":
    main()
