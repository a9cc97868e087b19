// Maps as colours and lines on a canvas.

const ANNOTATOR = '#56b4e9', SAMPLE = '#e69f00', MEDIAN = '#f0e442', BAND = '#0072b2', OUTLIER = '#d55e00';

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
    const colour = palette[map[i]] || [128, 128, 128];
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

// Edges between pixels of different value(i), at a scale; the image's border
// counts as value `outside`, or not at all if that is undefined.
function edges(image, scale, value, outside) {
  const path = new Path2D();
  const { width, height } = image;
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const i = row * width + column, own = value(i);
      const right = column + 1 < width ? value(i + 1) : outside ?? own;
      const below = row + 1 < height ? value(i + width) : outside ?? own;
      const [x, y] = [column * scale, row * scale];
      if (own !== right) { path.moveTo(x + scale, y); path.lineTo(x + scale, y + scale); }
      if (own !== below) { path.moveTo(x, y + scale); path.lineTo(x + scale, y + scale); }
      if (outside !== undefined && column === 0 && own !== outside) { path.moveTo(x, y); path.lineTo(x, y + scale); }
      if (outside !== undefined && row === 0 && own !== outside) { path.moveTo(x, y); path.lineTo(x + scale, y); }
    }
  }
  return path;
}

function stroke(context, path, colour, width, dash = []) {
  context.save();
  context.lineCap = 'round';
  context.setLineDash(dash);
  context.strokeStyle = 'rgb(0 0 0 / 45%)';
  context.lineWidth = width + 2;
  context.stroke(path);
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
