import { isTerminal, type RunState, stepState } from "#engine/index.ts";
import { isConflict, type Stored } from "#kernel/model/index.ts";
import { isExecuted } from "../compile/step-source.ts";
import type { ChildReference } from "../kinds.ts";
import { Workflow } from "../kinds.ts";
import { notices, noticesBetween } from "../messages.ts";
import type { Pass } from "./pass.ts";
import { attemptOf, type PassState } from "./attempts.ts";
import { type StatusFacts, statusAfter, withOutputs } from "./summary.ts";

/** Stores all changes of a pass in one write, then reports them. Undefined if unchanged. Throws on a conflict. */
export async function storeStage(
  pass: Pass,
  state: PassState,
  before: RunState,
  facts: StatusFacts,
): Promise<Stored<Workflow> | undefined> {
  const { workflow, client, memory, signal } = pass;
  const { generation } = workflow.metadata;
  const isObserved = generation === undefined || workflow.status?.observedGeneration === generation;
  // A key changed before the start means another limit.
  const isQueued = facts.queued === undefined || workflow.status?.concurrency?.limitName === facts.queued.limitName;
  if (state.run === before && isObserved && (isQueued || isTerminal(before.phase))) return undefined;
  const { run, outputs } = withOutputs(state);
  const references = withIntents({ ...state, run }, before, facts.references, pass);
  const status = statusAfter({ ...state, run }, before, { ...facts, references });
  const { apiVersion, kind, metadata, spec } = workflow;
  const next = { apiVersion, kind, metadata, spec, status: outputs === undefined ? status : { ...status, outputs } };
  const stored = await client.updateStatus<Workflow>(Workflow, next, { signal }).catch((thrown: unknown) => {
    if (isConflict(thrown)) pass.tally.statusConflict();
    throw thrown;
  });
  memory.known = { resourceVersion: stored.metadata.resourceVersion, stored: run, run };
  if (workflow.status?.observedGeneration === undefined) pass.record(stored, notices.created(workflow.metadata.name));
  for (const notice of noticesBetween(before, run)) pass.record(stored, notice);
  return stored;
}

/** References for the status. Names are stored with the intent, so that children are found after a crash. */
function withIntents(
  state: PassState,
  before: RunState,
  seen: ReadonlyMap<string, ChildReference>,
  { executors }: Pass,
): ReadonlyMap<string, ChildReference> {
  const references = new Map(seen);
  for (const key of Object.keys(state.run.steps)) {
    const old = before.steps[key];
    const step = stepState(state.run, key);
    // A fan-out has too many; names follow from the items.
    if (step === old || step.phase !== "Starting" || (old?.phase === "Starting" && old.attempt === step.attempt))
      continue;
    const compiled = state.compiled.steps.get(key);
    if (compiled === undefined || !isExecuted(compiled.type)) continue;
    const reference = executors[compiled.type].reference(attemptOf(state, compiled));
    if (reference !== undefined) references.set(key, reference);
  }
  return references;
}
