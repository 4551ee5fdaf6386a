// Codes of letters and digits, and their pictures: the same text as in Web/ask/ask.html, which is one file (a test holds them together).

function base32(bytes) {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  let [bits, count, text] = [0, 0, ""];
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xfff;
    for (count += 8; count >= 5; count -= 5) text += letters[(bits >> (count - 5)) & 31];
  }
  return count > 0 ? text + letters[(bits << (5 - count)) & 31] : text;
}

// QR codes of ISO/IEC 18004: letters and digits, error correction level M, versions 1 to 12.

// Correction bytes of a block, number of blocks, data bytes of each, and how many more blocks have one byte more.
const blockTable = [
  [10, 1, 16, 0], [16, 1, 28, 0], [26, 1, 44, 0], [18, 2, 32, 0], [24, 2, 43, 0], [16, 4, 27, 0],
  [18, 4, 31, 0], [22, 2, 38, 2], [22, 3, 36, 2], [26, 4, 43, 1], [30, 1, 50, 4], [22, 6, 36, 2],
];

function qrBits(text, version, byteCount) {
  const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
  let bits = "";
  const put = (value, count) => {
    bits += value.toString(2).padStart(count, "0");
  };
  put(2, 4);
  put(text.length, version < 10 ? 9 : 11);
  for (let index = 0; index < text.length; index += 2) {
    const [first, second] = [letters.indexOf(text[index]), letters.indexOf(text[index + 1])];
    if (index + 1 < text.length) put(first * 45 + second, 11);
    else put(first, 6);
  }
  if (bits.length > byteCount * 8) return null;
  bits += "0".repeat(Math.min(4, byteCount * 8 - bits.length));
  bits += "0".repeat((8 - (bits.length % 8)) % 8);
  const bytes = bits.match(/.{8}/g).map((byte) => parseInt(byte, 2));
  for (let filler = 236; bytes.length < byteCount; filler ^= 236 ^ 17) bytes.push(filler);
  return bytes;
}

function correction(data, count) {
  const [powers, logs] = [[], []];
  for (let [index, value] = [0, 1]; index < 255; index += 1) {
    powers.push(value);
    logs[value] = index;
    value <<= 1;
    if (value > 255) value ^= 0x11d;
  }
  const times = (left, right) => (left && right ? powers[(logs[left] + logs[right]) % 255] : 0);
  let divisor = [1];
  for (let degree = 0; degree < count; degree += 1) {
    const next = [...divisor, 0];
    divisor.forEach((factor, index) => (next[index + 1] ^= times(factor, powers[degree])));
    divisor = next;
  }
  const rest = [...data, ...new Array(count).fill(0)];
  for (let index = 0; index < data.length; index += 1) {
    const factor = rest[index];
    divisor.forEach((other, offset) => (rest[index + offset] ^= times(other, factor)));
  }
  return rest.slice(data.length);
}

/** Data and correction bytes of all blocks, interleaved. */
function interleaved(bytes, [correctionCount, blockCount, dataCount, longCount]) {
  const blocks = [];
  let offset = 0;
  for (let index = 0; index < blockCount + longCount; index += 1) {
    const count = dataCount + (index < blockCount ? 0 : 1);
    blocks.push(bytes.slice(offset, offset + count));
    offset += count;
  }
  const corrections = blocks.map((block) => correction(block, correctionCount));
  const columns = (rows, count) =>
    Array.from({ length: count }, (_, index) => rows.map((row) => row[index]).filter((byte) => byte !== undefined)).flat();
  return [...columns(blocks, dataCount + 1), ...columns(corrections, correctionCount)];
}

/** A value with the remainder of its division by a polynomial behind it. */
function coded(value, polynomial, count) {
  let rest = value << count;
  for (let bit = 31 - Math.clz32(rest); bit >= count; bit = 31 - Math.clz32(rest)) rest ^= polynomial << (bit - count);
  return (value << count) | rest;
}

const masks = [
  (y, x) => (y + x) % 2, (y) => y % 2, (y, x) => x % 3, (y, x) => (y + x) % 3,
  (y, x) => ((y >> 1) + Math.floor(x / 3)) % 2, (y, x) => ((y * x) % 2) + ((y * x) % 3),
  (y, x) => (((y * x) % 2) + ((y * x) % 3)) % 2, (y, x) => (((y + x) % 2) + ((y * x) % 3)) % 2,
];

