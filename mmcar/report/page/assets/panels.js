// What stands beside the picture: hypotheses, the conditional view, flips.

function fillHypotheses(state, onChoose) {
  const { image } = state;
  find('#hypotheses').replaceChildren(...image.hypotheses.map((one, place) => {
    const colours = labelColours(image, image.samples[one.representative], state.palette, 0.6);
    return make('li', {}, make('button', {
      type: 'button', 'aria-pressed': String(state.hypothesis === place), onclick: () => onChoose(place),
    },
    thumbnail(image, colours),
    make('span', { class: 'chance' }, percent(one.probability), make('small', {}, ` · ${plural(one.members.length, 'sample')}`)),
    make('span', { class: 'words' }, one.words)));
  }));
}

function fillFlips(state) {
  const { image } = state;
  find('#flips-panel').hidden = !image.flips.length;
  find('#flips').replaceChildren(...image.flips.map((flip) => {
    const [own, twin] = [state.classes[flip.source], state.classes[flip.twin]];
    const parts = [[flip.as_source, own], [flip.as_twin, twin], [flip.absent, 'absent']];
    return make('div', {},
      make('div', {}, make('b', {}, own), ` or ${twin}`),
      make('div', { class: 'flip-bar', 'aria-hidden': 'true' },
        make('i', { class: 'own', style: `width: ${100 * flip.as_source}%` }),
        make('i', { class: 'twin', style: `width: ${100 * flip.as_twin}%` })),
      make('span', { class: 'hint' }, parts.filter(([share]) => share > 0).map(([share, name]) => `${name} ${percent(share)}`).join(' · ')));
  }));
}

function fillLegend(state) {
  find('#class-legend').replaceChildren(...state.classes.map((name, id) =>
    make('li', {}, make('i', { class: 'swatch', style: `background: ${rgb(state.palette[id])}` }), name)));
}

// One row per class that somebody or something gives the pixel, then a list of all the others.
function fillChoices(state, onChoose) {
  const box = find('#given-choices');
  if (state.pixel === null) {
    box.replaceChildren();
    return;
  }
  const { image } = state, total = image.samples.length;
  const uneven = new Set(image.weights).size > 1;
  const found = classesAt(image, state.pixel, state.classes);
  const likely = found.filter((one) => one.samples || one.annotators || one.percent || one.id === state.given);
  likely.sort((a, b) => b.share - a.share || b.percent - a.percent);
  const rows = likely.map((one) => {
    const input = make('input', { type: 'radio', name: 'given', value: one.id });
    input.checked = state.given === one.id;
    input.addEventListener('change', () => onChoose(one.id));
    const who = image.annotators === 1 ? (one.annotators ? 'the label' : 'not the label') : `${one.annotators} of ${image.annotators} annotators`;
    const chance = one.percent ? `${one.percent} %` : 'below 1 %';
    return make('label', { class: 'choice-row' }, input,
      make('span', {}, make('i', { class: 'swatch', style: `background: ${rgb(state.palette[one.id])}` }), one.name),
      make('span', { class: 'tally' }, `${one.samples} of ${total}${uneven ? `, ${percent(one.share)}` : ''}`),
      make('small', {}, `probability ${chance}, ${who}`));
  });
  const others = found.filter((one) => !likely.includes(one));
  if (others.length) {
    const select = make('select', { id: 'given-other', 'aria-label': 'Another class' }, make('option', { value: '' }, 'another class …'),
      ...others.map((one) => make('option', { value: one.id }, one.name)));
    select.addEventListener('change', () => select.value && onChoose(Number(select.value)));
    rows.push(select);
  }
  const column = state.pixel % image.width, row = Math.floor(state.pixel / image.width);
  box.replaceChildren(make('p', { class: 'hint' }, `Pixel in column ${column}, row ${row}; samples that have the class:`), ...rows);
}

function fillGiven(state, onForget) {
  const words = find('#given-words'), pictures = find('#given-pictures');
  const { image } = state, total = image.samples.length;
  pictures.hidden = true;
  if (state.given === null) {
    words.replaceChildren();
    return;
  }
  const holds = samplesWith(image, state.pixel, state.given);
  const name = state.classes[state.given];
  const forget = make('button', { type: 'button', id: 'forget', onclick: onForget }, 'Forget');
  if (!holds.length) {
    const chance = image.percents.get(state.given)?.[state.pixel] || 0;
    const reason = chance ? `The model gives it ${chance} %: more samples (--num-samples) may have it.` : 'The model gives it less than 1 %.';
    words.replaceChildren(make('strong', { id: 'given-share' }, `0 of ${total}`),
      ` samples have ${name} here, so there is nothing to show. ${reason} `, forget);
    return;
  }
  const then = holds.length === total ? 'Nothing changes by that.' : 'The row of maps shows these alone.';
  words.replaceChildren(make('strong', { id: 'given-share' }, `${holds.length} of ${total}`),
    ` samples (${percent(shareOf(image, holds))}) have ${name} here. ${then} `, forget);
  pictures.hidden = false;
  const all = meanColours(image, image.samples.map((map, i) => i), state.palette, 0.8);
  const given = meanColours(image, holds, state.palette, 0.8);
  for (const [id, colours] of [['#mean-all', all], ['#mean-given', given]]) {
    const context = drawPicture(find(id), image, Math.max(1, Math.round(320 / image.width)));
    drawLayer(context, colours, image);
  }
}
