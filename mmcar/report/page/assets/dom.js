// Short ways to find and make elements. Text is always set as text.

function find(selector, root = document) {
  return root.querySelector(selector);
}

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (name === 'class') node.setAttribute('class', value);
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function make(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

function draw(tag, properties, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), properties, children);
}

function percent(share, digits = 0) {
  return `${(100 * share).toFixed(digits)} %`;
}

function number(value) {
  if (value === null || value === undefined) return '–';
  return Number.isInteger(value) ? String(value) : value.toFixed(3);
}

function plural(count, word) {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

// Buttons of which one is pressed; returns a function that presses one.
function segments(container, choices, chosen, onChoose) {
  const buttons = choices.map(([value, words]) =>
    make('button', { type: 'button', 'data-value': value, onclick: () => onChoose(value) }, words));
  container.replaceChildren(...buttons);
  container.hidden = choices.length < 2;
  const press = (value) => buttons.forEach((button) =>
    button.setAttribute('aria-pressed', String(button.dataset.value === value)));
  press(chosen);
  return press;
}
