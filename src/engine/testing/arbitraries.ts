import fc from "fast-check";
import {
  alwaysGate,
  conditionGate,
  type Fact,
  type Fan,
  type ItemTry,
  failureGate,
  type NodeSpec,
  type Plan,
  type PlanStep,
  type RunPolicy,
  type RunState,
  type StepState,
} from "../index.ts";
import { attemptsOf, decodePhases } from "../items.ts";
import { plan, type StepLine } from "./build.ts";

/** What a generated plan may contain. Everything is on unless a law excludes it. */
export interface PlanShape {
  readonly kinds?: readonly PlanStep["kind"][];
  readonly gates?: readonly GateName[];
  readonly durations?: boolean;
  /** No limits of time, strategy `Continue` and no limits on parallel steps, in nested plans as well. */
  readonly calm?: boolean;
  readonly policy?: fc.Arbitrary<RunPolicy>;
  readonly final?: boolean;
  readonly steps?: number;
}

type GateName = "default" | "failure" | "always" | "true" | "false" | "error";

const gates: Record<GateName, Pick<PlanStep, "gate" | "afterFailure"> | object> = {
  default: {},
  failure: { gate: failureGate, afterFailure: true },
  always: { gate: alwaysGate, afterFailure: true },
  true: { gate: conditionGate(false, () => ({ ok: true, value: true })) },
  false: { gate: conditionGate(false, () => ({ ok: true, value: false })) },
  error: { gate: conditionGate(false, () => ({ ok: false, error: "no such key: x" })) },
};

const allKinds = ["work", "work", "work", "fan", "observe", "approval", "timer", "group"] as const;
const nestedKinds = ["work", "work", "work", "work", "fan", "approval"] as const;
const allGates = [
  ...(["default", "default", "default", "default", "default", "default", "default", "default"] as const),
  ...(["failure", "always", "true", "false", "error"] as const),
] as const;

const strategies = fc.constantFrom("Continue" as const, "Drain" as const, "Cancel" as const);

const isTimeless = ({ durations, calm }: PlanShape): boolean => durations === false || calm === true;

/** Any policy that lets a run end. */
export const policies: fc.Arbitrary<RunPolicy> = fc.record(
  {
    strategy: strategies,
    parallelism: fc.integer({ min: 1, max: 3 }),
    deadline: fc.integer({ min: 50, max: 500 }),
  },
  { requiredKeys: ["strategy"] },
);

/** Absent three times out of four, so that most steps have at most one limit. */
const sometimes = (max: number) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.integer({ min: 1, max }) });

const unlocked = [undefined, undefined, undefined, undefined, undefined, undefined] as const;

function line(id: string, earlier: readonly string[], shape: PlanShape): fc.Arbitrary<StepLine> {
  const duration = (max: number) => (isTimeless(shape) ? fc.constant(undefined) : sometimes(max));
  return fc.constantFrom(...(shape.kinds ?? allKinds)).chain((kind) =>
    fc
      .record({
        after: fc.subarray([...earlier], { maxLength: Math.min(3, earlier.length) }),
        gate: fc.constantFrom(...(shape.gates ?? allGates)),
        onFailure: fc.constantFrom("Fail" as const, "Fail" as const, "Continue" as const),
        priority: fc.constantFrom(0, 0, 1),
        limit: fc.constantFrom(0, 0, 1, 2),
        delay: fc.constantFrom(0, 10),
        admission: fc.constantFrom(...unlocked, "Lock" as const),
        timeout: duration(60),
        pendingTimeout: duration(30),
        deadline: duration(150),
        cancelTimeout: duration(40),
        onTimeout: fc.constantFrom("Reject" as const, "Approve" as const),
        due: fc.integer({ min: 0, max: 40 }),
        group: kind === "group" ? nestedPlan(shape) : fc.constant(undefined),
        repeat:
          kind === "work"
            ? fc.constantFrom(undefined, undefined, { maxIterations: 3, interval: 10 })
            : fc.constant(undefined),
        fan: kind === "fan" ? fans(shape) : fc.constant(undefined),
      })
      .map(({ gate, limit, delay, due, ...fields }) => ({
        id,
        kind,
        ...gates[gate],
        ...defined(fields),
        retry: { limit, delay: () => delay },
        due: () => ({ after: due }),
      })),
  );
}

