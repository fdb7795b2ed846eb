import { type Instant, isJsonObject, type JsonObject, type Millis, parseInstant } from "#lib/base/index.ts";
import type { ChildState } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { CompiledStep } from "../compile/compiled.ts";
import { cachedReason } from "../messages.ts";
import type { Attempt } from "../steps/executor.ts";
import { cacheKeyOf } from "./key.ts";
import type { CacheEntry } from "./kind.ts";

/** `stale`: a result exists but must not be used for this step. */
export type CacheOutcome = "hit" | "miss" | "stale";

export type FindEntry = (namespace: string | undefined, name: string) => Stored<CacheEntry> | undefined;

/** `state` is how the attempt ends without a child. */
export interface Looked {
  readonly outcome: CacheOutcome;
  readonly state?: ChildState;
}

/** Looks up the result of an attempt that has not begun. Undefined for steps that do not or cannot use the cache. */
export function lookUp(attempt: Attempt, find: FindEntry): Looked | undefined {
  const { step, workflow, now } = attempt;
  const key = cacheKeyOf(attempt);
  if (!key.ok) {
    const why = { reason: "ExpressionError", message: key.error, retryable: false };
    return { outcome: "miss", state: { is: "failed", ...why } };
  }
  if (key.value === undefined) return undefined;
  const entry = find(workflow.metadata.namespace, key.value.name);
  if (entry === undefined) return { outcome: "miss" };
  const given = resultFor(step, entry, now);
  if (given === undefined) return { outcome: "stale" };
  const message = `result of ${originOf(entry)}`;
  return { outcome: "hit", state: { is: "succeeded", reason: cachedReason, message, ...given } };
}

/** `step "build" of Workflow "ci-41"`, whose log has the output. */
export const originOf = ({ spec: { from } }: Pick<CacheEntry, "spec">): string =>
  `step "${from.step}"${from.item === undefined ? "" : `, item ${from.item},`} of Workflow "${from.workflow}"`;

/** Never negative, in case the clock was set back. */
export const ageOf = ({ spec }: Pick<CacheEntry, "spec">, now: Instant): Millis =>
  Math.max(0, now - (parseInstant(spec.storedTime) ?? -Infinity));

interface Taken {
  readonly outputs?: JsonObject;
  readonly artifacts?: JsonObject;
}

/** What the step gets; undefined if the entry is too old, being deleted, forged, or incomplete. */
export function resultFor(step: CompiledStep, entry: Stored<CacheEntry>, now: Instant): Taken | undefined {
  const { maxAge = Infinity } = step.cache ?? {};
  const { outputs, artifacts, writtenBy } = entry.spec;
  if (entry.metadata.deletionTimestamp !== undefined || writtenBy !== undefined) return undefined;
  if (ageOf(entry, now) >= maxAge) return undefined;
  // A child Workflow declares its outputs itself.
  const isChild = step.type === "workflow" && step.forEach === undefined && step.outputs.length === 0;
  const needed = step.outputs.map(({ name }) => name);
  const given = isChild ? objectOf(outputs) : membersOf(outputs, needed, needed);
  const left = step.leaves.map(({ name }) => name);
  const files = membersOf(
    artifacts,
    left,
    step.leaves.flatMap(({ name, optional }) => (optional === true ? [] : [name])),
  );
  if (given === undefined || files === undefined) return undefined;
  return {
    ...(Object.keys(given).length === 0 ? {} : { outputs: given }),
    ...(Object.keys(files).length === 0 ? {} : { artifacts: files }),
  };
}

const objectOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

/** The named members; undefined if a needed one is missing. */
function membersOf(value: unknown, names: readonly string[], needed: readonly string[]): JsonObject | undefined {
  const stored = objectOf(value);
  if (!needed.every((name) => Object.hasOwn(stored, name))) return undefined;
  return Object.fromEntries(names.flatMap((name) => (Object.hasOwn(stored, name) ? [[name, stored[name]]] : [])));
}