/** Modules that are the same for every text, and the areas of the format. */
function qrFrame(version) {
  const size = 17 + 4 * version;
  const grid = Array.from({ length: size }, () => new Array(size).fill(null));
  const square = (top, left, radius, isDark) => {
    for (let y = -radius; y <= radius; y += 1) {
      for (let x = -radius; x <= radius; x += 1) {
        if (grid[top + y]?.[left + x] !== undefined) grid[top + y][left + x] = isDark(Math.max(Math.abs(y), Math.abs(x)));
      }
    }
  };
  for (const [top, left] of [[3, 3], [3, size - 4], [size - 4, 3]]) square(top, left, 4, (ring) => ring !== 2 && ring !== 4);
  const last = size - 7;
  const centres = version === 1 ? [] : version < 7 ? [6, last] : [6, (6 + last) / 2, last];
  for (const top of centres) {
    for (const left of centres) {
      if (grid[top][left] === null) square(top, left, 2, (ring) => ring !== 1);
    }
  }
  for (let index = 8; index < size - 8; index += 1) {
    grid[6][index] ??= index % 2 === 0;
    grid[index][6] ??= index % 2 === 0;
  }
  if (version >= 7) {
    const bits = coded(version, 0x1f25, 12);
    for (let index = 0; index < 18; index += 1) {
      const [near, far] = [Math.floor(index / 3), size - 11 + (index % 3)];
      grid[near][far] = grid[far][near] = ((bits >> index) & 1) === 1;
    }
  }
  setFormat(grid, 0);
  return grid;
}

function setFormat(grid, mask) {
  const size = grid.length;
  const bits = coded(mask, 0x537, 10) ^ 0x5412;
  for (let index = 0; index < 15; index += 1) {
    const isDark = ((bits >> index) & 1) === 1;
    if (index < 8) {
      grid[8][size - 1 - index] = isDark;
      grid[index < 6 ? index : index + 1][8] = isDark;
    } else {
      grid[size - 15 + index][8] = isDark;
      grid[8][index === 8 ? 7 : 14 - index] = isDark;
    }
  }
  grid[size - 8][8] = true;
}

/** The penalty of a pattern that scanners read badly. */
function penalty(grid) {
  const size = grid.length;
  let [points, dark] = [0, 0];
  const lines = [...grid, ...grid.map((_, x) => grid.map((row) => row[x]))].map((line) => line.map(Number).join(""));
  for (const line of lines) {
    for (const run of line.match(/0{5,}|1{5,}/g) ?? []) points += run.length - 2;
    for (const finder of ["10111010000", "00001011101"]) {
      for (let at = line.indexOf(finder); at >= 0; at = line.indexOf(finder, at + 1)) points += 40;
    }
  }
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      dark += grid[y][x] ? 1 : 0;
      const isSquare = y > 0 && x > 0 && grid[y][x] === grid[y - 1][x] && grid[y][x] === grid[y][x - 1] && grid[y][x] === grid[y - 1][x - 1];
      points += isSquare ? 3 : 0;
    }
  }
  return points + 10 * Math.floor(Math.abs((dark * 20) / (size * size) - 10));
}

/** Rows of modules; true is dark. Null for a text that is too long. */
function qrCode(text) {
  for (let version = 1; version <= blockTable.length; version += 1) {
    const table = blockTable[version - 1];
    const bytes = qrBits(text, version, table[1] * table[2] + table[3] * (table[2] + 1));
    if (!bytes) continue;
    const bits = interleaved(bytes, table).flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((shift) => (byte >> shift) & 1));
    const candidates = masks.map((mask, number) => {
      const grid = qrFrame(version);
      setFormat(grid, number);
      let next = 0;
      let isUp = true;
      for (let right = grid.length - 1; right > 0; right -= right === 8 ? 3 : 2) {
        for (let step = 0; step < grid.length; step += 1) {
          const y = isUp ? grid.length - 1 - step : step;
          for (const x of [right, right - 1]) {
            if (grid[y][x] !== null) continue;
            grid[y][x] = ((bits[next] ?? 0) === 1) !== (mask(y, x) === 0);
            next += 1;
          }
        }
        isUp = !isUp;
      }
      return grid;
    });
    return candidates.reduce((best, grid) => (penalty(grid) < penalty(best) ? grid : best));
  }
  return null;
}

export { base32, qrCode };