const fans = ({ calm }: PlanShape): fc.Arbitrary<Fan> =>
  fc
    .record({
      count: fc.constantFrom(0, 1, 2, 3, 3),
      maxParallel: calm === true ? fc.constant(undefined) : fc.constantFrom(undefined, 1, 2),
      failFast: calm === true ? fc.constant(false) : fc.boolean(),
      admission: fc.constantFrom(...unlocked, "Lock" as const),
    })
    .map(({ count, maxParallel, failFast, admission }) => ({
      count: () => ({ count }),
      failFast,
      outputs: ["step"],
      ...defined({ maxParallel, admission }),
    }));

const nestedPlan = (shape: PlanShape): fc.Arbitrary<Plan> =>
  fc
    .tuple(
      lines("sub", 4, { ...shape, kinds: (shape.kinds ?? nestedKinds).filter((kind) => kind !== "group") }),
      shape.calm === true ? fc.constant("Continue" as const) : strategies,
      shape.calm === true ? fc.constant(undefined) : fc.constantFrom(undefined, 1),
    )
    .map(([steps, strategy, parallelism]) => plan(steps, { policy: { strategy, ...defined({ parallelism }) } }));

/** Lines in a declaration order that has nothing to do with the dependencies. */
function lines(prefix: string, most: number, shape: PlanShape): fc.Arbitrary<StepLine[]> {
  const ids = Array.from({ length: most }, (_, at) => `${prefix}${at}`);
  return fc
    .integer({ min: 1, max: most })
    .chain((count) => fc.tuple(...ids.slice(0, count).map((id, at) => line(id, ids.slice(0, at), shape))))
    .chain((drawn) => fc.shuffledSubarray(drawn, { minLength: drawn.length }));
}

/** Plans of up to eight steps, with nested and final ones. */
export const plans = (shape: PlanShape = {}): fc.Arbitrary<Plan> =>
  fc
    .tuple(
      lines("s", shape.steps ?? 6, shape),
      shape.calm === true ? fc.constant<RunPolicy>({ strategy: "Continue" }) : (shape.policy ?? policies),
      shape.final === false ? fc.constant(null) : fc.option(lines("f", 2, shape), { freq: 3 }),
      fc.constantFrom(undefined, 30, 100),
    )
    .map(([steps, policy, final, limit]) => {
      const finalPolicy: RunPolicy = {
        strategy: "Continue",
        ...(isTimeless(shape) ? {} : defined({ deadline: limit })),
      };
      return plan(steps, { policy, ...(final === null ? {} : { final: plan(final, { policy: finalPolicy }) }) });
    });

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(fields: T): Defined<T> {
  const kept: Defined<T> = { ...fields };
  for (const key in kept) if (kept[key] === undefined) delete kept[key];
  return kept;
}

/** One thing that happens; `pick` chooses the step it happens to. */
export type Move =
  | {
      readonly kind: "child";
      readonly pick: number;
      readonly is: "alive" | "gone" | "succeeded" | "failed";
      readonly retryable: boolean;
      readonly off: number;
      readonly item: number;
    }
  | {
      readonly kind: "grant";
      readonly pick: number;
      readonly granted: boolean;
      readonly named: boolean;
      readonly later: number;
      readonly item: number;
    }
  | { readonly kind: "act"; readonly pick: number; readonly action: StepAction }
  | { readonly kind: "run"; readonly action: "cancel" | "suspend" | "resume" | "retry"; readonly force: boolean };

type StepAction = "cancel" | "approve" | "reject" | "resume" | "skip";

/** Some things that are seen together, after a while. */
export interface Turn {
  readonly after: number;
  readonly moves: readonly Move[];
}

const pick = fc.nat({ max: 20 });

export const childMoves: fc.Arbitrary<Extract<Move, { kind: "child" }>> = fc.record({
  kind: fc.constant("child" as const),
  pick,
  is: fc.constantFrom("alive", "gone", "succeeded", "succeeded", "failed"),
  retryable: fc.boolean(),
  off: fc.constant(0),
  item: fc.nat({ max: 2 }),
});

