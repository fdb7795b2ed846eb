import type { Millis, Problem } from "#lib/base/index.ts";
import { advance, isTerminal } from "#engine/index.ts";
import { addFinalizer, type Reconciler, type ReconcileResult } from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import type { CompiledWorkflow } from "./compile/compiled.ts";
import { expiringSteps } from "./compile/expiring.ts";
import { stepSources } from "./compile/step-source.ts";
import { Workflow, isFinished } from "./kinds.ts";
import { lockFacts, lockWake } from "./locks/stage.ts";
import { finalizer, type Notice, notices } from "./messages.ts";
import { specOf } from "./spec-of.ts";
import { type ActionStep, actionStage, answerStage, decide, hasOpenActions } from "./reconcile/actions.ts";
import { cacheStage } from "./reconcile/cached.ts";
import { circlesOf } from "./reconcile/circle.ts";
import { entryOf, supersedeStage, withRefusal } from "./reconcile/entry.ts";
import { effectStage } from "./reconcile/effects.ts";
import { finalizeWorkflow, isLetGo, reportUnseen } from "./reconcile/finalize.ts";
import { expireChildren, expireWorkflow } from "./reconcile/finished.ts";
import { invalidStage } from "./reconcile/invalid.ts";
import { compilationOf, conflictsOf, type Memories, runOf } from "./reconcile/memory.ts";
import { observeSteps } from "./reconcile/observe.ts";
import type { Parts, Pass, Turn } from "./reconcile/pass.ts";
import { quietStage } from "./reconcile/quiet.ts";
import { keepResults } from "./reconcile/results.ts";
import { resolveStage } from "./reconcile/resolve.ts";
import { actingFor } from "./writer.ts";
import { reuseStage } from "./reconcile/reuse.ts";
import { storeStage } from "./reconcile/store.ts";
import { strayStage } from "./reconcile/strays.ts";

// One pass over one workflow. A pass is a row of turns, each over the version the one before has stored; a turn is:
//
//   actions -> observe children -> advance (engine) -> store the difference -> tell of it -> act
//
// Every stage may end the turn. What has to survive a crash is in the stored version before the next stage begins, so a pass may
// end anywhere and the next one finds the same work in the status.

/** Turns of one pass; a chain of steps that end at once takes one per step. Beyond it others get their turn. */
const mostTurns = 100;

/** How often a workflow that waits for itself by way of others is looked at again: they do not tell it of their changes. */
const circleEvery: Millis = 10_000;

/**
 * Brings workflows closer to their end. A pass costs one status write per turn that changed something, and none otherwise; it
 * throws what may pass (a conflict, a server away), and the queue tries again. `memories` is only a shortcut: with empty ones
 * the same is done with more reads.
 */
export function workflowReconciler(parts: Parts, memories: Memories): Reconciler {
  return {
    async reconcile(request, context) {
      const key = keyOf(request);
      let workflow = parts.workflows.get(key);
      let pass: Pass | undefined;
      for (let turns = 0; turns < mostTurns; turns++) {
        if (workflow === undefined) return forget(parts, memories, key);
        const memory = memories.of(key, workflow);
        const { signal, log } = context;
        const changes = { workflow, memory, now: parts.clock.now() };
        // A copy that gains no members costs a fraction of one that does.
        pass = pass === undefined ? { ...parts, ...changes, key, signal, log } : { ...pass, ...changes };
        const turn = await passOver(pass);
        if (turn.again === undefined) return rest(parts, memories, key, workflow, turn);
        workflow = turn.again;
        signal.throwIfAborted();
      }
      return { requeueAfter: 0 };
    },
  };
}

/** The workflow is gone, or needs no further passes of its own accord. */
function forget(parts: Parts, memories: Memories, key: string): undefined {
  memories.forget(key);
  parts.kinds.forget(key);
}

/** A finished workflow needs no memory, and no mirrors of foreign kinds unless its deletion looks for children in them. */
function rest(
  parts: Parts,
  memories: Memories,
  key: string,
  workflow: Stored<Workflow>,
  { wake }: Turn,
): ReconcileResult | undefined {
  const isLeaving = workflow.metadata.deletionTimestamp !== undefined;
  if (isFinished(workflow) && !isLeaving) forget(parts, memories, key);
  return wake === undefined ? undefined : { requeueAfter: Math.max(0, wake) };
}

/**
 * One turn: the stages in their order. A stage that answers ends the turn. Deletion comes before everything else, and the age of a
 * finished workflow before compilation: one whose specification would be refused today must still go when its time is over.
 */
async function passOver(pass: Pass): Promise<Turn> {
  if (pass.workflow.metadata.deletionTimestamp !== undefined) return await finalizeStage(pass);
  if (isFinished(pass.workflow) && !hasOpenActions(pass)) return await finishedStage(pass);
  const found = at(pass, await withFinalizer(pass));
  const resolution = await resolveStage(found);
  if (resolution.is === "unresolved") return await invalidStage(found, resolution.problems, resolution.reason);
  const held = at(found, actingFor(found.workflow, resolution.writers));
  const { memory, workflow } = held;
  const { compiled, problems } = compilationOf(memory, workflow, resolution);
  if (compiled === undefined) return await invalidStage(held, problems);
  // Only before its start: a run that goes on is not held by what others have begun to wait for.
  const circles = workflow.status?.startTime === undefined ? circlesOf(workflow, compiled.spec, held.workflows) : [];
  if (circles.length > 0) return await circleStage(held, circles);
  await reuseStage(held, compiled);
  const { run } = runOf(memory, workflow);
  const judged = { ...compiled, conflicts: conflictsOf(memory, workflow, compiled) };
  const action = await actionStage(held, run, (asked) => decide(asked, workflow, judged, run));
  if (action.is === "answered") return { again: workflow };
  return await runStage(held, compiled, action);
}

