import { type Clock, type Millis, sleep } from "#lib/base/index.ts";
import type { LogOpener } from "#kernel/dialect/index.ts";
import { ByteLogReader } from "#kernel/streams/index.ts";
import { badRequest, type KubeObject } from "#kernel/model/index.ts";
import type { Job } from "./objects.ts";
import type { RebarServer } from "./open-server.ts";
import { entryIds, stateOf } from "./state.ts";
import type { World } from "./world.ts";

/** The last block of a log may arrive after the job's end. */
const lastBlock: Millis = 2_000;
/** Of jobs looked through for the one of an entry. */
const mostJobs = 10_000;

/** Reads the subresource `log` of machines: the newest job of an entry of the task list. */
export const openJobLog = (server: Promise<RebarServer>, clock: Clock): LogOpener => {
  const reader = server.then(({ logs }) => new ByteLogReader(logs));
  // Who asks for a log says why there is none.
  reader.catch(() => undefined);
  return async (object, part, request) => {
    if (request.timestamps === true) throw badRequest("lines in logs of jobs have no times");
    const { store, logs } = await server;
    const job = jobOf(store.world, object, part);
    if (request.follow === true) {
      // The first bytes may be still to come: a log begins with a line of its own.
      await logs.append(job.Uuid, new Uint8Array());
      return followed(store, job.Uuid, clock, async (over) => {
        const until = request.signal === undefined ? over : AbortSignal.any([over, request.signal]);
        return (await (await reader).read(job.Uuid, request, until)) ?? [];
      });
    }
    const bytes = await (await reader).read(job.Uuid, request);
    if (bytes === undefined) throw badRequest(`job ${job.Uuid} of ${JSON.stringify(part)} has no log yet`);
    return bytes;
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

/** What `read` gives until the job is over. */
async function* followed(
  store: RebarServer["store"],
  job: string,
  clock: Clock,
  read: (over: AbortSignal) => Promise<AsyncIterable<Uint8Array> | readonly Uint8Array[]>,
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
    yield* await read(over.signal);
  } finally {
    leave();
    over.abort();
  }
}
