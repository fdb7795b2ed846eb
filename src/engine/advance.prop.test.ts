import { deadlinesOf } from "./testing/deadlines.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "#test/support/property-runs.ts";
import {
  advance,
  alwaysGate,
  createRunCache,
  effectsOf,
  type Fact,
  type GateScope,
  isActive,
  isOk,
  isTerminal,
  newRun,
  type Plan,
  pendingStep,
  reset,
  rollup,
  type RunState,
  type StepState,
  stepState,
} from "./index.ts";
import { attemptsOf, decodePhases, decodeRanges, isItemActive, isItemSettled } from "./items.ts";
import { childMoves, factOf, plans, policies, turns } from "./testing/arbitraries.ts";
import { type Call, finish, play, stepsOf, timeless } from "./testing/history.ts";

const changedSteps = ({ before, result }: Call): string[] =>
  Object.keys(result.run.steps).filter((id) => result.run.steps[id] !== before.steps[id]);

/** Calls that did not begin with a retry: within them a run only moves forward. */
const forward = (calls: readonly Call[]): Call[] =>
  calls.filter(({ before, result }) => before.number === result.run.number);

/** Of a fan-out; of other steps, none. */
const phasesOf = ({ items }: StepState): Uint8Array =>
  items === undefined ? new Uint8Array() : decodePhases(items.states, items.total);

const often = { numRuns: runs(150) };

/** What a step waits for: its dependencies, those of the groups around it, and for a final step every step of the main plan. */
function awaited(steps: ReturnType<typeof stepsOf>, id: string): string[] {
  const around = id.split("/").map((_, depth, names) => names.slice(0, depth + 1).join("/"));
  const main =
    steps.get(id)?.final === true ? [...steps].filter(([, { final }]) => !final).map(([other]) => other) : [];
  return [...around.flatMap((outer) => steps.get(outer)?.after ?? []), ...main];
}

test("(8) no step starts before all its dependencies are terminal, those of its groups and the main plan included", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      const steps = stepsOf(plan);
      const played = play(plan, script);
      const last = played.at(-1) as Call;
      for (const call of [...played, ...finish(plan, last.result.run, last.now)]) {
        for (const id of changedSteps(call)) {
          const { phase, attempt } = stepState(call.result.run, id);
          const started = phase === "Running" || phase === "Suspended" || attempt > stepState(call.before, id).attempt;
          if (!started) continue;
          for (const before of awaited(steps, id)) {
            expect(isTerminal(stepState(call.result.run, before).phase)).toBe(true);
          }
        }
      }
    }),
    often,
  );
});

test("(9) a terminal state never changes except by reset", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      for (const { before, result } of forward(play(plan, script))) {
        if (isTerminal(before.phase)) expect(result.run).toBe(before);
        for (const [id, state] of Object.entries(before.steps)) {
          if (isTerminal(state.phase)) expect(result.run.steps[id]).toBe(state);
          const now = phasesOf(stepState(result.run, id));
          for (const [at, phase] of phasesOf(state).entries()) if (isItemSettled(phase)) expect(now[at]).toBe(phase);
        }
      }
    }),
    often,
  );
});

test("(10) attempts only grow, and by one, reset included", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      for (const { before, result } of play(plan, script)) {
        for (const [id, state] of Object.entries(result.run.steps)) {
          const grown = state.attempt - stepState(before, id).attempt;
          expect(grown === 0 || grown === 1).toBe(true);
        }
      }
    }),
    often,
  );
});

test("(11) a step makes at most one attempt more than its retry limit, per run number", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      const steps = stepsOf(plan);
      for (const { result } of play(plan, script)) {
        for (const [id, { attempt, earlierAttempts = 0 }] of Object.entries(result.run.steps)) {
          const most = 1 + (steps.get(id)?.step.retry.limit ?? 0);
          expect(attempt - earlierAttempts).toBeLessThanOrEqual(most);
          for (const tries of itemTriesOf(stepState(result.run, id))) expect(tries).toBeLessThanOrEqual(most);
        }
      }
    }),
    often,
  );
});

