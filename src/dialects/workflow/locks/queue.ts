import { err, type Instant, type Millis, ok, type Result } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { isTerminal, type Plan, type RunState } from "#engine/index.ts";
import type { Lister } from "#kernel/kit/index.ts";
import { keyOf, type Stored } from "#kernel/model/index.ts";
import type { CompiledConcurrency, CompiledWorkflow } from "../compile/compiled.ts";
import { render } from "../compile/values.ts";
import type { Workflow } from "../kinds.ts";
import { valuesOf } from "../reconcile/attempts.ts";
import { queuedReason } from "../messages.ts";
import type { Memory } from "../reconcile/memory.ts";
import { isHolder } from "./allot.ts";
import { type Claim, holderKey, isOver } from "./claims.ts";
import type { ConcurrencyLimit } from "./kind.ts";

// A workflow with a concurrency key begins when it holds the limit of its key, and holds it to its end. Until then it is Pending: the
// engine keeps a held run from beginning, whatever would make it begin. Who gets the limit is decided where locks are given.

/** What is looked at: the workflow, and who else has its key. */
export interface QueueView {
  readonly workflow: Stored<Workflow>;
  readonly workflows: Lister<Workflow>;
  readonly limits: Lister<ConcurrencyLimit>;
  /** What workflows of a namespace wait for, in their order. */
  readonly claimsIn: (namespace: string) => readonly Claim[];
  readonly memory: Memory;
  readonly now: Instant;
}

/** Where a workflow that has not begun stands. */
export interface Queued {
  /** The key, filled in, and the limit that stands for it. */
  readonly key: string;
  readonly limitName: string;
  readonly most: number;
  /** May begin. */
  readonly isHolding: boolean;
  /** The others with the key, those that hold it first, then those that come before this one. */
  readonly before: readonly Rival[];
  readonly message?: string;
  /** After how long to look again. */
  readonly wake: Millis;
}

/** Another workflow with the same key. */
export interface Rival {
  readonly uid: string;
  readonly name: string;
  readonly isHolding: boolean;
}

/** Who waits is told at once, and anew that often at most. */
const tellEvery: Millis = 30_000;
/** A place that is given is told of; this is for one that another took in between. */
const lookAgain: Millis = 1_000;

/**
 * Where a run stands that has a concurrency key and has not begun, or has ended and may be retried. Undefined for all others. An error
 * tells that the key has no value.
 */
export function queueOf(
  view: QueueView,
  compiled: CompiledWorkflow,
  run: RunState,
): Result<Queued | undefined, string> {
  const { concurrency } = compiled;
  const isUnderWay = (run.startedAt !== undefined || run.closing !== undefined) && !isTerminal(run.phase);
  if (concurrency === undefined || isUnderWay) return ok(undefined);
  const rendered = render(concurrency.key, compiled, valuesOf({ compiled, run }, false));
  if (!rendered.ok) return err(rendered.error);
  const key = typeof rendered.value === "string" ? rendered.value : JSON.stringify(rendered.value);
  const limitName = `concurrency-${hashName([key], 20)}`;
  return ok(standing(view, concurrency, run, key, limitName));
}

function standing(
  view: QueueView,
  { most }: CompiledConcurrency,
  run: RunState,
  key: string,
  limitName: string,
): Queued {
  const { workflow, limits, memory, now } = view;
  const { uid, name, namespace } = workflow.metadata;
  const limit = limits.get(keyOf({ name: limitName, ...(namespace === undefined ? {} : { namespace }) }));
  const runNumber = isTerminal(run.phase) ? run.number + 1 : run.number;
  const found = { key, limitName, most };
  if (isHolder(limit, holderKey({ uid, name, runNumber }))) return { ...found, isHolding: true, before: [], wake: 0 };
  const before = [...holdersOf(view, limit), ...waitersBefore(view, limitName)];
  const isFull = before.length >= most;
  const at = memory.toldQueue;
  const isTold = run.message !== undefined && at !== undefined && now - at < tellEvery;
  if (!isTold && isFull) memory.toldQueue = now;
  const message = isTold ? run.message : isFull ? describe(key, before, most, memory.queueObstacle) : undefined;
  return {
    ...found,
    isHolding: false,
    before,
    ...(message === undefined ? {} : { message }),
    wake: isFull ? tellEvery : lookAgain,
  };
}

/** Those that stand in the limit and are not over, oldest first. */
const holdersOf = ({ workflow, workflows }: QueueView, limit: ConcurrencyLimit | undefined): readonly Rival[] =>
  (limit?.status?.holders ?? []).flatMap((holder) => {
    const { namespace } = workflow.metadata;
    const other = workflows.get(keyOf({ name: holder.name, ...(namespace === undefined ? {} : { namespace }) }));
    const isGone = other !== undefined && isOver(other, holder);
    return isGone || holder.uid === workflow.metadata.uid
      ? []
      : [{ uid: holder.uid, name: holder.name, isHolding: true }];
  });

/** Those that wait for the same limit and come first. */
function waitersBefore({ workflow, claimsIn }: QueueView, limitName: string): readonly Rival[] {
  const { uid, namespace = "" } = workflow.metadata;
  const waiting = claimsIn(namespace).filter(({ limits }) => limits[0] === limitName);
  const own = waiting.findIndex(({ holder }) => holder.uid === uid);
  const first = own === -1 ? waiting : waiting.slice(0, own);
  return first
    .filter(({ holder }) => holder.uid !== uid)
    .map(({ holder }) => ({ uid: holder.uid, name: holder.name, isHolding: false }));
}

const namesTold = 3;

/** `concurrency key "prod" is held by deploy-6; place 2 in the queue`. */
function describe(key: string, before: readonly Rival[], most: number, obstacle?: string): string {
  const but = obstacle === undefined ? "" : `; ${obstacle}`;
  const holding = before.filter(({ isHolding }) => isHolding).map(({ name }) => name);
  const place = before.length - holding.length + 1;
  if (holding.length === 0)
    return `concurrency key ${JSON.stringify(key)}: place ${place} in the queue, ${most} at once${but}`;
  const names = holding.slice(0, namesTold).join(", ");
  const more = holding.length > namesTold ? ` and ${holding.length - namesTold} more` : "";
  return `concurrency key ${JSON.stringify(key)} is held by ${names}${more}; place ${place} in the queue${but}`;
}

/** Those that have to end for a workflow to begin at once, of which there are too many by so many: the oldest. */
export const supersededBy = ({ before, most }: Queued): readonly Rival[] =>
  before.slice(0, Math.max(0, before.length - most + 1));

/** The plan that keeps a run from beginning. The last one is kept: the engine lays out every plan it has not seen before. */
export function heldPlan(memory: Memory, plan: Plan, message: string | undefined): Plan {
  const last = memory.heldPlan;
  if (last !== undefined && last.from === plan && last.message === message) return last.plan;
  const held = { reason: queuedReason, ...(message === undefined ? {} : { message }) };
  const made = { ...plan, policy: { ...plan.policy, held } };
  memory.heldPlan = { from: plan, message, plan: made };
  return made;
}
