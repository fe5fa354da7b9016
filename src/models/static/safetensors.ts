/** A matrix in row-major order. */
export interface Matrix {
  values: Float32Array;
  rowCount: number;
  columnCount: number;
}

/** No header of a static model is longer. */
const HEADER_BYTES_MAX = 1_000_000;

interface TensorEntry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/**
 * Reads one matrix of a safetensors file: 8 bytes with the length of the header, the header as JSON, and the numbers.
 *
 * @throws an `Error` that says what is wrong with the file.
 */
export function readMatrix(bytes: Buffer, name: string): Matrix {
  const tensors = headerOf(bytes);
  const others = Object.keys(tensors).filter((other) => other !== name && other !== "__metadata__");
  if (others.length > 0)
    throw new Error(`it has the tensors ${others.join(", ")}, which change the vectors and are not supported`);
  const entry = tensors[name];
  if (entry === undefined) throw new Error(`it has no tensor ${name}`);
  const { dtype, shape, data_offsets: offsets } = entry;
  const [rowCount, columnCount] = shape;
  const width = WIDTHS[dtype];
  if (width === undefined)
    throw new Error(`its numbers are ${dtype}; ${Object.keys(WIDTHS).join(" and ")} are supported`);
  if (shape.length !== 2 || !rowCount || !columnCount) throw new Error(`${name} is not a matrix`);
  const start = 8 + Number(bytes.readBigUInt64LE(0)) + offsets[0];
  const count = rowCount * columnCount;
  if (offsets[1] - offsets[0] !== count * width || start + count * width > bytes.length)
    throw new Error("it is cut off");
  const values = new Float32Array(count);
  const view = new DataView(bytes.buffer, bytes.byteOffset + start, count * width);
  for (let index = 0; index < count; index++) {
    values[index] = dtype === "F32" ? view.getFloat32(4 * index, true) : halfToNumber(view.getUint16(2 * index, true));
  }
  return { values, rowCount, columnCount };
}

const WIDTHS: Readonly<Record<string, number>> = { F32: 4, F16: 2 };

function headerOf(bytes: Buffer): Record<string, TensorEntry> {
  const length = bytes.length < 8 ? 0 : Number(bytes.readBigUInt64LE(0));
  if (length === 0 || length > HEADER_BYTES_MAX || 8 + length > bytes.length)
    throw new Error("it is no safetensors file");
  try {
    return JSON.parse(bytes.toString("utf8", 8, 8 + length)) as Record<string, TensorEntry>;
  } catch {
    throw new Error("its header is not JSON");
  }
}

/** Converts an IEEE 754 number of 16 bits. */
function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
