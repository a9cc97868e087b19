// Puts the parts together: charts choose what the table shows, the table opens images.

function startCharts(report, table, explorer) {
  const shown = { source: Object.keys(report.reliability)[0], bin: null, score: report.columns[0], bar: null };
  const reliability = find('#reliability'), histogram = find('#histogram');
  const names = { probabilities: 'probabilities', samples: 'mean of the samples' };

  function drawAll() {
    const bins = report.reliability[shown.source];
    if (reliability.clientWidth) drawReliability(reliability, reliability.clientWidth, bins, shown.bin, chooseBin);
    const values = report.rows.map((row) => row[shown.score]);
    if (histogram.clientWidth) drawHistogram(histogram, histogram.clientWidth, values, shown.score.replace('_', ' '), shown.bar, chooseBar);
  }

  function clear() {
    shown.bin = shown.bar = null;
    table.filter(null);
    explorer.chooseBin(null);
    drawAll();
  }

  function chooseBin(bin) {
    if (shown.bin === bin) return clear();
    [shown.bin, shown.bar] = [bin, null];
    const total = report.reliability[shown.source].count.length;
    const words = `confidence ${percent(bin / total)} to ${percent((bin + 1) / total)}`;
    const share = (index) => {
      const counts = report.rows[index].bins[shown.source][0];
      return counts[bin] / counts.reduce((a, b) => a + b, 0) || 0;
    };
    table.filter({ words: `pixels with ${words}`, share, test: (index) => share(index) > 0, clear });
    explorer.chooseBin(shown.source === 'probabilities' ? { index: bin, words } : null);
    return drawAll();
  }

  function chooseBar(bar) {
    if (shown.bar === bar) return clear();
    [shown.bin, shown.bar] = [null, bar];
    const values = report.rows.map((row) => row[shown.score]);
    const { bars, place } = histogramBars(values);
    const words = `${shown.score.replace('_', ' ')} from ${number(bars[bar].from)} to ${number(bars[bar].to)}`;
    table.filter({ words, test: (index) => values[index] !== null && place(values[index]) === bar, clear });
    explorer.chooseBin(null);
    return drawAll();
  }

  const press = segments(find('#reliability-source'), Object.keys(report.reliability).map((source) => [source, names[source]]), shown.source, (source) => {
    shown.source = source;
    press(source);
    clear();
  });
  const select = find('#histogram-score');
  select.append(...report.columns.map((name) => make('option', { value: name }, name.replace('_', ' '))));
  select.addEventListener('change', () => { shown.score = select.value; clear(); });
  find('#histogram-field').hidden = false;
  onResize(reliability, drawAll);
  onResize(histogram, drawAll);
}

function start() {
  startTheme();
  const report = JSON.parse(find('#report-data').textContent);
  const opens = new Set(report.explored);
  const [overview, explorerBox] = [find('#overview'), find('#explorer')];
  let last = null;
  const table = startTable(report, (index) => { location.hash = `image=${index}`; });
  const close = () => { location.hash = 'images'; };
  const explorer = startExplorer(report, table, close);
  startCharts(report, table, explorer);
  if (find('#curves')) drawCurves(find('#curves'), report.curves);

  async function route() {
    const match = location.hash.match(/^#image=(\d+)$/);
    const index = match && opens.has(Number(match[1])) ? Number(match[1]) : null;
    if (index !== null) {
      if (!('DecompressionStream' in window)) {
        find('#filter').textContent = 'This browser is too old to open images: it cannot unpack them.';
        return;
      }
      overview.hidden = true;
      explorerBox.hidden = false;
      await explorer.show(index);
      if (last === null) find('#image-name').focus();
      last = index;
      scrollTo(0, 0);
    } else if (last !== null) {
      explorer.stop();
      explorerBox.hidden = true;
      overview.hidden = false;
      table.focus(last);
      last = null;
    }
    document.documentElement.dataset.ready = 'true';
  }

  addEventListener('hashchange', route);
  route();
}

start();