/** Attempts of this run number for each item. */
function itemTriesOf(state: StepState): number[] {
  if (state.items === undefined) return [];
  const tries = [...attemptsOf(state.items, phasesOf(state))];
  decodeRanges(state.items.earlier, tries.length, (at, count) => {
    tries[at] = (tries[at] ?? 0) - count;
  });
  return tries;
}

const activeItems = (state: StepState): number[] =>
  [...phasesOf(state).entries()].flatMap(([at, phase]) => (isItemActive(phase) ? [at] : []));

test("(12) never more active steps than the parallelism allows, in the run and in each group", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      const steps = stepsOf(plan);
      for (const { result } of play(plan, script)) {
        const active = Object.entries(result.run.steps).flatMap(([id, state]) =>
          steps.get(id)?.step.kind === "fan"
            ? activeItems(state).map(() => id)
            : isActive(state.phase) && steps.get(id)?.step.kind === "work"
              ? [id]
              : [],
        );
        const main = active.filter((id) => steps.get(id)?.final === false);
        expect(main.length).toBeLessThanOrEqual(plan.policy.parallelism ?? Number.POSITIVE_INFINITY);
        for (const [id, { step }] of steps) {
          const items = activeItems(stepState(result.run, id));
          expect(items.length).toBeLessThanOrEqual(step.fan?.maxParallel ?? Number.POSITIVE_INFINITY);
          const inside = active.filter((one) => one.startsWith(`${id}/`));
          expect(inside.length).toBeLessThanOrEqual(step.group?.policy.parallelism ?? Number.POSITIVE_INFINITY);
        }
      }
    }),
    often,
  );
});

test("(13) facts about another attempt than the current one change nothing", () => {
  fc.assert(
    fc.property(plans(), turns(), childMoves, fc.constantFrom(-2, -1, 1, 2), (plan, script, move, off) => {
      const { result, now } = play(plan, script).at(-1) as Call;
      const fact = factOf({ ...move, off }, result.run, now);
      const facts = fact === undefined ? [] : [fact];
      expect(advance(plan, result.run, facts, now + 3).run).toEqual(advance(plan, result.run, [], now + 3).run);
    }),
    often,
  );
});

test("(14) facts commute within a call", () => {
  fc.assert(
    fc.property(plans(), turns(), turns(undefined, 6), fc.infiniteStream(fc.nat()), (plan, script, more, order) => {
      const { result, now } = play(plan, script).at(-1) as Call;
      const facts = more.flatMap(({ moves }) => moves.flatMap((move) => factOf(move, result.run, now) ?? []));
      const shuffled = facts
        .map((fact) => ({ fact, key: order.next().value ?? 0 }))
        .sort((a, b) => a.key - b.key)
        .map(({ fact }) => fact);
      expect(advance(plan, result.run, shuffled, now)).toEqual(advance(plan, result.run, facts, now));
    }),
    often,
  );
});

test("(14) facts about children commute across calls, up to timestamps", () => {
  fc.assert(
    fc.property(plans({ calm: true }), turns(childMoves), childMoves, childMoves, (plan, script, one, other) => {
      const { result, now } = play(plan, script).at(-1) as Call;
      const [a, b] = [factOf(one, result.run, now), factOf(other, result.run, now)];
      if (a?.kind !== "child" || b?.kind !== "child") return;
      // About one child: that it lives, and how it ended. Two ends contradict each other, and that a child is gone says nothing
      // before anybody has seen it.
      const states = new Set([a.state.is, b.state.is]);
      if (a.step === b.step && (!states.has("alive") || states.has("gone"))) return;
      const inOrder = (first: Fact, second: Fact) => {
        const middle = advance(plan, result.run, [first], now);
        return timeless(advance(plan, advance(plan, middle.run, [second], now).run, [], now).run);
      };
      expect(inOrder(a, b)).toEqual(inOrder(b, a));
    }),
    often,
  );
});

test("(15) advance is idempotent: again without facts, and again with the facts it was given", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      for (const { facts, now, result } of play(plan, script)) {
        expect(advance(plan, result.run, [], now).run).toBe(result.run);
        // What was ignored in this state may count in the next one: the end of a child that is only then being cancelled.
        if (result.ignored === 0) {
          expect(advance(plan, result.run, facts, now).run).toEqual(result.run);
        }
      }
    }),
    often,
  );
});

