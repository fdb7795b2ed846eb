import { hashName } from "#lib/base/index.node.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { type JsonObject, messageOf } from "#lib/base/index.ts";
import { failure } from "../ops/form.ts";
import type { ActionResult } from "../ops/provider.ts";
import { type ContextStore, type LedgerEntry, StoreFailure } from "./context-store.ts";
import type { Courier, Delivery, EffectAnswer, OutsideRequest } from "#kernel/couriers/index.ts";
import { messages } from "../messages.ts";
import type { LastEnd } from "./state.ts";

// The action ledger: intent durable before acting, answer durable after. An entry is used again by the same execution
// of a step (after a crash), and by later ones unless the step has waited in between.

export interface LedgerScope {
  readonly store: ContextStore;
  readonly courier: Courier;
  readonly step: string;
  readonly stepId: string;
  /** Distinguishes runs of one object. */
  readonly runKey: string;
  readonly execution: number;
  /** The execution may have been begun by an earlier pass. */
  readonly isContinued: boolean;
  readonly signal: AbortSignal;
  /** Called with effects whose answers the next save makes durable. */
  readonly settled: (effect: string) => void;
}

/** Drops entries that this execution may not use. */
export function openExecution({ store, step, execution }: LedgerScope, lastEnd: LastEnd): void {
  store.setEntries(
    step,
    store.entries(step).filter((entry) => {
      if (entry.execution === execution || entry.isKept === true) return true;
      return entry.isRepeated !== true && lastEnd !== "wait";
    }),
  );
}

/** Why an answer means that the effect was not made. */
type Refused = (answer: JsonObject) => string | undefined;

export async function once(
  scope: LedgerScope,
  path: string,
  attributes: readonly string[],
  request: OutsideRequest,
  refused?: Refused,
): Promise<ActionResult> {
  const hash = hashName([canonicalJson(request)], 26);
  const known = scope.store.entries(scope.step).find((entry) => isSame(scope, entry, path, hash));
  if (known?.answer !== undefined) return { kind: "continue", result: known.answer };
  if (known?.failure !== undefined) return { kind: "fail", message: known.failure };
  if (known !== undefined) return resume(scope, known, request, refused);
  const isRepeated = attributes.includes("always");
  if (scope.store.isLost && scope.isContinued && !isRepeated)
    return { kind: "fail", message: messages.unknownOutcome(nameOf(request)) };
  const number = scope.store.nextNumber();
  const entry: LedgerEntry = {
    effect: hashName([scope.runKey, scope.stepId, path, hash, number], 26),
    path,
    hash,
    execution: scope.execution,
    place: await scope.courier.place(),
    ...(attributes.includes("once") ? { isKept: true } : {}),
    ...(isRepeated ? { isRepeated } : {}),
  };
  scope.store.setEntries(scope.step, [...scope.store.entries(scope.step), entry]);
  await scope.store.save().catch((thrown: unknown) => {
    throw new StoreFailure(messageOf(thrown), { cause: thrown });
  });
  return conclude(scope, entry, request, await scope.courier.deliver(entry.effect, request, scope.signal), refused);
}

/** Within one execution the place counts, because a repeated evaluation may give another value. */
const isSame = ({ execution }: LedgerScope, entry: LedgerEntry, path: string, hash: string): boolean =>
  entry.path === path && (entry.hash === hash || entry.execution === execution);

async function resume(
  scope: LedgerScope,
  entry: LedgerEntry,
  request: OutsideRequest,
  refused: Refused | undefined,
): Promise<ActionResult> {
  const found = await scope.courier.outcome(entry.effect, scope.signal);
  // It was never begun if its files would be here.
  const isNew = found.kind === "absent" && entry.place === (await scope.courier.place());
  const delivery = isNew ? await scope.courier.deliver(entry.effect, request, scope.signal) : found;
  return conclude(scope, entry, request, delivery, refused);
}

function conclude(
  { store, step, settled }: LedgerScope,
  entry: LedgerEntry,
  request: OutsideRequest,
  delivery: Delivery,
  refused: Refused | undefined,
): ActionResult {
  const others = store.entries(step).filter(({ effect }) => effect !== entry.effect);
  const { answer } = delivery.kind === "answer" ? delivery : { answer: undefined };
  if (answer !== undefined) settled(entry.effect);
  const refusal = answer?.ok === true ? refused?.(answer.value) : undefined;
  if (refusal !== undefined) {
    store.setEntries(step, others);
    return failure(refusal);
  }
  if (answer?.ok === true) {
    store.setEntries(step, [...others, { ...entry, answer: answer.value }]);
    if (store.excess() === undefined) return { kind: "continue", result: answer.value };
  }
  const { message, isDone } = failureIn(answer, request);
  if (isDone !== true || entry.isRepeated === true) {
    store.setEntries(step, others);
    return failure(message);
  }
  const lasting = answer === undefined ? message : messages.notRepeated(message);
  store.setEntries(step, [...others, { ...entry, failure: lasting }]);
  return { kind: "fail", message: lasting };
}

/** An answer that cannot be kept is as good as lost: without it the effect would be repeated. */
function failureIn(answer: EffectAnswer | undefined, request: OutsideRequest) {
  if (answer === undefined) return { message: messages.unknownOutcome(nameOf(request)), isDone: true };
  if (!answer.ok) return answer;
  const bytes = Buffer.byteLength(JSON.stringify(answer.value));
  return { message: messages.answerTooLarge(nameOf(request), bytes), isDone: true };
}

/** Without anything that could be secret, such as the query of a URL. */
function nameOf(request: OutsideRequest): string {
  switch (request.kind) {
    case "http":
      return `${request.method} ${hostOf(request.url)}`;
    case "email":
      return `the mail to ${request.to.join(", ")}`;
    case "command":
      return `command ${request.argv[0] ?? ""}`;
  }
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "an invalid URL");
