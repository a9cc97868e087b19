// The explorer of one image: its state, and what changes it.

function startExplorer(report, table, onClose) {
  const stage = find('#stage');
  const state = {
    classes: report.classes, palette: report.palette, image: null, subset: [], frames: [], frame: 0,
    mode: 'one', classId: null, opacity: 0.45, threshold: 50, pixel: null, given: null, hypothesis: null, bin: null, showBin: true,
  };
  let timer = null, press = () => {};

  // Draws the picture; what else has changed is drawn by who changed it.
  function paint() {
    if (!state.image) return;
    const side = state.mode === 'side';
    stage.hidden = side;
    find('#side-by-side').hidden = !side;
    let words = `${plural(state.frames.length, 'map')}: choose one to see it large`;
    if (side) fillSideBySide(state, (place) => { setMode('one'); goTo(place); });
    else words = paintStage(stage, state);
    find('#stage-words').textContent = words;
    stage.setAttribute('aria-label', `${state.image.name}. ${words}`);
    markFilmstrip(state);
  }

  function update(change) {
    Object.assign(state, change);
    paint();
  }

  function setMode(mode) {
    state.mode = mode;
    press(mode);
    find('#mode-tools').replaceChildren(...stageFields(state, update));
    paint();
  }

  function goTo(place) {
    state.frame = (place + state.frames.length) % state.frames.length;
    if (state.mode === 'one' || state.mode === 'side') paint();
    else setMode('one');
  }

  // Shows some samples alone; all of them if none are named.
  function narrow(subset) {
    const before = state.frames[state.frame];
    state.subset = subset && subset.length ? subset : state.image.samples.map((map, i) => i);
    state.frames = framesOf(state.image, state.subset);
    const mean = state.frames.findIndex((frame) => frame.kind === 'mean');
    const same = before ? state.frames.findIndex((frame) => sameFrame(frame, before)) : -1;
    state.frame = subset || same < 0 ? mean : same;
    fillFilmstrip(state, goTo);
    paint();
  }

  function showChoices() {
    fillHypotheses(state, chooseHypothesis);
    fillChoices(state, chooseGiven);
    fillGiven(state, forget);
  }

  function chooseHypothesis(place) {
    state.hypothesis = state.hypothesis === place ? null : place;
    state.given = null;
    showChoices();
    narrow(state.hypothesis === null ? null : state.image.hypotheses[place].members);
    find('#hypotheses').children[place].firstChild.focus();
  }

  function chooseGiven(classId) {
    state.given = classId;
    state.hypothesis = null;
    showChoices();
    narrow(samplesWith(state.image, state.pixel, classId));
    find(`#given-choices input[value='${classId}']`)?.focus();
  }

  function forget() {
    state.given = state.hypothesis = state.pixel = null;
    showChoices();
    narrow(null);
    stage.focus({ preventScroll: true });
  }

  function choosePixel(pixel) {
    const narrowed = state.given !== null || state.hypothesis !== null;
    state.pixel = pixel;
    state.given = state.hypothesis = null;
    showChoices();
    if (narrowed) narrow(null);
    else paint();
  }

  function play(on) {
    clearInterval(timer);
    timer = on ? setInterval(() => goTo(state.frame + 1), 650) : null;
    find('#play').textContent = on ? 'Stop' : 'Play';
    find('#play').setAttribute('aria-pressed', String(on));
  }

  function moveCross(across, down) {
    const { width, height } = state.image;
    const from = state.pixel ?? Math.floor(height / 2) * width + Math.floor(width / 2);
    const stride = Math.max(1, Math.round(width / 64));
    const column = Math.min(width - 1, Math.max(0, (from % width) + across * stride));
    const row = Math.min(height - 1, Math.max(0, Math.floor(from / width) + down * stride));
    choosePixel(row * width + column);
  }

  function neighbour(step) {
    const order = table.order();
    const place = order.indexOf(state.image.index);
    return order[place + step] ?? null;
  }

  const MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  function onKey(event) {
    if (find('#explorer').hidden || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key, target } = event;
    const typing = target.matches('input, select');
    if (key === 'Escape' && (state.given !== null || state.hypothesis !== null || state.pixel !== null)) forget();
    else if (key === 'Escape') onClose();
    else if (typing) return;
    else if (event.shiftKey && MOVES[key]) moveCross(...MOVES[key]);
    else if (key === 'ArrowLeft' || key === 'ArrowRight') goTo(state.frame + MOVES[key][0]);
    else if (key === ' ' && !target.matches('button, summary, a')) play(!timer);
    else if (key === 'PageUp' || key === 'PageDown') open(neighbour(key === 'PageUp' ? -1 : 1));
    else if (/^[1-6]$/.test(key)) find('#modes').children[key - 1]?.click();
    else return;
    event.preventDefault();
  }

  function open(index) {
    if (index !== null) location.hash = `image=${index}`;
  }

  function fillHead() {
    const { image } = state, row = report.rows[image.index], order = table.order();
    const place = order.indexOf(image.index);
    find('#image-name').textContent = image.name;
    find('#image-place').textContent = place < 0 ? '' : `${place + 1} of ${order.length}`;
    find('#previous-image').disabled = neighbour(-1) === null;
    find('#next-image').disabled = place < 0 || neighbour(1) === null;
    find('#image-figures').replaceChildren(...report.columns.map((name) =>
      make('div', {}, make('dt', {}, name.replace('_', ' ')), make('dd', {}, number(row[name])))));
    const [width, height] = image.full;
    find('#size-note').textContent = width === image.width ? `${width} × ${height} pixels`
      : `Shown at ${image.width} × ${image.height} of ${width} × ${height} pixels; scored at full size.`;
  }

  async function show(index) {
    play(false);
    const image = await loadImage(index);
    Object.assign(state, { image, pixel: null, given: null, hypothesis: null, frame: 0, frames: [] });
    if (!image.percents.has(state.classId)) state.classId = tornClass(image, state.classes);
    const modes = MODES.filter(([mode]) => (mode !== 'boxplot' || image.boxplot) && (mode !== 'promise' || image.promises.length));
    if (!modes.some(([mode]) => mode === state.mode)) state.mode = 'one';
    press = segments(find('#modes'), modes, state.mode, setMode);
    fillHead();
    fillFlips(state);
    fillLegend(state);
    showChoices();
    narrow(null);
    setMode(state.mode);
  }

  stage.addEventListener('click', (event) => {
    const box = stage.getBoundingClientRect(), { width, height } = state.image;
    const column = Math.min(width - 1, Math.floor(((event.clientX - box.left) / box.width) * width));
    const row = Math.min(height - 1, Math.floor(((event.clientY - box.top) / box.height) * height));
    choosePixel(row * width + column);
  });
  find('#step-back').addEventListener('click', () => goTo(state.frame - 1));
  find('#step-on').addEventListener('click', () => goTo(state.frame + 1));
  find('#play').addEventListener('click', () => play(!timer));
  find('#previous-image').addEventListener('click', () => open(neighbour(-1)));
  find('#next-image').addEventListener('click', () => open(neighbour(1)));
  find('#close').addEventListener('click', onClose);
  document.addEventListener('keydown', onKey);
  return { show, stop: () => play(false), chooseBin: (bin) => { state.bin = bin; state.showBin = true; } };
}