test("a cache changes nothing but the time it takes", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      for (const { before, facts, now, result } of play(plan, script)) {
        expect(advance(plan, before, facts, now, createRunCache())).toEqual(result);
        expect(advance(plan, before, facts, now)).toEqual(result);
      }
    }),
    often,
  );
});

test("a record of steps that is written in place holds what a copy of it would", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      const cache = createRunCache({ inPlace: true });
      let run = newRun;
      for (const { facts, now, result } of play(plan, script)) {
        const next = advance(plan, run, facts, now, cache);
        expect(next).toEqual(result);
        run = next.run;
      }
      expect(newRun.steps).toEqual({});
    }),
    often,
  );
});

test("what advance returns agrees with reading effects, summary and deadlines off the run", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      for (const { now, result } of play(plan, script)) {
        expect(effectsOf(plan, result.run)).toEqual(result.effects);
        const { phase, reason, message } = result.run;
        expect(rollup(plan, result.run)).toEqual(JSON.parse(JSON.stringify({ phase, reason, message })));
        const coming = deadlinesOf(plan, result.run).filter(({ at }) => at > now);
        for (const { at } of coming) expect(result.wakeAt).toBeLessThanOrEqual(at);
        expect(deadlinesOf(plan, result.run).filter(({ at }) => at <= now)).toEqual([]);
      }
    }),
    often,
  );
});

const nobody: GateScope = {
  id: "",
  run: newRun,
  success: () => true,
  failure: () => false,
  dependencies: () => [],
  state: () => pendingStep,
  main: () => undefined,
};

/** Why a step may be Succeeded now: one sentence per kind, or nothing when nothing allows it. */
function reasonToSucceed(plan: Plan, { before, facts, now, result }: Call, id: string): string | undefined {
  const { step } = stepsOf(plan).get(id) ?? {};
  const about = (fact: Fact) => fact.step === id;
  switch (step?.kind) {
    case "work":
    case "observe":
      return facts.some(
        (fact) =>
          about(fact) &&
          fact.kind === "child" &&
          fact.state.is === "succeeded" &&
          fact.attempt === stepState(before, id).attempt,
      )
        ? "its child succeeded"
        : undefined;
    case "approval":
      if (
        facts.some(
          (fact) => about(fact) && fact.kind === "action" && (fact.action === "approve" || fact.action === "resume"),
        )
      )
        return "approved";
      return step.onTimeout === "Approve" && step.timeout !== undefined ? "the time is up" : undefined;
    case "timer": {
      const due = step.due?.(nobody);
      const after = due !== undefined && "after" in due ? due.after : 0;
      return now >= (stepState(result.run, id).readyAt ?? Number.POSITIVE_INFINITY) + after ? "it is time" : undefined;
    }
    case "group":
      return [...stepsOf(plan)].every(
        ([inner, { step: spec }]) => !inner.startsWith(`${id}/`) || isOk(spec, stepState(result.run, inner)),
      )
        ? "its steps went well"
        : undefined;
    case "fan":
      return /^(\d+S)?$/.test(stepState(result.run, id).items?.states ?? "-") ? "its items went well" : undefined;
    case "barrier":
    case undefined:
      return undefined;
  }
}

test("(16) a step succeeds only by its child, an approval, the time, or its steps", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      for (const call of forward(play(plan, script))) {
        for (const id of changedSteps(call)) {
          if (stepState(call.result.run, id).phase !== "Succeeded") continue;
          expect(reasonToSucceed(plan, call, id)).toBeDefined();
        }
      }
    }),
    often,
  );
});

test("(17) a step with the default gate and a bad dependency never starts", () => {
  fc.assert(
    fc.property(plans({ gates: ["default"] }), turns(), (plan, script) => {
      const steps = stepsOf(plan);
      for (const { result } of play(plan, script)) {
        for (const [id, { after }] of steps) {
          const bad = after.some((before) => {
            const state = stepState(result.run, before);
            const spec = steps.get(before)?.step;
            return spec !== undefined && isTerminal(state.phase) && !isOk(spec, state);
          });
          const { attempt, earlierAttempts = 0, phase } = stepState(result.run, id);
          if (bad) expect(attempt === earlierAttempts && phase !== "Suspended" && phase !== "Succeeded").toBe(true);
        }
      }
    }),
    often,
  );
});