export const moves: fc.Arbitrary<Move> = fc.oneof(
  { weight: 8, arbitrary: childMoves },
  { weight: 1, arbitrary: childMoves.chain((move) => fc.constantFrom(-1, 1).map((off) => ({ ...move, off }))) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("grant" as const),
      pick,
      granted: fc.boolean(),
      named: fc.boolean(),
      later: fc.constantFrom(0, 5, 20),
      item: fc.nat({ max: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("act" as const),
      pick,
      action: fc.constantFrom("cancel", "approve", "approve", "reject", "resume", "skip"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("run" as const),
      action: fc.constantFrom("cancel", "suspend", "resume", "resume", "retry"),
      force: fc.boolean(),
    }),
  },
);

export const turns = (move: fc.Arbitrary<Move> = moves, most = 12): fc.Arbitrary<Turn[]> =>
  fc.array(fc.record({ after: fc.constantFrom(0, 1, 7, 30), moves: fc.array(move, { maxLength: 3 }) }), {
    maxLength: most,
    size: "max",
  });

/** The fact a move stands for in this state; undefined when there is no step it could be about. */
export function factOf(move: Move, run: RunState, now: number): Fact | undefined {
  if (move.kind === "run") return { kind: "action", action: move.action, force: move.force, number: run.number };
  const ids = Object.keys(run.steps).sort();
  const step = ids[move.pick % Math.max(1, ids.length)];
  if (step === undefined) return undefined;
  const attempt = run.steps[step]?.attempt ?? 0;
  const item = "item" in move ? tryOf(run.steps[step], move.item, "off" in move ? move.off : 0) : undefined;
  switch (move.kind) {
    case "child":
      return {
        kind: "child",
        step,
        ...(item === undefined ? { attempt: attempt + move.off } : { attempt, item }),
        state:
          move.is === "failed"
            ? { is: "failed", reason: "Error", retryable: move.retryable }
            : move.is === "succeeded"
              ? { is: "succeeded", outputs: { step }, ...(move.retryable ? { again: true } : {}) }
              : { is: move.is },
      };
    case "grant":
      return {
        kind: "grant",
        step,
        ...(item === undefined
          ? { granted: move.granted, ...(move.named ? { attempt } : {}) }
          : { granted: move.granted, attempt, item }),
        ...(move.later > 0 ? { notBefore: now + move.later } : {}),
        reason: "Quota",
      };
    case "act":
      return { kind: "action", action: move.action, step, number: run.number };
  }
}

/** The attempt an item of a fan-out is at, or one `off` it; undefined for steps without items. */
function tryOf(state: StepState | undefined, pick: number, off: number): ItemTry | undefined {
  const items = state?.items;
  if (items === undefined || items.total === 0) return undefined;
  const index = pick % items.total;
  return { index, attempt: (attemptsOf(items, decodePhases(items.states, items.total))[index] ?? 0) + off };
}

/** Node lists, sound or broken: repeated ids, unknown names, cycles of every length. */
export const nodeLists: fc.Arbitrary<NodeSpec[]> = fc.integer({ min: 0, max: 9 }).chain((count) =>
  fc.array(
    fc.record({
      id: fc.nat({ max: count }).map((n) => `n${n}`),
      dependsOn: fc.array(
        fc.nat({ max: count + 1 }).map((n) => `n${n}`),
        { maxLength: 3 },
      ),
    }),
    { minLength: count, maxLength: count },
  ),
);

/** Acyclic node lists in an order that has nothing to do with the edges. */
export const acyclicLists: fc.Arbitrary<NodeSpec[]> = fc
  .integer({ min: 1, max: 12 })
  .chain((count) =>
    fc.tuple(
      ...Array.from({ length: count }, (_, at) =>
        fc
          .array(fc.nat({ max: Math.max(0, at - 1) }), { maxLength: at === 0 ? 0 : 4 })
          .map((before): NodeSpec => ({ id: `n${at}`, dependsOn: before.map((n) => `n${n}`) })),
      ),
    ),
  )
  .chain((nodes) => fc.shuffledSubarray(nodes, { minLength: nodes.length }));
