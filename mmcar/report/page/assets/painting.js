// Maps as colours and lines on a canvas.

const ANNOTATOR = '#56b4e9', SAMPLE = '#e69f00', MEDIAN = '#f0e442', BAND = '#0072b2', OUTLIER = '#d55e00';
const UNLABELLED = [208, 208, 208];

function canvasOf(width, height) {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  return canvas;
}

// A layer of the size of the maps from (R, G, B, opacity) at every pixel.
function layer(image, colours) {
  const canvas = canvasOf(image.width, image.height);
  canvas.getContext('2d').putImageData(new ImageData(colours, image.width, image.height), 0, 0);
  return canvas;
}

function labelColours(image, map, palette, opacity) {
  const colours = new Uint8ClampedArray(4 * image.pixels);
  const binary = palette.length === 2;
  for (let i = 0; i < image.pixels; i += 1) {
    const colour = palette[map[i]] || UNLABELLED;
    colours.set(colour, 4 * i);
    colours[4 * i + 3] = binary && map[i] === 0 ? 0 : 255 * opacity;
  }
  return colours;
}

// Paints pixels for which test(i) holds.
function maskColours(image, test, [red, green, blue], opacity) {
  const colours = new Uint8ClampedArray(4 * image.pixels);
  for (let i = 0; i < image.pixels; i += 1) if (test(i)) colours.set([red, green, blue, 255 * opacity], 4 * i);
  return colours;
}

// Edges between pixels of different classes, at a scale.
function classEdges(image, scale, map) {
  const path = new Path2D();
  const { width, height } = image;
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const i = row * width + column, x = (column + 1) * scale, y = (row + 1) * scale;
      if (column + 1 < width && map[i] !== map[i + 1]) { path.moveTo(x, y - scale); path.lineTo(x, y); }
      if (row + 1 < height && map[i] !== map[i + width]) { path.moveTo(x - scale, y); path.lineTo(x, y); }
    }
  }
  return path;
}

// Sides of the pixels for which test(i) holds that face other pixels or the
// border: from corner to corner, clockwise around the region.
function facingSides({ width, height }, test) {
  const next = new Map();
  const add = (from, to) => { if (next.has(from)) next.get(from).push(to); else next.set(from, [to]); };
  const corner = (column, row) => row * (width + 1) + column;
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const i = row * width + column;
      if (!test(i)) continue;
      if (row === 0 || !test(i - width)) add(corner(column, row), corner(column + 1, row));
      if (column === width - 1 || !test(i + 1)) add(corner(column + 1, row), corner(column + 1, row + 1));
      if (row === height - 1 || !test(i + width)) add(corner(column + 1, row + 1), corner(column, row + 1));
      if (column === 0 || !test(i - 1)) add(corner(column, row + 1), corner(column, row));
    }
  }
  return next;
}

// Outline of the pixels for which test(i) holds, at a scale. It runs through
// the middles of pixel sides, corners rounded: off by less than half a pixel.
function outlinePath(image, scale, test) {
  const path = new Path2D(), next = facingSides(image, test);
  const place = (corner) => [(corner % (image.width + 1)) * scale, Math.floor(corner / (image.width + 1)) * scale];
  for (const start of next.keys()) {
    while (next.get(start).length) {
      const loop = [];
      let corner = start;
      while (next.get(corner).length) {
        loop.push(place(corner));
        corner = next.get(corner).pop();
      }
      const middle = (i) => [0, 1].map((axis) => (loop[i][axis] + loop[(i + 1) % loop.length][axis]) / 2);
      path.moveTo(...middle(loop.length - 1));
      loop.forEach((point, i) => path.quadraticCurveTo(...point, ...middle(i)));
    }
  }
  return path;
}

function stroke(context, path, colour, width, { dash = [], shadow = true } = {}) {
  context.save();
  context.lineJoin = 'round';
  context.setLineDash(dash);
  if (shadow) {
    context.strokeStyle = 'rgb(0 0 0 / 55%)';
    context.lineWidth = width + 2;
    context.stroke(path);
  }
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke(path);
  context.restore();
}

// Sets the size of a canvas and draws the picture on it.
function drawPicture(canvas, image, scale) {
  canvas.width = image.width * scale;
  canvas.height = image.height * scale;
  const context = canvas.getContext('2d');
  context.imageSmoothingQuality = 'high';
  context.drawImage(image.picture, 0, 0, canvas.width, canvas.height);
  return context;
}

function drawLayer(context, colours, image) {
  context.save();
  context.imageSmoothingEnabled = false;
  context.drawImage(layer(image, colours), 0, 0, context.canvas.width, context.canvas.height);
  context.restore();
}

function rgb(colour) {
  return `rgb(${colour.join(' ')})`;
}

// A small picture of a map, with the fill alone.
function thumbnail(image, colours, largest = 128) {
  const factor = Math.min(1, largest / Math.max(image.width, image.height));
  const canvas = canvasOf(Math.round(image.width * factor), Math.round(image.height * factor));
  const context = canvas.getContext('2d');
  context.drawImage(image.picture, 0, 0, canvas.width, canvas.height);
  context.imageSmoothingEnabled = factor < 1;
  context.drawImage(layer(image, colours), 0, 0, canvas.width, canvas.height);
  return canvas;
}
