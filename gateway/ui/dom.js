// Makes and changes elements. Text is only ever set as text.

/** Return an element: `props` are attributes (null and false leave one out), children text or nodes. */
export function make(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name || "div");
  if (classes.length) node.className = classes.join(" ");
  set(node, props);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Set attributes, and leave those alone that are so already. */
export function set(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  }
}

/** Set the text of a node, if it is another: a selection in it stays. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Return the element of an id. */
export function at(id) {
  return document.getElementById(id);
}

/**
 * Have `parent` hold one element for each of `items`, in their order. Those that were there stay
 * the same elements, so that focus, selection and transitions go on.
 */
export function fill(parent, items, key, begin, update) {
  const known = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let node = known.get(name);
    if (node) known.delete(name);
    else {
      node = begin(item);
      node.dataset.key = name;
    }
    update(node, item);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  for (const node of known.values()) node.remove();
}

/** Show the one or the other: `empty` where there is nothing in `list`. */
export function either(list, empty, some) {
  list.hidden = !some;
  empty.hidden = some;
}
