import type { BuildLog } from "./build-log.ts";
import { logError } from "./errors.ts";
import type { FilePool } from "./file-pool.ts";
import { headerBytes, isRecordAt, lengthAt, lineAt, logIdAt, longestMessage, type StoredLine } from "./record.ts";
import { readAt } from "./scan-segment.ts";
import type { Segment } from "./segment.ts";

/** A reader's place in the log of a build: the last line that it has, and from where the segments are to be read. A value. */
export interface Place {
  readonly after: number;
  readonly generation: number;
  /** By step: every line before the offset is at or before `after`. A step that is missing is read from its beginning. */
  readonly offsets: ReadonlyMap<number, number>;
}

/** Lines that follow each other in the build, ascending by logId. */
export interface LogPage {
  readonly lines: readonly StoredLine[];
  /** Where the next page begins. */
  readonly next: Place;
}

/** A page ends when it has so much. */
const pageBytes = 256 * 1024;
/** What is read of a segment at once; less where many steps print side by side. */
const [mostChunk, leastChunk, allChunks] = [64 * 1024, 4 * 1024, 1024 * 1024];

/** The place behind a line. */
export function placeAfter(build: BuildLog, after: number): Place {
  const offsets = new Map<number, number>();
  for (const { stepId, index } of build.segments) offsets.set(stepId, index.offsetOf(after + 1));
  return { after, generation: build.generation, offsets };
}

/**
 * The lines behind a place that can be read at present, about 256 KiB of them, one at least; undefined when there are none. Rejects with
 * `log-damaged` where the bytes are not what was written.
 */
export async function readPage(build: BuildLog, wanted: Place, pool: FilePool): Promise<LogPage | undefined> {
  const place = wanted.generation === build.generation ? wanted : placeAfter(build, wanted.after);
  if (build.readable <= place.after) return undefined;
  const upTo = build.readable;
  const behind = [...build.segments].filter(({ stepId, bytes }) => bytes > (place.offsets.get(stepId) ?? 0));
  const chunk = Math.max(leastChunk, Math.min(mostChunk, Math.floor(allChunks / Math.max(1, behind.length))));
  const readers = behind.map(
    (segment) => new SegmentReader(segment, place.offsets.get(segment.stepId) ?? 0, place.after + 1, chunk, pool),
  );
  try {
    const lines = await merge(readers, place.after);
    const offsets = new Map(place.offsets);
    for (const { stepId, offset } of readers) offsets.set(stepId, offset);
    const after = lines.at(-1)?.logId ?? upTo;
    return { lines, next: { after, generation: place.generation, offsets } };
  } catch (thrown) {
    // Somebody has cut it off meanwhile.
    if (place.generation !== build.generation) return readPage(build, wanted, pool);
    throw thrown;
  }
}

/** The lowest logId first. A segment is read when it may have the next line, so that steps that ran one after the other are read so. */
async function merge(readers: readonly SegmentReader[], after: number): Promise<readonly StoredLine[]> {
  const lines: StoredLine[] = [];
  let rest = [...readers];
  for (let bytes = 0; bytes < pageBytes; ) {
    const [first, other] = lowestTwo(rest);
    if (first === undefined) break;
    if (!(await first.load())) {
      rest = rest.filter((reader) => reader !== first);
      continue;
    }
    const limit = other?.next ?? Number.POSITIVE_INFINITY;
    // Numbers are unique: an equal one is a bound of a reader that has not looked yet, whose line is behind this one.
    while (bytes < pageBytes && first.hasRecord && first.next <= limit) {
      const line = first.take();
      if (line.logId <= after) continue;
      lines.push(line);
      bytes += headerBytes + line.message.length;
    }
  }
  return lines;
}

/** The readers whose next line comes first and second, as far as is known. */
function lowestTwo(readers: readonly SegmentReader[]): readonly [SegmentReader | undefined, SegmentReader | undefined] {
  let first: SegmentReader | undefined;
  let other: SegmentReader | undefined;
  for (const reader of readers) {
    if (first === undefined || reader.next < first.next) [first, other] = [reader, first];
    else if (other === undefined || reader.next < other.next) other = reader;
  }
  return [first, other];
}

/** Reads the records of one segment, up to where it could be read when this began. */
class SegmentReader {
  readonly stepId: number;
  /** Of the next record. */
  offset: number;
  /** logId of the next record; of one that has not been looked at, a number that is not above it. */
  next: number;
  readonly #segment: Segment;
  readonly #pool: FilePool;
  /** Where reading ends: what could be read when this was made. */
  readonly #end: number;
  /** Bytes that are read at once. */
  readonly #chunk: number;
  /** What was read last, and where the next record begins in it. */
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  /** Length of the next record, 0 while it has not been looked at. */
  #length = 0;

  constructor(segment: Segment, offset: number, next: number, chunk: number, pool: FilePool) {
    this.stepId = segment.stepId;
    this.#segment = segment;
    this.#end = segment.bytes;
    this.offset = offset;
    this.next = next;
    this.#chunk = chunk;
    this.#pool = pool;
  }

  /** A record has been looked at and can be taken. */
  get hasRecord(): boolean {
    return this.#length > 0;
  }

  /** Looks at the next record. False when there is none. */
  async load(): Promise<boolean> {
    if (this.#length > 0) return true;
    if (this.offset >= this.#end) return false;
    await this.#read(this.#chunk);
    const length = lengthAt(this.#bytes, 0) ?? 0;
    if (length > this.#bytes.length && length <= headerBytes + longestMessage) await this.#read(length);
    this.#look();
    if (this.#length === 0) throw this.#damaged();
    return true;
  }

  /** The record that was looked at. The one behind it is looked at when it has been read already. */
  take(): StoredLine {
    if (!isRecordAt(this.#bytes, this.#at)) throw this.#damaged();
    const line = lineAt(this.#bytes, this.#at, this.stepId);
    this.#at += this.#length;
    this.offset += this.#length;
    // What comes next is above it, whatever it is.
    this.next = line.logId + 1;
    this.#look();
    return line;
  }

  /** From the next record on. */
  async #read(size: number): Promise<void> {
    const length = Math.min(size, this.#end - this.offset);
    this.#bytes = await this.#pool.use(this.#segment.path, (handle) => readAt(handle, this.offset, length));
    this.#at = 0;
  }

  /** Of a record that is cut by the end of what was read nothing is known yet. */
  #look(): void {
    const length = lengthAt(this.#bytes, this.#at);
    this.#length = length === undefined || this.#at + length > this.#bytes.length ? 0 : length;
    if (this.#length > 0) this.next = logIdAt(this.#bytes, this.#at);
  }

  #damaged(): Error {
    // It is not cut off here: what is behind it may be whole, and somebody may have a copy.
    return logError("log-damaged", `${this.#segment.path}: expected a record at byte ${this.offset}, found none`);
  }
}
