// Reliability diagram, histogram and training curves, drawn at the size they have.

function onResize(node, redraw) {
  let width = 0;
  new ResizeObserver(() => {
    if (node.clientWidth && node.clientWidth !== width) {
      width = node.clientWidth;
      redraw(width);
    }
  }).observe(node);
}

// A part of a chart that can be chosen by mouse and keyboard.
function choice(words, pressed, onChoose, box, ...parts) {
  const group = draw('g', { class: 'choice', role: 'button', tabindex: 0, 'aria-label': words, 'aria-pressed': String(pressed) },
    draw('title', {}, words), draw('rect', { class: 'hit', rx: 4, ...box }), ...parts);
  group.addEventListener('click', onChoose);
  group.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    event.stopPropagation();
    onChoose();
  });
  return group;
}

// Redraws without losing the keyboard's place.
function replaceChart(container, chart) {
  const words = container.contains(document.activeElement) && document.activeElement.getAttribute('aria-label');
  container.replaceChildren(chart);
  const same = words && [...container.querySelectorAll('.choice')].find((one) => one.getAttribute('aria-label') === words);
  if (same) same.focus();
}

function drawReliability(container, width, bins, chosen, onChoose) {
  const left = 40, top = 10, right = 12, size = Math.min(width - left - right, 400);
  const plotWidth = width - left - right, plotHeight = Math.round(size * 0.62), below = 54;
  const height = top + plotHeight + 14 + below + 34;
  const x = (value) => left + value * plotWidth;
  const y = (value) => top + (1 - value) * plotHeight;
  const floor = top + plotHeight + 14 + below;
  const total = bins.count.reduce((a, b) => a + b, 0);
  const chart = draw('svg', { viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `Reliability diagram, ECE ${percent(bins.ECE, 2)}` });
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    chart.append(
      draw('line', { class: 'axis', x1: x(0), x2: x(1), y1: y(tick), y2: y(tick) }),
      draw('text', { x: left - 8, y: y(tick) + 4, 'text-anchor': 'end' }, String(100 * tick)),
      draw('text', { x: x(tick), y: floor + 16, 'text-anchor': 'middle' }, String(100 * tick)));
  }
  chart.append(
    draw('text', { x: x(1), y: y(0) - 8, 'text-anchor': 'end' }, `ECE ${percent(bins.ECE, 2)}`),
    draw('text', { x: x(0.5), y: floor + 31, 'text-anchor': 'middle' }, 'confidence (%); below: share of pixels, log scale'),
    draw('line', { class: 'perfect', x1: x(0), y1: y(0), x2: x(1), y2: y(1) }));
  const filled = bins.count.map((count, i) => i).filter((i) => bins.count[i] > 0);
  chart.append(draw('polyline', { class: 'trace', points: filled.map((i) => `${x(bins.confidence[i])},${y(bins.accuracy[i])}`).join(' ') }));
  for (const i of filled) {
    const share = bins.count[i] / total, from = i / bins.count.length, to = (i + 1) / bins.count.length;
    const tall = Math.max(2, below * (1 + Math.log10(share) / 5));
    const words = `Confidence ${percent(from)} to ${percent(to)}: right in ${percent(bins.accuracy[i], 1)}, ${percent(share, share < 0.01 ? 2 : 1)} of the pixels`;
    chart.append(choice(words, chosen === i, () => onChoose(i),
      { x: x(from) + 1, y: top, width: plotWidth / bins.count.length - 2, height: floor - top },
      draw('line', { class: 'gap', x1: x(bins.confidence[i]), x2: x(bins.confidence[i]), y1: y(bins.confidence[i]), y2: y(bins.accuracy[i]) }),
      draw('circle', { class: 'dot', cx: x(bins.confidence[i]), cy: y(bins.accuracy[i]), r: 5.5 }),
      draw('rect', { class: 'pixels', x: x(from) + 3, width: plotWidth / bins.count.length - 6, y: floor - tall, height: tall })));
  }
  replaceChart(container, chart);
}

