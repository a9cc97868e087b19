// What the samples of an image say: shares, means, conditions. No drawing here.

// Samples in which a pixel has a class.
function samplesWith(image, pixel, classId) {
  return image.samples.map((map, i) => i).filter((i) => image.samples[i][pixel] === classId);
}

// Share of all draws that some samples stand for.
function shareOf(image, subset) {
  return subset.reduce((sum, i) => sum + image.weights[i], 0);
}

// How many of some maps have a class, at every pixel.
function countClass(maps, pixels, classId) {
  const counts = new Uint16Array(pixels);
  for (const map of maps) for (let i = 0; i < pixels; i += 1) counts[i] += map[i] === classId;
  return counts;
}

// Colours of the mean of some samples, (R, G, B, opacity) at every pixel. Of
// two classes the second alone is shown, as strongly as it is frequent.
function meanColours(image, subset, palette, opacity) {
  const { pixels } = image, colours = new Float32Array(4 * pixels);
  const binary = palette.length === 2, total = shareOf(image, subset);
  for (const place of subset) {
    const map = image.samples[place], weight = image.weights[place];
    for (let i = 0; i < pixels; i += 1) {
      const [red, green, blue] = palette[map[i]] || UNLABELLED;
      colours[4 * i] += weight * red;
      colours[4 * i + 1] += weight * green;
      colours[4 * i + 2] += weight * blue;
      colours[4 * i + 3] += weight * (binary ? map[i] === 1 : 1);
    }
  }
  const result = new Uint8ClampedArray(4 * pixels);
  for (let i = 0; i < pixels; i += 1) {
    for (let c = 0; c < 3; c += 1) result[4 * i + c] = binary ? palette[1][c] : colours[4 * i + c] / total;
    result[4 * i + 3] = (255 * opacity * colours[4 * i + 3]) / total;
  }
  return result;
}

// What samples, annotators and probabilities say about a pixel, by class.
function classesAt(image, pixel, classes) {
  return classes.map((name, id) => {
    const holds = samplesWith(image, pixel, id);
    return {
      id,
      name,
      samples: holds.length,
      share: shareOf(image, holds),
      annotators: image.labels.filter((map) => map[pixel] === id).length,
      percent: image.percents.has(id) ? image.percents.get(id)[pixel] : 0,
    };
  });
}

// The class whose share among the samples is undecided at most pixels.
function tornClass(image, classes) {
  if (classes.length === 2) return 1;
  let best = 0, most = -1;
  classes.forEach((name, id) => {
    const counts = countClass(image.samples, image.pixels, id);
    const torn = counts.reduce((sum, count) => sum + (count > 0 && count < image.samples.length), 0);
    if (torn > most) [best, most] = [id, torn];
  });
  return best;
}
