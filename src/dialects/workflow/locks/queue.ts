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

// A workflow with a concurrency key holds the key's limit from its start to its end.

export interface QueueView {
  readonly workflow: Stored<Workflow>;
  readonly workflows: Lister<Workflow>;
  readonly limits: Lister<ConcurrencyLimit>;
  readonly claimsIn: (namespace: string) => readonly Claim[];
  readonly memory: Memory;
  readonly now: Instant;
}

export interface Queued {
  /** The rendered key, and the limit's name. */
  readonly key: string;
  readonly limitName: string;
  readonly most: number;
  readonly isHolding: boolean;
  /** Rivals that hold it, then those ahead in the queue. */
  readonly before: readonly Rival[];
  readonly message?: string;
  readonly wake: Millis;
}

export interface Rival {
  readonly uid: string;
  readonly name: string;
  readonly isHolding: boolean;
}

/** Reported at once, then at most this often. */
const tellEvery: Millis = 30_000;
const lookAgain: Millis = 1_000;

/** The position of a run that has a key and has not begun. An error means that the key has no value. */
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

const holdersOf = ({ workflow, workflows }: QueueView, limit: ConcurrencyLimit | undefined): readonly Rival[] =>
  (limit?.status?.holders ?? []).flatMap((holder) => {
    const { namespace } = workflow.metadata;
    const other = workflows.get(keyOf({ name: holder.name, ...(namespace === undefined ? {} : { namespace }) }));
    const isGone = other !== undefined && isOver(other, holder);
    return isGone || holder.uid === workflow.metadata.uid
      ? []
      : [{ uid: holder.uid, name: holder.name, isHolding: true }];
  });

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

/** The oldest that must end for this workflow to start now. */
export const supersededBy = ({ before, most }: Queued): readonly Rival[] =>
  before.slice(0, Math.max(0, before.length - most + 1));

/** Keeps a run from starting. The last plan is reused, because the engine lays out every new one. */
export function heldPlan(memory: Memory, plan: Plan, message: string | undefined): Plan {
  const last = memory.heldPlan;
  if (last !== undefined && last.from === plan && last.message === message) return last.plan;
  const held = { reason: queuedReason, ...(message === undefined ? {} : { message }) };
  const made = { ...plan, policy: { ...plan.policy, held } };
  memory.heldPlan = { from: plan, message, plan: made };
  return made;
}
