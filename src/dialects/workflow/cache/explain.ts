import { err, formatAge, ok, parseInstant, type Result } from "#lib/base/index.ts";
import { stepState } from "#engine/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import type { CachedResult, CacheExplanation, CacheQuestion, InputChange } from "#kernel/dialect/index.ts";
import { compileWorkflow } from "../compile/compile.ts";
import type { CompiledStep, CompiledWorkflow } from "../compile/compiled.ts";
import { itemsOf, itemValues } from "../compile/for-each.ts";
import type { Workflow } from "../kinds.ts";
import { cachedReason } from "../messages.ts";
import { attemptOf, type PassState, statusOf } from "../reconcile/attempts.ts";
import { specOf } from "../spec-of.ts";
import { decodeRun } from "../state.ts";
import type { Attempt } from "../steps/executor.ts";
import { type CacheKey, cacheKeyOf } from "./key.ts";
import { CacheEntry } from "./kind.ts";
import { ageOf, originOf, resultFor } from "./lookup.ts";

/** Whether a step of a stored workflow finds a cached result, and what differs if not. Pure. */
export function explainCache(workflow: Workflow, question: CacheQuestion): Result<CacheExplanation, string> {
  const { step: key } = question;
  const compiled = compileWorkflow({ ...workflow, spec: specOf(workflow) });
  const step = compiled?.steps.get(key);
  if (compiled === undefined) return err("the workflow cannot be run as it is, or its template is not known yet");
  if (step === undefined) return err(`there is no step "${key}"`);
  if (step.cache === undefined) return err(`step "${key}" has no cache`);
  const attempt = attemptFor(workflow, compiled, step, question);
  if (!attempt.ok) return attempt;
  const found = cacheKeyOf(attempt.value);
  if (!found.ok) return found;
  if (found.value === undefined) return err(`the inputs of step "${key}" are not known yet`);
  return ok(explain(attempt.value, found.value, question));
}

function attemptFor(
  workflow: Workflow,
  compiled: CompiledWorkflow,
  step: CompiledStep,
  { item: index, now }: CacheQuestion,
): Result<Attempt, string> {
  const { metadata } = workflow;
  const { name = "", uid = "" } = metadata;
  const stored: Stored<Workflow> = {
    ...workflow,
    metadata: { ...metadata, name, uid, resourceVersion: "", creationTimestamp: "" },
  };
  const state: PassState = { workflow: stored, compiled, run: decodeRun(workflow.status), now };
  const attempt = attemptOf(state, step);
  if (step.forEach === undefined) {
    return index === undefined ? ok(attempt) : err(`step "${step.key}" has no items`);
  }
  const items = itemsOf(step, compiled, attempt.values);
  if (!items.ok) return err(items.error.error);
  const at = index ?? 0;
  const value = items.value[at];
  if (value === undefined) return err(`step "${step.key}" has ${items.value.length} items, counted from 0`);
  return ok({ ...attempt, item: { index: at, value }, values: { ...attempt.values, local: itemValues(at, value) } });
}

/** A step that used a result has recorded it; for others the entries are searched. */
function explain({ step, workflow, item, now }: Attempt, key: CacheKey, question: CacheQuestion): CacheExplanation {
  const entries = question.entries.filter(isEntry);
  const entry = entries.find(({ metadata }) => metadata.name === key.name);
  const isOwn = ({ spec }: CacheEntry): boolean =>
    spec.from.uid === workflow.metadata.uid && spec.from.step === step.key && spec.from.item === item?.index;
  const common = {
    step: step.key,
    ...(item === undefined ? {} : { item: item.index }),
    name: key.name,
    ...(entry === undefined ? {} : { entry: resultOf(entry) }),
  };
  const { reason, message = "" } = statusOf(workflow, step.key) ?? {};
  if (reason === cachedReason) return { ...common, outcome: "hit", message: `it has the ${message}`, changes: [] };
  if (entry !== undefined && !isOwn(entry)) {
    const age = `stored ${formatAge(ageOf(entry, now))} ago`;
    const isTaken = resultFor(step, entry, now) !== undefined;
    const from = `the result of ${originOf(entry)}, ${age}`;
    return isTaken
      ? { ...common, outcome: "hit", message: `a start takes ${from}`, changes: [] }
      : { ...common, outcome: "stale", message: `${from}, is not taken: ${refusalOf(step, entry, now)}`, changes: [] };
  }
  // Entries stored while the step ran did not exist for it.
  const began = stepState(decodeRun(workflow.status), step.key).startedAt ?? now;
  const others = entries.filter((one) => one !== entry && isBefore(one, began) && one.spec.from.step === step.key);
  const nearest = nearestOf(others, key);
  const told = entry === undefined ? "no result of these inputs is cached" : "the step ran and cached its result";
  if (nearest === undefined)
    return { ...common, outcome: "miss", message: `${told}; the step has no earlier result`, changes: [] };
  return { ...common, outcome: "miss", message: told, nearest: resultOf(nearest), changes: changesFrom(nearest, key) };
}

/** The server may return other kinds. */
const isEntry = (object: Stored): object is Stored<CacheEntry> => object.kind === CacheEntry.kind;

/** Stored before the step began, to the second. */
const isBefore = ({ spec }: CacheEntry, began: number): boolean => (parseInstant(spec.storedTime) ?? 0) <= began;

/** In the order in which a start checks. */
function refusalOf(step: CompiledStep, entry: Stored<CacheEntry>, now: number): string {
  if (entry.spec.writtenBy !== undefined) return `${entry.spec.writtenBy} wrote it`;
  if (ageOf(entry, now) >= (step.cache?.maxAge ?? Infinity)) return "it is older than maxAgeSeconds";
  return "it does not have all that the step declares";
}

const resultOf = ({ metadata, spec: { from, storedTime } }: Stored<CacheEntry>): CachedResult => ({
  name: metadata.name,
  workflow: from.workflow,
  step: from.step,
  ...(from.item === undefined ? {} : { item: from.item }),
  storedTime,
});

function nearestOf(entries: readonly Stored<CacheEntry>[], key: CacheKey): Stored<CacheEntry> | undefined {
  const ranked = entries.map((entry) => ({ entry, changes: changesFrom(entry, key).length }));
  ranked.sort((a, b) => a.changes - b.changes || (a.entry.spec.storedTime < b.entry.spec.storedTime ? 1 : -1));
  return ranked[0]?.entry;
}

function changesFrom({ spec: { inputs: was } }: CacheEntry, { inputs: is }: CacheKey): readonly InputChange[] {
  const fields = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort();
  return fields.flatMap((field): InputChange[] => {
    const [before, after] = [was[field], is[field]];
    if (before === after) return [];
    return [{ field, ...(before === undefined ? {} : { was: before }), ...(after === undefined ? {} : { is: after }) }];
  });
}
