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

// A pass over a workflow is a sequence of turns, each over the version that the last one stored: actions, observation
// of children, `advance` (engine), one write of the difference, events, effects. Any stage may end the turn. Everything
// that must survive a crash is stored before the next stage, so the next pass finds the same work.

/** A chain of steps that end at once takes one turn each. Beyond it others get their turn. */
const mostTurns = 100;

/** How often a workflow that waits for itself through others is checked, because they trigger no pass. */
const circleEvery: Millis = 10_000;

/**
 * Reconciles workflows. A pass costs one status write per turn that changes something; temporary errors are thrown and
 * retried. Empty `memories` only cost more reads.
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
        // A copy without new members is much faster.
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

/** The workflow is gone or needs no more passes. */
function forget(parts: Parts, memories: Memories, key: string): undefined {
  memories.forget(key);
  parts.kinds.forget(key);
}

/** A finished workflow needs no memory, and no mirrors unless it is being deleted. */
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
 * The stages in order; the first result ends the turn. Deletion comes first and expiry before compilation, so that a
 * workflow with an invalid spec is deleted in time.
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
  // Only before its start: later waits of others do not stop a running workflow.
  const circles = workflow.status?.startTime === undefined ? circlesOf(workflow, compiled.spec, held.workflows) : [];
  if (circles.length > 0) return await circleStage(held, circles);
  await reuseStage(held, compiled);
  const { run } = runOf(memory, workflow);
  const judged = { ...compiled, conflicts: conflictsOf(memory, workflow, compiled) };
  const action = await actionStage(held, run, (asked) => decide(asked, workflow, judged, run));
  if (action.is === "answered") return { again: workflow };
  return await runStage(held, compiled, action);
}

/** A workflow that waits for itself is invalid until the circle is broken. */
async function circleStage(pass: Pass, circles: readonly Problem[]): Promise<Turn> {
  const turn = await invalidStage(pass, circles);
  return turn.again === undefined ? { wake: turn.wake ?? circleEvery } : turn;
}

const at = (pass: Pass, workflow: Stored<Workflow>): Pass =>
  pass.workflow === workflow ? pass : { ...pass, workflow };

/** Added by admission, or else here. */
async function withFinalizer({ client, workflow }: Pass): Promise<Stored<Workflow>> {
  if (workflow.metadata.finalizers?.includes(finalizer) === true || isFinished(workflow)) return workflow;
  return await addFinalizer<Workflow>(client, Workflow, workflow, finalizer);
}

async function finalizeStage(pass: Pass): Promise<Turn> {
  const { workflow, kinds, memory, client, now, signal } = pass;
  const record = (notice: Notice): void => pass.record(workflow, notice);
  // Missing mirrors trigger a pass when they are filled.
  const sight = isLetGo(workflow) ? undefined : await kinds.sight(workflow);
  if (sight?.is === "refused") reportUnseen(memory, record, sight.message);
  if (sight !== undefined && sight.is !== "complete") return {};
  const children = kinds.controlledBy(workflow);
  return { wake: await finalizeWorkflow({ client, workflow, children, memory, now, signal, record }) };
}

async function finishedStage(pass: Pass): Promise<Turn> {
  const { client, workflow, now, signal } = pass;
  const own = await expireWorkflow(client, workflow, now, signal);
  return { wake: earliest(own, await expireChildren(pass, expiringSteps(stepSources(specOf(workflow))))) };
}

/**
 * Observes, advances, stores, reports, acts. Facts from effects stay in memory until the write succeeds; a conflict
 * loses nothing, because the effect is still owed.
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
  // A person's action is stored at once and answered afterwards.
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

function earliest(...times: readonly (Millis | undefined)[]): Millis | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