test("(18) an always() step starts in every run that is neither cancelled nor past its deadline", () => {
  const shape = { durations: false, policy: policies.map(({ deadline: _deadline, ...policy }) => policy) };
  fc.assert(
    fc.property(plans(shape), turns(childMoves), fc.nat(), (plan, script, seed) => {
      const played = play(plan, script).at(-1) as Call;
      const ends = finish(plan, played.result.run, played.now + 1, (step, attempt) =>
        (step.length + attempt + seed) % 3 === 0 ? "failed" : "succeeded",
      );
      const { run } = (ends.at(-1) as Call).result;
      for (const [id, { step, top }] of stepsOf(plan)) {
        if (top && step.gate === alwaysGate) expect(stepState(run, id).startedAt).toBeDefined();
      }
    }),
    often,
  );
});

test("(19) a run succeeds only if every step is ok; inside a group, if the group was not skipped or forgiven", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      const played = play(plan, script);
      const last = played.at(-1) as Call;
      for (const { result } of [...played, ...finish(plan, last.result.run, last.now)]) {
        if (result.run.phase !== "Succeeded") continue;
        for (const [id, { step, top }] of stepsOf(plan)) {
          const group = id.slice(0, Math.max(0, id.lastIndexOf("/")));
          if (top || stepState(result.run, group).phase === "Succeeded")
            expect(isOk(step, stepState(result.run, id))).toBe(true);
        }
      }
    }),
    often,
  );
});

test("(20) in a terminal run every step is terminal and nothing is owed", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      const played = play(plan, script).at(-1) as Call;
      for (const { result } of finish(plan, played.result.run, played.now)) {
        if (!isTerminal(result.run.phase)) continue;
        for (const id of stepsOf(plan).keys()) expect(isTerminal(stepState(result.run, id).phase)).toBe(true);
        expect(result.effects).toEqual([]);
        expect(result.wakeAt).toBeUndefined();
        expect(effectsOf(plan, result.run)).toEqual([]);
      }
    }),
    often,
  );
});

test("(21) with a fair world every run ends", () => {
  fc.assert(
    fc.property(plans(), turns(), fc.nat(), (plan, script, seed) => {
      const played = play(plan, script).at(-1) as Call;
      const ends = finish(plan, played.result.run, played.now, (step, attempt) =>
        (step.length * 7 + attempt * 3 + seed) % 2 === 0 ? "failed" : "succeeded",
      );
      expect(isTerminal((ends.at(-1) as Call).result.run.phase)).toBe(true);
    }),
    often,
  );
});

test("(22) every run that is not terminal can be cancelled", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      for (const { result, now } of play(plan, script)) {
        if (isTerminal(result.run.phase)) continue;
        const { run } = advance(plan, result.run, [{ kind: "action", action: "cancel" }], now);
        expect(["Cancelling", "Canceled"]).toContain(run.phase);
        const end = (finish(plan, run, now + 1).at(-1) as Call).result.run;
        expect(end.phase).toBe("Canceled");
      }
    }),
    { numRuns: runs(60) },
  );
});

test("(23) nothing happens before wakeAt without facts, and something is due then", () => {
  fc.assert(
    fc.property(plans(), turns(), fc.integer({ min: 0, max: 1000 }), (plan, script, share) => {
      for (const { result, now } of play(plan, script)) {
        const { run, wakeAt } = result;
        const last = wakeAt === undefined ? now + 100_000 : wakeAt - 1;
        const between = now + Math.floor(((last - now) * share) / 1000);
        expect(advance(plan, run, [], between).run).toBe(run);
        expect(advance(plan, run, [], last).run).toBe(run);
        if (wakeAt !== undefined) expect(advance(plan, run, [], wakeAt).run).not.toBe(run);
      }
    }),
    often,
  );
});

