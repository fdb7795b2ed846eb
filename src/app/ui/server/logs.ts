import type { StepPhase, StepView } from "#engine/index.ts";
import { ApiError, badRequest } from "#kernel/model/index.ts";
import { childrenOf, readStepLog, type StepLog, stepLogs } from "#app/runs/index.ts";
import type { LogLine, LogMatches, LogPage } from "../wire.ts";
import type { PageCaller } from "#kernel/apiserver/index.ts";
import type { UiContext } from "./context.ts";
import { LineLog } from "./line-log.ts";
import { matchesIn } from "./search-lines.ts";
import { wholeNumber } from "./reply.ts";
import { findRun, type RunName } from "./run-detail.ts";

const mostLines = 5000;
const mostBytes = 2 * 1024 * 1024;
const mostMatches = 10_000;
/** Marks of logs are kept for so many logs. */
const mostKept = 500;

/** Positions in logs, shared by all readers; the logs themselves are read with the rights of each. */
export class LogIndex {
  readonly #logs = new Map<string, LineLog>();

  of(log: StepLog): LineLog {
    const key = JSON.stringify([log.uid, log.container, log.of.name, log.attempt]);
    const found = this.#logs.get(key) ?? new LineLog(log);
    this.#logs.delete(key);
    this.#logs.set(key, found);
    const [oldest] = this.#logs.keys();
    if (this.#logs.size > mostKept && oldest !== undefined) this.#logs.delete(oldest);
    return found;
  }
}

export interface LogRead {
  readonly context: UiContext;
  readonly caller: PageCaller;
  readonly logs: LogIndex;
  readonly run: RunName;
  /** `step`, `attempt`, and what the kind of reading takes. */
  readonly query: URLSearchParams;
  readonly signal: AbortSignal;
}

/** The logs of a step, one behind the other, as if they were one. */
export interface StepLogs {
  readonly logs: readonly StepLog[];
  readonly parts: readonly LineLog[];
  readonly isOver: boolean;
}

export async function logsOfStep({ context, caller, logs, run, query, signal }: LogRead): Promise<StepLogs> {
  const { dialect, object } = await findRun(caller.client, context.dialects, run, signal);
  const children = await childrenOf(caller.client, object, dialect);
  const { steps } = dialect.runs.view(object, children);
  const step = stepIn(steps, query.get("step") ?? "");
  const attempt = wholeNumber(query, "attempt", { least: 0, most: 1_000_000, initial: 0 });
  const found = await stepLogs(caller.client, step, attempt === 0 ? undefined : attempt);
  return { logs: found, parts: found.map((log) => logs.of(log)), isOver: hasEnded(step) };
}

const ended: ReadonlySet<StepPhase> = new Set(["Succeeded", "Failed", "Canceled", "Skipped"]);

/** Not all dialects tell when. */
const hasEnded = ({ phase, finishedAt }: StepView): boolean => finishedAt !== undefined || ended.has(phase);

function stepIn(steps: readonly StepView[], id: string): StepView {
  const [only, ...others] = steps;
  if (id === "" && only !== undefined && others.length === 0) return only;
  const found = steps.find((step) => step.id === id);
  if (found !== undefined) return found;
  if (id === "") throw badRequest("step: expected the id of a step");
  throw new ApiError("NotFound", `the run has no step ${JSON.stringify(id)}`);
}

/** Lines `from` on, or the last ones for a negative number. Begins later if earlier lines are not kept. */
export async function logPage(read: LogRead): Promise<LogPage> {
  const { query, caller, signal } = read;
  const from = wholeNumber(query, "from", { least: -1e9, most: 1e9, initial: 0 });
  const count = wholeNumber(query, "count", { least: 0, most: mostLines, initial: 500 });
  const { logs, parts, isOver } = await logsOfStep(read);
  const totals = await countsOf(parts, read);
  const total = totals.reduce((sum, one) => sum + one, 0);
  if (total === 0) return { from: 0, lines: [], total, isOver, ...(await whyNone(logs, read)) };
  const start = from < 0 ? Math.max(0, total + from) : Math.min(from, total);
  const lines: LogLine[] = [];
  let first: number | undefined;
  let bytes = 0;
  let before = 0;
  for (const [index, part] of parts.entries()) {
    if (lines.length >= count || bytes > mostBytes) break;
    const own = totals[index] ?? 0;
    const skipped = Math.max(0, start - before);
    if (skipped < own) {
      const stop = new AbortController();
      for await (const { number, line } of part.lines(caller.client, skipped, AbortSignal.any([signal, stop.signal]))) {
        if (lines.length >= count || bytes > mostBytes) break;
        first ??= before + number;
        lines.push(line);
        bytes += line.text.length;
      }
      stop.abort();
    }
    before += own;
  }
  const begin = first ?? start;
  return { from: begin, lines, total: Math.max(total, begin + lines.length), isOver };
}

/** What the server says instead of a log, such as that its container was never started. */
async function whyNone(logs: readonly StepLog[], { caller, signal }: LogRead): Promise<Pick<LogPage, "why">> {
  for (const log of logs) {
    let why: string | undefined;
    for await (const _chunk of readStepLog(caller.client, log, { limitBytes: 1, signal }, (told) => (why = told)));
    if (why !== undefined) return { why };
  }
  return {};
}

/** The whole log as it was written, every byte. */
export async function* rawLog(read: LogRead): AsyncGenerator<Uint8Array, void> {
  const { logs } = await logsOfStep(read);
  for (const log of logs) yield* readStepLog(read.caller.client, log, { signal: read.signal });
}

async function countsOf(parts: readonly LineLog[], { caller, signal }: LogRead): Promise<readonly number[]> {
  const totals: number[] = [];
  for (const part of parts) totals.push(await part.count(caller.client, signal));
  return totals;
}

/** Lines that hold the text as it is shown, without regard to case. */
export async function searchLog(read: LogRead): Promise<LogMatches> {
  const { query, caller, signal } = read;
  const wanted = (query.get("text") ?? "").toLowerCase();
  if (wanted === "" || wanted.length > 1000) throw badRequest("text: expected 1 to 1000 characters");
  const { logs, parts } = await logsOfStep(read);
  const lines: number[] = [];
  let count = 0;
  let before = 0;
  for (const [index, part] of parts.entries()) {
    const log = logs[index];
    if (log === undefined) break;
    const first = await part.first(caller.client, signal);
    for await (const line of matchesIn(readStepLog(caller.client, log, { signal }), wanted)) {
      count += 1;
      if (lines.length < mostMatches) lines.push(before + first + line);
    }
    before += await part.count(caller.client, signal);
  }
  return { count, lines };
}
