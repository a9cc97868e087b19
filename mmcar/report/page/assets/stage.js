// The large picture: one way to draw it per view.

const SIDE = 760;
const MODES = [
  ['one', 'One by one'],
  ['side', 'Side by side'],
  ['outlines', 'All outlines'],
  ['probability', 'Probability'],
  ['boxplot', 'Contour boxplot'],
  ['promise', 'Promised'],
];

function stageScale(image) {
  return Math.max(1, Math.ceil(SIDE / Math.max(image.width, image.height)));
}

function mapOf(image, frame) {
  if (frame.kind === 'decision') return image.decision;
  return frame.kind === 'annotator' ? image.labels[frame.index] : image.samples[frame.index];
}

function frameColours(state, frame) {
  const { image, palette, opacity } = state;
  if (frame.kind !== 'mean') return labelColours(image, mapOf(image, frame), palette, opacity);
  return meanColours(image, state.subset, palette, palette.length === 2 ? Math.min(1, opacity + 0.3) : opacity);
}

function frameWords(state, frame) {
  const { image } = state;
  if (frame.kind === 'annotator') return image.annotators === 1 ? 'Label' : `Annotator ${frame.index + 1} of ${image.annotators}`;
  if (frame.kind === 'decision') return 'Decision: the most probable class of each pixel';
  if (frame.kind === 'mean') return `Mean of ${plural(state.subset.length, 'sample')}`;
  return `Sample ${frame.index + 1} of ${image.samples.length}`;
}

function paintOne(state, context, scale) {
  const { image, palette } = state, frame = state.frames[state.frame];
  drawLayer(context, frameColours(state, frame), image);
  if (frame.kind !== 'mean') {
    const map = mapOf(image, frame);
    if (palette.length === 2) stroke(context, outlinePath(image, scale, (i) => map[i] === 1), rgb(palette[1]), 2.5);
    else stroke(context, classEdges(image, scale, map), 'white', 1, { shadow: false });
  }
  return frameWords(state, frame);
}

function paintOutlines(state, context, scale) {
  const { image, classId } = state;
  const outline = (map) => outlinePath(image, scale, (i) => map[i] === classId);
  for (const i of state.subset) stroke(context, outline(image.samples[i]), SAMPLE, 1.8, { shadow: false });
  for (const map of image.labels) stroke(context, outline(map), ANNOTATOR, 2.4, { dash: [9, 6], shadow: false });
  const given = image.annotators === 1 ? 'the label' : `${image.annotators} annotators`;
  return `${state.classes[classId]}: ${given} (blue, dashed) and ${plural(state.subset.length, 'sample')} (orange)`;
}

function paintProbability(state, context, scale) {
  const { image, classId, threshold } = state;
  const percents = image.percents.get(classId) || new Uint8Array(image.pixels);
  const colours = new Uint8ClampedArray(4 * image.pixels);
  const colour = state.palette[classId === 0 && state.palette.length === 2 ? 1 : classId];
  let area = 0;
  for (let i = 0; i < image.pixels; i += 1) {
    const inside = percents[i] >= threshold;
    area += inside;
    colours.set([...colour, inside ? 80 + 1.4 * percents[i] : 0], 4 * i);
  }
  drawLayer(context, colours, image);
  stroke(context, outlinePath(image, scale, (i) => percents[i] >= threshold), 'white', 1.8);
  return `${state.classes[classId]} with a probability of at least ${threshold} %: ${percent(area / image.pixels, 1)} of the image`;
}

function paintBoxplot(state, context, scale) {
  const { image } = state, box = image.boxplot;
  const band = (core, union) => (i) => (box.regions[i] & union) !== 0 && (box.regions[i] & core) === 0;
  drawLayer(context, maskColours(image, band(4, 8), [86, 180, 233], 0.45), image);
  drawLayer(context, maskColours(image, band(1, 2), [0, 114, 178], 0.65), image);
  const outline = (map) => outlinePath(image, scale, (i) => map[i] === 1);
  for (const i of box.outliers) stroke(context, outline(image.samples[i]), OUTLIER, 2.2, { dash: [9, 6] });
  stroke(context, outline(image.samples[box.median]), MEDIAN, 3);
  const outliers = box.outliers.length ? `, ${plural(box.outliers.length, 'outlier')} (dashed)` : ', no outliers';
  return `All ${image.samples.length} samples: median (yellow, sample ${box.median + 1}), 50 % band (dark blue), envelope (light blue)${outliers}`;
}

