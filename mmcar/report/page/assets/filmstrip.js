// Annotators, decision, mean and samples in a row, and all of them side by side.

function framesOf(image, subset) {
  return [
    ...image.labels.map((map, index) => ({ kind: 'annotator', index })),
    { kind: 'decision' },
    { kind: 'mean' },
    ...subset.map((index) => ({ kind: 'sample', index })),
  ];
}

function shortWords(image, frame) {
  if (frame.kind === 'annotator') return image.annotators === 1 ? 'label' : `A${frame.index + 1}`;
  return frame.kind === 'sample' ? `S${frame.index + 1}` : frame.kind;
}

function sameFrame(one, other) {
  return one.kind === other.kind && one.index === other.index;
}

function fillFilmstrip(state, onChoose) {
  const strip = find('#filmstrip');
  strip.replaceChildren(...state.frames.map((frame, place) => make('button', {
    type: 'button', role: 'option', class: frame.kind, tabindex: -1,
    'aria-label': frameWords(state, frame), onclick: () => onChoose(place),
  }, thumbnail(state.image, frameColours({ ...state, opacity: 0.6 }, frame)), shortWords(state.image, frame))));
}

function markFilmstrip(state) {
  const strip = find('#filmstrip');
  [...strip.children].forEach((button, place) => {
    const chosen = place === state.frame && state.mode === 'one';
    button.setAttribute('aria-selected', String(chosen));
    button.tabIndex = place === state.frame ? 0 : -1;
    if (chosen) {
      const middle = button.offsetLeft - strip.offsetLeft - (strip.clientWidth - button.clientWidth) / 2;
      strip.scrollTo({ left: middle });
    }
  });
}

function fillSideBySide(state, onChoose) {
  find('#side-by-side').replaceChildren(...state.frames.map((frame, place) => make('button', {
    type: 'button', 'aria-current': String(place === state.frame), onclick: () => onChoose(place),
  }, thumbnail(state.image, frameColours(state, frame), 256), frameWords(state, frame).split(':')[0])));
}
