// The table of images: sorted by any column, filtered by the charts.

function startTable(report, onOpen) {
  const table = find('table.images'), body = find('tbody', table);
  const rows = [...body.rows];
  const opens = new Set(report.explored);
  const state = { key: null, down: true, filter: null };

  function value(row) {
    const index = Number(row.dataset.index);
    if (state.key === 'bin') return state.filter?.share(index) ?? null;
    return report.rows[index][state.key];
  }

  function compare(a, b) {
    const [one, other] = [value(a), value(b)];
    if (one === null || other === null) return (one === null) - (other === null);
    const order = typeof one === 'string' ? one.localeCompare(other, undefined, { numeric: true }) : one - other;
    return (state.down ? -order : order) || a.dataset.index - b.dataset.index;
  }

  function show() {
    if (state.key) body.append(...[...rows].sort(compare));
    let shown = 0;
    for (const row of rows) {
      row.hidden = Boolean(state.filter) && !state.filter.test(Number(row.dataset.index));
      shown += !row.hidden;
    }
    for (const head of find('thead tr', table).cells) {
      if (head.dataset.key === state.key) head.setAttribute('aria-sort', state.down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    }
    const words = state.filter ? [make('span', {}, `${shown} of ${rows.length}: ${state.filter.words}`),
      make('button', { type: 'button', id: 'clear-filter', onclick: () => state.filter.clear() }, 'Show all')] : [];
    find('#filter').replaceChildren(...words);
  }

  function sort(key, down) {
    state.down = down ?? (state.key === key ? !state.down : typeof report.rows[0][key] !== 'string');
    state.key = key;
    show();
  }

  // filter: { words, test(index), clear(), share(index)? }; null shows all.
  function filter(next) {
    state.filter = next;
    const share = next?.share;
    table.querySelectorAll('.bin-share').forEach((cell) => { cell.hidden = !share; });
    if (share) rows.forEach((row) => { find('.bin-share', row).textContent = percent(share(Number(row.dataset.index)), 1); });
    if (share) sort('bin', true);
    else if (state.key === 'bin') sort('image', false);
    else show();
  }

  function step(row, forward) {
    const shown = [...body.rows].filter((one) => !one.hidden && one.hasAttribute('tabindex'));
    shown[shown.indexOf(row) + (forward ? 1 : -1)]?.focus();
  }

  for (const head of find('thead tr', table).cells) {
    head.replaceChildren(make('button', { type: 'button', onclick: () => sort(head.dataset.key) }, head.textContent));
  }
  for (const row of rows) {
    const index = Number(row.dataset.index);
    if (!opens.has(index)) continue;
    row.tabIndex = 0;
    row.setAttribute('aria-label', `Open ${report.rows[index].image}`);
    row.addEventListener('click', () => onOpen(index));
    row.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') onOpen(index);
      else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') step(row, event.key === 'ArrowDown');
      else return;
      event.preventDefault();
    });
  }
  return {
    filter,
    // Images that can be opened, in the order of the table as it is shown.
    order: () => [...body.rows].filter((row) => !row.hidden).map((row) => Number(row.dataset.index)).filter((index) => opens.has(index)),
    focus: (index) => rows[index]?.focus(),
  };
}
