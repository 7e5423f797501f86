"""What a page looks like to who sees little, or not with their eyes."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !node.checkVisibility()) continue;
    const [a, b] = [light(rgba(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([texts.currentNode.textContent.trim().slice(0, 40), Math.round(ratio * 100) / 100]);
  }
  return found;
}"""
"""The contrast of each visible text with what is behind it, by WCAG 2.2's definition."""

NAMED = {
    "button",
    "form",
    "group",
    "image",
    "img",
    "link",
    "list",
    "main",
    "meter",
    "region",
    "textbox",
}
UNNAMED = {"main", "list"}
"""Roles that need no name of their own: there is one of it, or what it is in has one."""


def contrasts(page: Page) -> list[tuple[str, float]]:
    """Return each visible text, shortened, with its contrast."""
    return [(text, ratio) for text, ratio in page.evaluate(CONTRAST)]


def tree(page: Page) -> list[tuple[str, str]]:
    """Return what assistive technology is given: roles and names of all that is not ignored."""
    session = page.context.new_cdp_session(page)
    nodes: list[dict[str, Any]] = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored")
    ]


def nameless(page: Page) -> list[str]:
    """Return the roles of elements that lack a name."""
    return [role for role, name in tree(page) if role in NAMED - UNNAMED and not name.strip()]


def is_too_wide(page: Page) -> bool:
    """Return whether the page can be scrolled sideways."""
    return bool(
        page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    )
