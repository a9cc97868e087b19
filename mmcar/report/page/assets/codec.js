// Unpacks what encoding.py has packed.

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The first map as it is, the others as differences from it, modulo the type's range.
function unpackMaps(bytes, pixels, wide) {
  const values = wide ? new Uint16Array(bytes.buffer) : bytes;
  const base = values.subarray(0, pixels);
  const maps = [base];
  for (let start = pixels; start < values.length; start += pixels) {
    const map = values.slice(start, start + pixels);
    for (let i = 0; i < pixels; i += 1) map[i] += base[i];
    maps.push(map);
  }
  return maps;
}

async function unpackPicture(url) {
  const picture = new Image();
  picture.src = url;
  await picture.decode();
  return picture;
}

const unpacked = new Map();

// An image with its maps; the last few stay unpacked.
async function loadImage(index) {
  if (unpacked.has(index)) return unpacked.get(index);
  const packed = JSON.parse(find(`#image-data-${index}`).textContent);
  const pixels = packed.width * packed.height;
  const maps = unpackMaps(await inflate(packed.maps), pixels, packed.wide);
  const image = {
    ...packed,
    index,
    pixels,
    decision: maps[0],
    labels: maps.slice(1, 1 + packed.annotators),
    samples: maps.slice(1 + packed.annotators),
    picture: await unpackPicture(packed.picture),
    bins: await inflate(packed.bins),
    percents: new Map(),
  };
  for (const [id, text] of Object.entries(packed.probs)) image.percents.set(Number(id), await inflate(text));
  if (packed.boxplot) image.boxplot = { ...packed.boxplot, regions: await inflate(packed.boxplot.regions) };
  image.promises = await Promise.all(packed.promises.map(async (one) => ({ ...one, regions: await inflate(one.regions) })));
  if (unpacked.size > 4) unpacked.delete(unpacked.keys().next().value);
  unpacked.set(index, image);
  return image;
}
