import { type Millis, sleep } from "#lib/base/index.ts";
import type { LogOpener } from "#kernel/dialect/index.ts";
import type { ByteLogs, LogRequest } from "#kernel/streams/index.ts";
import { badRequest, type KubeObject } from "#kernel/model/index.ts";
import type { Clock } from "#lib/base/index.ts";
import type { Job } from "./objects.ts";
import type { RebarServer } from "./open-server.ts";
import { entryIds, stateOf } from "./state.ts";
import { LineStarts } from "./line-starts.ts";
import type { World } from "./world.ts";

/** The last block of a log may arrive after the job's end. */
const lastBlock: Millis = 2_000;
/** Of jobs looked through for the one of an entry. */
const mostJobs = 10_000;

/** Reads the subresource `log` of machines: the newest job of an entry of the task list. */
export const openJobLog = (server: Promise<RebarServer>, clock: Clock): LogOpener => {
  const starts = new LineStarts();
  return async (object, part, request) => {
    if (request.timestamps === true) throw badRequest("lines in logs of jobs have no times");
    const { store, logs } = await server;
    const job = jobOf(store.world, object, part);
    // The first bytes may be still to come: a log begins with a line of its own.
    if (request.follow === true) await logs.append(job.Uuid, new Uint8Array());
    const size = await logs.size(job.Uuid);
    if (size === undefined) throw badRequest(`job ${job.Uuid} of ${JSON.stringify(part)} has no log yet`);
    const isNumbered = request.numbered === true;
    const from =
      isNumbered && request.fromLine !== undefined
        ? await starts.before(logs, job.Uuid, size, request.fromLine)
        : request.tailLines === undefined
          ? 0
          : await tailStart(logs, job.Uuid, size, request.tailLines);
    const line = isNumbered ? await starts.lineAt(logs, job.Uuid, size, from) : 0;
    const bytes =
      request.follow === true ? followed(await server, job.Uuid, from, clock, request) : logs.read(job.Uuid, from);
    return limited(isNumbered ? numbered(bytes, line) : bytes, request.limitBytes ?? Number.POSITIVE_INFINITY);
  };
};

/** Entries that no job was made for have no log. */
function jobOf(world: World, object: KubeObject, part: string): Job {
  const { entries, job } = stateOf(object);
  const at = part === "" ? job?.CurrentIndex : entryIds(entries).indexOf(part);
  if (at === -1 || at === undefined)
    throw badRequest(
      part === "" ? "the machine has no job yet" : `${JSON.stringify(part)} is no entry of the task list`,
    );
  let seen = job;
  for (let count = 0; seen !== undefined && count < mostJobs; count++) {
    if (seen.CurrentIndex === at) return seen;
    const before: Job | undefined = world.get("jobs", seen.Previous);
    // The list began anew: jobs before are of an earlier pass.
    if (before === undefined || before.CurrentIndex > seen.CurrentIndex) break;
    seen = before;
  }
  throw badRequest(`no job was made for ${JSON.stringify(part)} in this pass of the task list`);
}

/** Where the last lines begin. A newline at the very end ends the last line. */
async function tailStart(logs: ByteLogs, job: string, size: number, lines: number): Promise<number> {
  if (lines === 0) return size;
  const block = 65_536;
  let found = 0;
  for (let end = size; end > 0; end = Math.max(0, end - block)) {
    const start = Math.max(0, end - block);
    const pieces: Uint8Array[] = [];
    for await (const piece of logs.read(job, start, end)) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    for (let at = bytes.length - 1; at >= 0; at--) {
      if (bytes[at] !== 10 || start + at === size - 1) continue;
      if (++found === lines) return start + at + 1;
    }
  }
  return 0;
}

async function* followed(
  { store, logs }: RebarServer,
  job: string,
  start: number,
  clock: Clock,
  { signal }: LogRequest,
): AsyncGenerator<Uint8Array> {
  const over = new AbortController();
  const isOver = (): boolean =>
    !["created", "running", "incomplete"].includes(store.world.get("jobs", job)?.State ?? "");
  const endSoon = (): void => {
    if (isOver())
      void sleep(clock, lastBlock, over.signal).then(
        () => over.abort(),
        () => undefined,
      );
  };
  const leave = store.listen(({ Type, Key }) => {
    if (Type === "jobs" && Key === job) endSoon();
  });
  try {
    endSoon();
    const ends = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
    yield* logs.follow(job, start, ends);
  } finally {
    leave();
    over.abort();
  }
}

async function* limited(bytes: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let left = most;
  for await (const piece of bytes) {
    yield piece.length > left ? piece.subarray(0, left) : piece;
    left -= piece.length;
    if (left <= 0) return;
  }
}

/** Lines of jobs have neither times nor streams. */
async function* numbered(bytes: AsyncIterable<Uint8Array>, line: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${line}\n`);
  let isStart = true;
  for await (const piece of bytes) {
    if (piece.length === 0) continue;
    const text = Buffer.from(piece).toString("latin1");
    yield Buffer.from(`${isStart ? "- - F " : ""}${text.replaceAll(/\n(?!$)/g, "\n- - F ")}`, "latin1");
    isStart = text.endsWith("\n");
  }
}