// Bars of equal width over the range of the values; the last one holds its end.
function histogramBars(values) {
  const known = values.filter((value) => value !== null);
  const low = Math.min(...known), high = Math.max(...known);
  const count = low === high ? 1 : Math.min(16, Math.max(5, Math.round(Math.sqrt(known.length) * 1.5)));
  const step = (high - low) / count || 1;
  const bars = Array.from({ length: count }, (_, i) => ({ from: low + i * step, to: low + (i + 1) * step, count: 0 }));
  const place = (value) => Math.min(count - 1, Math.floor((value - low) / step));
  known.forEach((value) => { bars[place(value)].count += 1; });
  return { bars, place, mean: known.reduce((a, b) => a + b, 0) / known.length, low, high: low + count * step };
}

function drawHistogram(container, width, values, name, chosen, onChoose) {
  if (!values.some((value) => value !== null)) {
    container.replaceChildren(make('p', { class: 'hint' }, `No image has a ${name}.`));
    return;
  }
  const { bars, mean, low, high } = histogramBars(values);
  const left = 34, top = 18, right = 12, plotWidth = width - left - right;
  const plotHeight = Math.round(Math.min(plotWidth, 400) * 0.62) + 52;
  const height = top + plotHeight + 36;
  const most = Math.max(...bars.map((bar) => bar.count));
  const x = (value) => left + ((value - low) / (high - low || 1)) * plotWidth;
  const y = (count) => top + (1 - count / most) * plotHeight;
  const chart = draw('svg', { viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `Histogram of ${name}, mean ${number(mean)}` });
  const unit = Math.max(1, Math.ceil(most / 4));
  for (let tick = 0; tick <= most; tick += unit) {
    chart.append(
      draw('line', { class: 'axis', x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      draw('text', { x: left - 8, y: y(tick) + 4, 'text-anchor': 'end' }, String(tick)));
  }
  bars.forEach((bar, i) => {
    const words = `${name} ${number(bar.from)} to ${number(bar.to)}: ${plural(bar.count, 'image')}`;
    chart.append(choice(words, chosen === i, () => onChoose(i),
      { x: x(bar.from), y: top, width: x(bar.to) - x(bar.from), height: plotHeight },
      draw('rect', { class: 'column', x: x(bar.from) + 1.5, width: Math.max(1, x(bar.to) - x(bar.from) - 3), y: y(bar.count), height: top + plotHeight - y(bar.count), rx: 2 })));
  });
  const ends = bars.length === 1 ? [low] : [low, (low + high) / 2, high];
  ends.forEach((value, i) => chart.append(draw('text', {
    x: x(value), y: top + plotHeight + 17,
    'text-anchor': ends.length === 1 ? 'start' : ['start', 'middle', 'end'][i] }, number(value))));
  if (bars.length > 1) chart.append(draw('line', { class: 'mean', x1: x(mean), x2: x(mean), y1: top, y2: top + plotHeight }));
  const side = x(mean) > width / 2 ? 'end' : 'start';
  chart.append(draw('text', { x: bars.length > 1 ? x(mean) + (side === 'end' ? -6 : 6) : left, y: top - 5, 'text-anchor': side }, `mean ${number(mean)}`));
  replaceChart(container, chart);
}

function drawCurves(container, curves) {
  const width = 210, height = 90;
  for (const [name, [steps, values]] of Object.entries(curves)) {
    const known = values.filter((value) => value !== null);
    const low = Math.min(...known), span = Math.max(...known) - low || 1;
    const reach = steps[steps.length - 1] - steps[0] || 1;
    const points = values.map((value, i) => value === null ? null
      : `${(4 + ((steps[i] - steps[0]) / reach) * (width - 8)).toFixed(1)},${(4 + (1 - (value - low) / span) * (height - 22)).toFixed(1)}`);
    container.append(make('figure', {},
      make('figcaption', {}, make('b', {}, name), make('span', {}, `${Number(known[known.length - 1].toPrecision(3))}`)),
      draw('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${name}: from ${known[0]} to ${known[known.length - 1]} in ${steps[steps.length - 1]} steps` },
        draw('line', { class: 'axis', x1: 4, x2: width - 4, y1: height - 16, y2: height - 16 }),
        draw('polyline', { class: 'trace', points: points.filter(Boolean).join(' ') }),
        draw('text', { x: 4, y: height - 3 }, String(steps[0])),
        draw('text', { x: width - 4, y: height - 3, 'text-anchor': 'end' }, String(steps[steps.length - 1])))));
  }
}
