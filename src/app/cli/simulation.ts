import type { Simulation } from "#kernel/dialect/index.ts";
import {
  type Explained,
  type RunPhase,
  type RunState,
  type SimulatedEvent,
  simulate,
  type StepKind,
  stepKinds,
  stepState,
  type StepPhase,
  unitHash,
} from "#engine/index.ts";
import { err, type Instant, type Millis, ok, type Problem, type Result } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { objectsOf, type ReadDocuments, runsIn } from "#app/runs/index.ts";
import { codeOfRun, exitCode, UsageError } from "#kernel/command/index.ts";
import { abilityOf, unknownStep } from "./runs.ts";

/** The wishes of the command line. */
export interface Wishes {
  /** `build`, `build:2`, `probe[3]`, `probe[3]:1`. */
  readonly fail: readonly string[];
  readonly reject: readonly string[];
  /** Determines the duration of each attempt, whatever else is wished, so that simulations can be compared. */
  readonly seed?: number | undefined;
}

/** An event of the run, a step or a failed item; seconds since the start. */
export interface TriedEvent extends Explained {
  readonly seconds: number;
  /** Absent for the run itself. */
  readonly step?: string;
  readonly item?: number;
  readonly phase: StepPhase;
  readonly attempt?: number;
}

export interface TriedStep extends Explained {
  readonly step: string;
  readonly phase: StepPhase;
  /** 0 for approvals and skipped steps. */
  readonly attempts: number;
  /** Since the start of the run; absent for a step that never began. */
  readonly startSeconds?: number;
  readonly endSeconds?: number;
}

/** A simulated run: the output of `-o json`. */
export interface TriedRun extends Explained {
  readonly name: string;
  /** Not final if the run waits for something outside. */
  readonly phase: RunPhase;
  readonly exitCode: number;
  readonly seconds: number;
  readonly events: readonly TriedEvent[];
  readonly steps: readonly TriedStep[];
}

export interface Trial {
  readonly object: KubeObject;
  readonly simulation: Simulation;
}

/** All runs of the documents, or the problems of all of them. A UsageError if there is none. */
export async function trialsOf(read: ReadDocuments): Promise<Result<readonly Trial[], readonly Problem[]>> {
  const beside = objectsOf(read).map(({ object }) => object);
  const trials: Trial[] = [];
  const problems: Problem[] = [];
  for (const { dialect, object } of runsIn(read)) {
    const simulation = await abilityOf(dialect, "simulation", "simulated")(object, beside);
    if (simulation.ok) trials.push({ object, simulation: simulation.value });
    else problems.push(...simulation.error);
  }
  if (problems.length > 0) return err(problems);
  if (trials.length === 0) throw new UsageError("the documents contain no run");
  return ok(trials);
}

/** Simulates one run. Throws a UsageError for unknown names. O(steps) calls of the engine. */
export function simulateRun({ object, simulation }: Trial, wishes: Wishes, start: Instant): TriedRun {
  const { plan, end, locks } = simulation;
  const kinds = stepKinds(plan);
  const failures = wishes.fail.map((text) => readFailure(text, kinds));
  for (const step of wishes.reject) checkApproval(step, kinds);
  const { run, events } = simulate(
    plan,
    {
      duration: ({ step, attempt, item }) =>
        durationOf(wishes.seed, `${step}#${attempt}#${item?.index}#${item?.attempt}`),
      end: (attempt) =>
        end(
          attempt,
          failures.some(
            ({ step, item, attempts }) =>
              step === attempt.step &&
              (item === undefined || item === attempt.item?.index) &&
              (attempt.item?.attempt ?? attempt.attempt) <= attempts,
          ),
        ),
      locks,
      decide: (step) => (wishes.reject.includes(step) ? "reject" : "approve"),
    },
    start,
  );
  const last = events.at(-1)?.at ?? start;
  return {
    name: object.metadata.name ?? object.metadata.generateName ?? "",
    phase: run.phase,
    ...explained(run),
    exitCode: run.finishedAt === undefined ? exitCode.failed : codeOfRun(run),
    seconds: secondsSince(start, run.finishedAt ?? last),
    events: events.map((event) => triedEvent(event, start)),
    steps: [...kinds.keys()].map((step) => triedStep(step, run, start)),
  };
}

const durationOf = (seed: number | undefined, attempt: string): Millis =>
  seed === undefined ? 1000 : 1000 * (1 + Math.floor(60 * unitHash(`${seed}/${attempt}`)));

/** A parsed `--fail`; every item, or every attempt, if none is named. */
interface Failure {
  readonly step: string;
  readonly item: number | undefined;
  readonly attempts: number;
}

/** Parses from the end, because names of steps may contain anything. Refuses steps that cannot fail. */
function readFailure(text: string, kinds: ReadonlyMap<string, StepKind>): Failure {
  const [, step = "", item, attempts] = /^(.*?)(?:\[(\d+)\])?(?::(\d+))?$/.exec(text) ?? [];
  checkStep(step, kinds, "--fail");
  const kind = kinds.get(step);
  if (kind === "timer" || kind === "approval" || kind === "group")
    throw new UsageError(`--fail: step "${step}" has no attempts that could fail`);
  if (item !== undefined && kind !== "fan") throw new UsageError(`--fail: step "${step}" has no items`);
  return {
    step,
    item: item === undefined ? undefined : Number(item),
    attempts: attempts === undefined ? Infinity : Number(attempts),
  };
}

function checkApproval(step: string, kinds: ReadonlyMap<string, StepKind>): void {
  checkStep(step, kinds, "--reject");
  if (kinds.get(step) !== "approval") throw new UsageError(`--reject: step "${step}" needs no approval`);
}

function checkStep(step: string, kinds: ReadonlyMap<string, StepKind>, option: string): void {
  if (!kinds.has(step)) throw unknownStep(`${option}: there is no step "${step}"`, step, [...kinds.keys()]);
}

const secondsSince = (start: Instant, at: Instant): number => (at - start) / 1000;

function triedEvent({ at, note }: SimulatedEvent, start: Instant): TriedEvent {
  const seconds = secondsSince(start, at);
  if (note.kind === "run") return { seconds, phase: note.to, ...explained(note) };
  const { step, attempt } = note;
  if (note.kind === "item") return { seconds, step, item: note.index, phase: "Failed", attempt, ...explained(note) };
  return { seconds, step, phase: note.to, attempt, ...explained(note) };
}

function triedStep(step: string, run: RunState, start: Instant): TriedStep {
  const { phase, attempt, startedAt, finishedAt, ...why } = stepState(run, step);
  return {
    step,
    phase,
    attempts: attempt,
    ...explained(why),
    ...(startedAt === undefined ? {} : { startSeconds: secondsSince(start, startedAt) }),
    ...(finishedAt === undefined ? {} : { endSeconds: secondsSince(start, finishedAt) }),
  };
}

const explained = ({ reason, message }: Explained): Explained => ({
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined ? {} : { message }),
});
