import type { StepPhase, StepView } from "#engine/index.ts";
import type { JsonValue, Millis } from "#lib/base/index.ts";

export interface ComparedStep {
  readonly id: string;
  readonly name: string;
  readonly left?: ComparedSide;
  readonly right?: ComparedSide;
  /** Of the right one over the left one, if both have ended. */
  readonly moreMs?: Millis;
  /** What is different, beside the duration: `phase`, `outputs`. */
  readonly changed: readonly string[];
}

export interface ComparedSide {
  readonly phase: StepPhase;
  readonly ms?: Millis;
  readonly attempt: number;
  readonly message?: string;
  readonly outputs?: JsonValue;
}

type TimedStep = Pick<
  StepView,
  "id" | "name" | "phase" | "startedAt" | "finishedAt" | "attempt" | "message" | "outputs"
>;

/** Steps of two runs by id, in the order of the right one; steps that only the left one has are last. */
export function compareSteps(left: readonly TimedStep[], right: readonly TimedStep[]): readonly ComparedStep[] {
  const before = new Map(left.map((step) => [step.id, step]));
  const present = new Set(right.map(({ id }) => id));
  return [...right, ...left.filter(({ id }) => !present.has(id))].map(({ id, name }) => {
    const [one, other] = [before.get(id), right.find((step) => step.id === id)];
    const [a, b] = [one === undefined ? undefined : sideOf(one), other === undefined ? undefined : sideOf(other)];
    return {
      id,
      name,
      ...(a === undefined ? {} : { left: a }),
      ...(b === undefined ? {} : { right: b }),
      ...(a?.ms === undefined || b?.ms === undefined ? {} : { moreMs: b.ms - a.ms }),
      changed: a === undefined || b === undefined ? [] : changesOf(a, b),
    };
  });
}

const sideOf = ({ phase, startedAt, finishedAt, attempt, message, outputs }: TimedStep): ComparedSide => ({
  phase,
  attempt,
  ...(startedAt === undefined || finishedAt === undefined ? {} : { ms: finishedAt - startedAt }),
  ...(message === undefined ? {} : { message }),
  ...(outputs === undefined ? {} : { outputs }),
});

const compared = ["phase", "attempt", "message", "outputs"] as const;

const changesOf = (a: ComparedSide, b: ComparedSide): readonly string[] =>
  compared.filter((field) => JSON.stringify(a[field]) !== JSON.stringify(b[field]));

/** The part of an object's YAML that a person has written, without what the server adds. */
export function specPart(yaml: string): string {
  const lines = yaml.split("\n");
  const from = lines.findIndex((line) => line.startsWith("spec:"));
  if (from < 0) return "";
  const length = lines.slice(from + 1).findIndex((line) => /^\S/.test(line));
  return lines.slice(from, length < 0 ? lines.length : from + 1 + length).join("\n");
}
