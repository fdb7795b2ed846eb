import { type Instant, isJsonObject, type JsonObject, numberAt, parseInstant, textAt } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { recordsIn } from "./store/codec.ts";
import type { Job } from "./objects.ts";
import { type EndedJob, endedJobs } from "./times.ts";

/** What the stored machine says of its task list. */
export interface TaskListState {
  readonly entries: readonly string[];
  /** -1: before the first; the length: done. Undefined until the server has completed what was written. */
  readonly cursor: number | undefined;
  readonly job: Job | undefined;
  readonly isRunnable: boolean;
  readonly isAvailable: boolean;
  readonly errors: readonly string[];
  readonly context: string;
  readonly stage: string;
  /** When the list was begun. */
  readonly begun: Instant | undefined;
  /** Of this pass of the list, by entry. */
  readonly ended: ReadonlyMap<number, readonly EndedJob[]>;
}

export function stateOf({ spec, status }: KubeObject): TaskListState {
  const fields: JsonObject = isJsonObject(spec) ? spec : {};
  const now: JsonObject = isJsonObject(status) ? status : {};
  // Before a direct edit has its effects, the state is the one before it.
  const isPending = now["writes"] === undefined || now["before"] !== undefined;
  const begun = parseInstant(textAt(now, "begun") ?? "");
  return {
    entries: textsIn(fields["Tasks"]),
    cursor: isPending ? undefined : (numberAt(fields, "CurrentTask") ?? 0),
    job: recordsIn(fields).current,
    isRunnable: fields["Runnable"] === true,
    isAvailable: now["available"] === true,
    errors: textsIn(now["errors"]),
    context: textAt(fields, "Context") ?? "",
    stage: textAt(fields, "Stage") ?? "",
    begun,
    ended: endedJobs(textAt(now, "times") ?? "", begun ?? 0),
  };
}

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];

/** Entries by which the machine changes; no agent runs them. */
export const isRoll = (entry: string): boolean => /^(?:stage|bootenv|context):/.test(entry);

/** A job that a person ended. */
export const isCanceled = ({ State, ExitState }: Job): boolean => State === "failed" && ExitState === "stop";

/** Unique ids of the entries: their texts, with `#2` and so on for repeated ones. */
export function entryIds(entries: readonly string[]): readonly string[] {
  const seen = new Map<string, number>();
  return entries.map((entry) => {
    const count = (seen.get(entry) ?? 0) + 1;
    seen.set(entry, count);
    return count === 1 ? entry : `${entry}#${count}`;
  });
}
