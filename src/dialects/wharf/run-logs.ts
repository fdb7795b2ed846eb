import type { LogRequest } from "#kernel/streams/index.ts";
import { badRequest, type KubeObject } from "#kernel/model/index.ts";
import { type Clock, parseInstant } from "#lib/base/index.ts";
import type { LogOpener } from "#kernel/dialect/index.ts";
import type { EndedBuilds } from "./api/ended-builds.ts";
import { numberOfBuild } from "./builds/numbers.ts";
import type { Build } from "./kinds.ts";
import type { LogStore } from "./log-store/log-store.ts";
import type { StoredLine } from "./log-store/record.ts";
import { timeText } from "./results-api/line-json.ts";

export interface RunLogParts {
  readonly logs: () => Promise<LogStore>;
  readonly ended: Pick<EndedBuilds, "isOver" | "onOver">;
  readonly clock: Clock;
}

/** Reads the subresource `log` of builds: one step by number, name or `stage/step`, or all steps in order of arrival.
 * Step 0 holds lines from before the first step. */
export const openBuildLog =
  (parts: RunLogParts): LogOpener =>
  async (object, part, request) => {
    const build = object as KubeObject & Build;
    const buildId = numberOfBuild(build);
    if (buildId === undefined) throw badRequest(`build ${nameOf(build)} has no number yet, and so no log`);
    const stepId = part === "" ? undefined : stepIn(build, part);
    const isWanted = wantedSince(request, parts.clock);
    const logs = await parts.logs();
    if ((build.status?.logs?.lines ?? 0) > 0 && (await logs.counts(buildId)).lines === 0)
      throw badRequest(`the log of build ${nameOf(build)} is kept by a wharf-api that is not part of this server`);
    const after = await linesBefore(logs, buildId, stepId, request);
    return textOf(linesOf(logs, buildId, stepId, request, after, parts.ended), isWanted, request, after);
  };

const nameOf = ({ metadata }: Build): string => JSON.stringify(metadata.name ?? "");

/** A step may be unknown until the worker has reported its steps; its log is then empty. */
function stepIn(build: Build, part: string): number {
  const { steps = [], stages = [] } = build.status ?? {};
  if (/^\d{1,9}$/.test(part)) return Number(part);
  const found = steps.find(({ name, stageId }) => {
    const stage = stages.find((each) => each.stageId === stageId)?.name ?? "";
    return part === name || part === `${stage}/${name}`;
  });
  if (found !== undefined) return found.stepId;
  const names = steps.map(({ name }) => name).join(" ");
  throw badRequest(`${JSON.stringify(part)} is no step of build ${nameOf(build)}, which has [${names}]`);
}

function wantedSince({ sinceSeconds, sinceTime }: LogRequest, clock: Clock): (line: StoredLine) => boolean {
  if (sinceSeconds === undefined && sinceTime === undefined) return () => true;
  const since = sinceSeconds === undefined ? parseInstant(sinceTime ?? "") : clock.now() - sinceSeconds * 1000;
  if (since === undefined)
    throw badRequest(`sinceTime must be a time as of RFC 3339, found ${JSON.stringify(sinceTime)}`);
  return ({ time }) => time.seconds * 1000 + time.nanos / 1_000_000 >= since;
}

/** Lines before those wanted, of a step or of all steps; undefined from the beginning, or if they have no numbers. */
async function linesBefore(
  logs: LogStore,
  buildId: number,
  stepId: number | undefined,
  { tailLines, fromLine }: LogRequest,
): Promise<number | undefined> {
  if (tailLines === undefined && fromLine === undefined) return undefined;
  const last = stepId === undefined ? (await logs.counts(buildId)).lines : await lastOf(logs, buildId, stepId);
  if (last === 0) return undefined;
  return tailLines === undefined ? Math.min(last, fromLine ?? 0) : Math.max(0, last - tailLines);
}

/** Yields pages of lines. */
async function* linesOf(
  logs: LogStore,
  buildId: number,
  stepId: number | undefined,
  { follow = false, signal }: LogRequest,
  after: number | undefined,
  ended: RunLogParts["ended"],
): AsyncGenerator<readonly StoredLine[], void> {
  if (!follow && stepId !== undefined) return yield* logs.step(buildId, stepId, after);
  if (!follow) return yield* byArrival(logs.lines(buildId, { after: after ?? 0, ...signalled(signal) }));
  const over = new AbortController();
  // Subscribed first, so that an end in between is not missed.
  const cancel = ended.onOver(buildId, () => over.abort());
  if (ended.isOver(buildId)) over.abort();
  try {
    const until = over.signal;
    if (stepId !== undefined && stepId > 0) yield* logs.followStep(buildId, stepId, { after, until, signal });
    // Lines before the first step may have no numbers of their own.
    else
      for await (const lines of byArrival(logs.lines(buildId, { after: after ?? 0, until, ...signalled(signal) })))
        yield stepId === undefined ? lines : lines.filter((line) => line.stepId === stepId);
  } finally {
    cancel();
  }
}

const signalled = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal });

const lastOf = async (logs: LogStore, buildId: number, stepId: number): Promise<number> =>
  (await logs.cursors(buildId)).find((cursor) => cursor.stepId === stepId)?.lastWorkerLogId ?? 0;

async function* byArrival(pages: ReturnType<LogStore["lines"]>): AsyncGenerator<readonly StoredLine[], void> {
  for await (const { lines } of pages) yield lines;
}

async function* textOf(
  pages: AsyncIterable<readonly StoredLine[]>,
  isWanted: (line: StoredLine) => boolean,
  { timestamps = false, numbered = false, limitBytes }: LogRequest,
  after = 0,
): AsyncGenerator<Uint8Array, void> {
  // A message is one line, whatever a client has sent.
  const shown = ({ time, message }: StoredLine): string =>
    numbered
      ? `${timeText(time)} - F ${message.replaceAll("\n", " ")}`
      : timestamps
        ? `${timeText(time)} ${message}`
        : message;
  if (numbered) yield Buffer.from(`${after}\n`);
  let left = limitBytes ?? Number.POSITIVE_INFINITY;
  for await (const lines of pages) {
    const text = lines
      .filter(isWanted)
      .map((line) => `${shown(line)}\n`)
      .join("");
    const bytes = Buffer.from(text).subarray(0, left);
    left -= bytes.length;
    if (bytes.length > 0) yield bytes;
    if (left <= 0) return;
  }
}
