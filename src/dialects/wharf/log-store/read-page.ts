import type { BuildLog } from "./build-log.ts";
import { logError } from "./errors.ts";
import type { FilePool } from "./file-pool.ts";
import { headerBytes, isRecordAt, lengthAt, lineAt, logIdAt, longestMessage, type StoredLine } from "./record.ts";
import { readAt } from "./open-segment.ts";
import type { Segment } from "./segment.ts";

/** A reader's place: the last line it has and where to read the segments. A value. */
export interface Place {
  readonly after: number;
  /** By step: lines before the offset are at or before `after`. Default: the beginning. */
  readonly offsets: ReadonlyMap<number, number>;
}

export interface LogPage {
  readonly lines: readonly StoredLine[];
  readonly next: Place;
}

const pageBytes = 256 * 1024;
/** Bytes read of a segment at once; less with many steps. */
const [mostChunk, leastChunk, allChunks] = [64 * 1024, 4 * 1024, 1024 * 1024];

export function placeAfter(build: BuildLog, after: number): Place {
  const offsets = new Map<number, number>();
  for (const { stepId, index } of build.segments) offsets.set(stepId, index.offsetOf(after + 1));
  return { after, offsets };
}

/** About 256 KiB of lines behind a place, at least one; undefined if there are none. Rejects with `log-damaged` for
 * corrupt records. */
export async function readPage(build: BuildLog, place: Place, pool: FilePool): Promise<LogPage | undefined> {
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
    return { lines, next: { after, offsets } };
  } catch (thrown) {
    // The log may have been cut in between.
    build.changes.check();
    throw thrown;
  }
}

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
    // Ids are unique: an equal one is only a lower bound of a reader that has not loaded yet.
    while (bytes < pageBytes && first.hasRecord && first.next <= limit) {
      const line = first.take();
      if (line.logId <= after) continue;
      lines.push(line);
      bytes += headerBytes + line.message.length;
    }
  }
  return lines;
}

function lowestTwo(readers: readonly SegmentReader[]): readonly [SegmentReader | undefined, SegmentReader | undefined] {
  let first: SegmentReader | undefined;
  let other: SegmentReader | undefined;
  for (const reader of readers) {
    if (first === undefined || reader.next < first.next) [first, other] = [reader, first];
    else if (other === undefined || reader.next < other.next) other = reader;
  }
  return [first, other];
}

class SegmentReader {
  readonly stepId: number;
  offset: number;
  next: number;
  readonly #segment: Segment;
  readonly #pool: FilePool;
  readonly #end: number;
  readonly #chunk: number;
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
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

  get hasRecord(): boolean {
    return this.#length > 0;
  }

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

  take(): StoredLine {
    if (!isRecordAt(this.#bytes, this.#at)) throw this.#damaged();
    const line = lineAt(this.#bytes, this.#at, this.stepId);
    this.#at += this.#length;
    this.offset += this.#length;
    this.next = line.logId + 1;
    this.#look();
    return line;
  }

  async #read(size: number): Promise<void> {
    const length = Math.min(size, this.#end - this.offset);
    this.#bytes = await this.#pool.use(this.#segment.path, (handle) => readAt(handle, this.offset, length));
    this.#at = 0;
  }

  #look(): void {
    const length = lengthAt(this.#bytes, this.#at);
    this.#length = length === undefined || this.#at + length > this.#bytes.length ? 0 : length;
    if (this.#length > 0) this.next = logIdAt(this.#bytes, this.#at);
  }

  #damaged(): Error {
    // Not cut off: later records may be whole, and there may be a copy.
    return logError("log-damaged", `${this.#segment.path}: expected a record at byte ${this.offset}, found none`);
  }
}