/** What would wait for itself is as invalid as one that says so itself, until one of the circle is corrected or gone. */
async function circleStage(pass: Pass, circles: readonly Problem[]): Promise<Turn> {
  const turn = await invalidStage(pass, circles);
  return turn.again === undefined ? { wake: turn.wake ?? circleEvery } : turn;
}

/** The pass over this version of the workflow; usually it is the one it has. */
const at = (pass: Pass, workflow: Stored<Workflow>): Pass =>
  pass.workflow === workflow ? pass : { ...pass, workflow };

/** Servers with our admission have put it there already; elsewhere it takes one more write. */
async function withFinalizer({ client, workflow }: Pass): Promise<Stored<Workflow>> {
  if (workflow.metadata.finalizers?.includes(finalizer) === true || isFinished(workflow)) return workflow;
  return await addFinalizer<Workflow>(client, Workflow, workflow, finalizer);
}

/** The end of a deleted workflow. */
async function finalizeStage(pass: Pass): Promise<Turn> {
  const { workflow, kinds, memory, client, now, signal } = pass;
  const record = (notice: Notice): void => pass.record(workflow, notice);
  // The mirrors that are missing ask for a pass when they are filled.
  const sight = isLetGo(workflow) ? undefined : await kinds.sight(workflow);
  if (sight?.is === "refused") reportUnseen(memory, record, sight.message);
  if (sight !== undefined && sight.is !== "complete") return {};
  const children = kinds.controlledBy(workflow);
  return { wake: await finalizeWorkflow({ client, workflow, children, memory, now, signal, record }) };
}

/** After its end a workflow only grows old. */
async function finishedStage(pass: Pass): Promise<Turn> {
  const { client, workflow, now, signal } = pass;
  const own = await expireWorkflow(client, workflow, now, signal);
  return { wake: earliest(own, await expireChildren(pass, expiringSteps(stepSources(specOf(workflow))))) };
}

/**
 * The heart of a pass: look, advance, store, tell, act. Facts that only carrying out an effect has shown come from memory and are
 * forgotten once the store stage is through: until then a conflict loses nothing, because the effect is still owed.
 */
async function runStage(seen: Pass, compiled: CompiledWorkflow, action: ActionStep): Promise<Turn> {
  const { memory, now, signal, executors } = seen;
  const known = runOf(memory, seen.workflow);
  const conflicts = conflictsOf(memory, seen.workflow, compiled);
  const looking = { workflow: seen.workflow, compiled, run: known.run, now };
  const observed = await observeSteps(looking, executors, memory, conflicts, signal);
  const workflow = actingFor(seen.workflow, observed.writers);
  const pass = at(seen, workflow);
  const before = { ...looking, workflow };
  const locks = lockFacts(pass, compiled, known.run);
  const entry = entryOf(pass, compiled, known.run);
  if (!entry.ok) return await invalidStage(pass, entry.error);
  const given = [...locks, ...entry.value.facts, ...(action.is === "apply" ? [action.fact] : [])];
  const facts = [...observed.facts, ...memory.facts, ...given];
  const most = pass.slots.mostOf(workflow, compiled, known.run);
  const plan = memory.sharedPlan.of(entry.value.plan, most);
  const first = advance(plan, known.run, facts, now, memory.cache);
  const { next, cachedItems } = cacheStage(pass, before, plan, first);
  if (next.ignored > 0) pass.tally.ignoredFacts(next.ignored);
  const state = { ...before, run: withRefusal(next.run, entry.value) };
  // What a person asked for is stored at once, and answered only after that.
  const quiet = action.is === "apply" ? undefined : quietStage(pass, known, state);
  const references = new Map([...observed.references, ...memory.references]);
  const { queued } = entry.value;
  const statusFacts = { references, conflicts, ...(queued === undefined ? {} : { queued }) };
  const slots = { before: known.run, after: next.run, most };
  const store = () => storeStage(pass, state, known.stored, statusFacts);
  const stored = quiet === undefined ? await pass.slots.storing(workflow, compiled, slots, store) : undefined;
  memory.facts = [];
  memory.references = new Map();
  for (const [step, count] of stored === undefined ? [] : cachedItems)
    pass.record(stored ?? workflow, notices.itemsCached(step, count));
  if (stored !== undefined) await keepResults(at(pass, stored), state, observed.results);
  await answerStage(pass, action, stored ?? workflow);
  if (stored !== undefined && isTerminal(next.run.phase)) return { again: stored };
  strayStage(pass, compiled);
  const current = at(pass, stored ?? workflow);
  const inQueue = await supersedeStage(current, compiled, entry.value, next.run);
  const acted = await effectStage(
    current,
    { ...state, workflow: current.workflow },
    next.effects,
    stored !== undefined,
  );
  if (acted.again) return { again: current.workflow };
  const due = next.wakeAt === undefined ? undefined : next.wakeAt - pass.clock.now();
  return {
    wake: earliest(
      due,
      acted.wake,
      quiet,
      observed.pollAfter,
      inQueue,
      lockWake(current, compiled, next.run),
      await expireChildren(current, compiled.expiring),
    ),
  };
}

/** The smallest of the times that are known. */
function earliest(...times: readonly (Millis | undefined)[]): Millis | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