// Regions and the hypotheses that are needed, of the chosen class or the first that has promises.
function paintPromise(state, context, scale) {
  const { image } = state;
  const promise = image.promises.find((one) => one.class_id === state.classId) || image.promises[0];
  for (const one of image.hypotheses.slice(0, promise.hypotheses)) {
    const map = image.samples[one.representative];
    stroke(context, outlinePath(image, scale, (i) => map[i] === promise.class_id), ANNOTATOR, 1.8, { dash: [9, 6], shadow: false });
  }
  for (const [bit, colour] of [[1, OUTLIER], [2, MEDIAN]]) {
    stroke(context, outlinePath(image, scale, (i) => (promise.regions[i] & bit) !== 0), colour, 2.6);
  }
  return `${state.classes[promise.class_id]}: outer region (orange), inner region (yellow), hypotheses (blue, dashed). ${promise.words.join('; ')}. Research software, not for clinical decisions.`;
}

function paintBin(state, context, scale) {
  const inside = (i) => state.image.bins[i] === state.bin.index;
  drawLayer(context, maskColours(state.image, inside, [204, 121, 167], 0.75), state.image);
  stroke(context, outlinePath(state.image, scale, inside), 'white', 1, { shadow: false });
}

function paintCross(state, context, scale) {
  const { image, pixel } = state;
  const x = ((pixel % image.width) + 0.5) * scale, y = (Math.floor(pixel / image.width) + 0.5) * scale;
  const path = new Path2D();
  const gap = Math.max(5, scale), arm = gap + 12;
  for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
    path.moveTo(x + gap * dx, y + gap * dy);
    path.lineTo(x + arm * dx, y + arm * dy);
  }
  path.rect(x - scale / 2, y - scale / 2, scale, scale);
  stroke(context, path, 'white', 2);
}

const PAINTERS = { one: paintOne, outlines: paintOutlines, probability: paintProbability, boxplot: paintBoxplot, promise: paintPromise };

// Draws the stage and returns what it shows, in words.
function paintStage(canvas, state) {
  const scale = stageScale(state.image);
  const context = drawPicture(canvas, state.image, scale);
  let words = PAINTERS[state.mode](state, context, scale);
  if (state.showBin && state.bin) {
    paintBin(state, context, scale);
    words += `; marked: ${state.bin.words}`;
  }
  if (state.pixel !== null) paintCross(state, context, scale);
  return words;
}

// Fields that belong to a view.
function stageFields(state, update) {
  const fields = [];
  const slider = (words, value, low, high, shown, onInput) => {
    const output = make('output', {}, shown(value));
    const input = make('input', { type: 'range', min: low, max: high, value, 'aria-label': words });
    input.addEventListener('input', () => { output.textContent = shown(input.value); onInput(Number(input.value)); });
    return make('label', { class: 'field' }, words, input, output);
  };
  if (state.mode === 'one' || state.mode === 'side') {
    fields.push(slider('Opacity', Math.round(100 * state.opacity), 0, 100, (value) => `${value} %`, (value) => update({ opacity: value / 100 })));
  }
  if (['outlines', 'probability', 'promise'].includes(state.mode)) {
    const select = make('select', { id: 'class-choice' }, ...state.classes.map((name, id) => {
      const option = make('option', { value: id }, name);
      option.selected = id === state.classId;
      return option;
    }));
    select.addEventListener('change', () => update({ classId: Number(select.value) }));
    fields.push(make('label', { class: 'field' }, 'Class', select));
  }
  if (state.mode === 'probability') {
    const field = slider('At least', state.threshold, 1, 100, (value) => `${value} %`, (value) => update({ threshold: value }));
    find('input', field).id = 'threshold';
    fields.push(field);
  }
  if (state.bin && state.mode !== 'side') {
    const box = make('input', { type: 'checkbox', id: 'show-bin' });
    box.checked = state.showBin;
    box.addEventListener('change', () => update({ showBin: box.checked }));
    fields.push(make('label', { class: 'field' }, box, `mark pixels with ${state.bin.words}`));
  }
  return fields;
}