test("(24) a larger deadline never ends a run earlier", () => {
  fc.assert(
    fc.property(plans(), turns(), fc.nat({ max: 100 }), fc.nat({ max: 100 }), (plan, script, limit, more) => {
      const closedAt = (deadline: number) =>
        play({ ...plan, policy: { ...plan.policy, deadline } }, script).find(
          ({ result }) => result.run.closing === "Deadline",
        )?.now ?? Number.POSITIVE_INFINITY;
      expect(closedAt(1 + limit + more)).toBeGreaterThanOrEqual(closedAt(1 + limit));
    }),
    often,
  );
});

test("(25) a run that failed and was reset ends like one that never failed", () => {
  const shape = {
    durations: false,
    gates: ["default", "failure", "always", "true", "false"] as const,
    policy: policies.map(({ deadline: _deadline, ...policy }) => policy),
  };
  fc.assert(
    fc.property(plans(shape), fc.nat(), (plan, seed) => {
      const end = (calls: readonly Call[]): RunState => (calls.at(-1) as Call).result.run;
      const smooth = end(finish(plan, newRun, 1000));
      const rough = end(
        finish(plan, newRun, 1000, (step, n) =>
          ((step.length + step.charCodeAt(step.length - 1)) * 31 + n + seed) % 3 === 0 ? "failed" : "succeeded",
        ),
      );
      const again = reset(plan, rough);
      if (again.ok) expect(timeless(end(finish(plan, again.value, 9000)))).toEqual(timeless(smooth));
      else expect(timeless(rough)).toEqual(timeless(smooth));
    }),
    often,
  );
});

test("(26) a reset takes back the selected steps with everything behind them, and nothing else", () => {
  fc.assert(
    fc.property(
      plans({ kinds: ["work", "approval"] }),
      turns(),
      fc.option(fc.subarray(["s0", "s1", "s2"], { minLength: 1 }), { nil: undefined }),
      (plan, script, wanted) => {
        const played = play(plan, script).at(-1) as Call;
        const { run } = (
          finish(plan, played.result.run, played.now, (step) => (step === "s1" ? "failed" : "succeeded")).at(-1) as Call
        ).result;
        const steps = stepsOf(plan);
        const selected = wanted?.filter((id) => steps.has(id));
        const again = reset(plan, run, selected === undefined ? {} : { steps: selected });
        const isUnwell = (id: string) => {
          const { phase, reason } = stepState(run, id);
          return phase === "Failed" || phase === "Canceled" || (phase === "Skipped" && reason !== "ConditionFalse");
        };
        const back = new Set(selected ?? [...steps.keys()].filter(isUnwell));
        const some = back.size > 0;
        for (let size = -1; size !== back.size; ) {
          size = back.size;
          for (const [id, { after, final }] of steps)
            if ((some && final) || after.some((before) => back.has(before))) back.add(id);
        }
        expect(again.ok).toBe(some);
        if (!again.ok) return;
        expect(again.value.number).toBe(run.number + 1);
        for (const id of steps.keys()) {
          if (!back.has(id)) expect(again.value.steps[id]).toBe(run.steps[id]);
          else
            expect(stepState(again.value, id)).toMatchObject({ phase: "Pending", attempt: stepState(run, id).attempt });
        }
      },
    ),
    often,
  );
});

test("(29) fields written by a newer version survive everything, reset included", () => {
  fc.assert(
    fc.property(plans(), turns(), (plan, script) => {
      const strange = { "x-future": { deep: [1, 2] } };
      const steps = Object.fromEntries([...stepsOf(plan).keys()].map((id) => [id, { ...pendingStep, ...strange }]));
      const first: RunState = { ...newRun, ...strange, steps: { ...steps, removed: { ...pendingStep, ...strange } } };
      for (const { result } of play(plan, script, first)) {
        expect(result.run).toMatchObject(strange);
        for (const id of [...stepsOf(plan).keys(), "removed"]) expect(result.run.steps[id]).toMatchObject(strange);
        const again = reset(plan, result.run);
        if (again.ok) for (const state of Object.values(again.value.steps)) expect(state).toMatchObject(strange);
      }
    }),
    often,
  );
});
