import { spawn } from "node:child_process";
import { join } from "node:path";
import { type Clock, type Millis, onAbort, sleep } from "#lib/base/index.ts";
import {
  hasEnded,
  makeDirectories,
  newUid,
  readTextIfPresent,
  refuseShared,
  replaceFile,
} from "#lib/base/index.node.ts";
import type { Courier, Delivery, EffectAnswer, OutsideRequest } from "./courier.ts";
import { readAnswer, removeEffect, sweep, takenBy, writeOrder } from "./files.ts";

export interface ProcessCourierOptions {
  /** Private, and created if it does not exist. */
  readonly directory: string;
  /** JavaScript. */
  readonly program?: string;
  readonly denied: readonly string[];
  readonly clock: Clock;
  /** Effects at the same time; more wait. Default: 16. */
  readonly width?: number;
}

/** A courier that was started by an earlier server tells nobody when it ends. */
const lookEvery: Millis = 100;

/** Answers that nobody came for. */
const keptFor: Millis = 14 * 86_400_000;

const tries = 3;

const programPath = (): string => join(import.meta.dirname, "courier.cjs");

/** Starts a detached process for each effect. */
export function processCourier(options: ProcessCourierOptions): Courier {
  const { directory } = options;
  let opened: Promise<string> | undefined;
  const open = (): Promise<string> => (opened ??= openDirectory(options));
  const slots = createSlots(options.width ?? 16);
  return {
    place: open,
    async deliver(effect, request, signal) {
      await open();
      const known = await settledOutcome(options, effect, signal);
      if (known.kind !== "absent") return known;
      return slots(() => start(options, effect, request, signal));
    },
    async outcome(effect, signal) {
      await open();
      return settledOutcome(options, effect, signal);
    },
    async forget(effects) {
      for (const effect of effects) await removeEffect(directory, effect);
    },
  };
}

/** The directory's own name, so that one that was lost is not taken for it. */
async function openDirectory({ directory, clock }: ProcessCourierOptions): Promise<string> {
  await makeDirectories(directory, 0o700);
  await refuseShared(directory);
  await sweep(directory, clock.now() - keptFor);
  const path = join(directory, "place");
  const known = await readTextIfPresent(path);
  if (known !== undefined) return known;
  const name = newUid();
  await replaceFile(path, name);
  return name;
}

async function start(
  options: ProcessCourierOptions,
  effect: string,
  request: OutsideRequest,
  signal: AbortSignal,
): Promise<Delivery> {
  const { directory, denied } = options;
  await writeOrder(directory, effect, { request, denied });
  for (let attempt = 0; attempt < tries; attempt++) {
    await runProgram(options, effect, signal);
    const outcome = await settledOutcome(options, effect, signal);
    // Not taken: it ended before it began.
    if (outcome.kind !== "absent") return outcome;
  }
  return { kind: "answer", answer: { ok: false, message: "the courier process does not start" } };
}

/** Waits for the end of the process, which goes on if the wait is aborted. */
async function runProgram(options: ProcessCourierOptions, effect: string, signal: AbortSignal): Promise<void> {
  const { directory, program = programPath() } = options;
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--no-warnings", program, directory, effect], {
      cwd: directory,
      detached: true,
      env: { PATH: "/usr/bin:/bin" },
      stdio: "ignore",
    });
    const release = onAbort(signal, () => {
      child.unref();
      reject(signal.reason as Error);
    });
    const end = (): void => {
      release();
      resolve();
    };
    child.once("error", end);
    child.once("exit", end);
  });
}

/** Waits for a courier that has taken the effect. */
async function settledOutcome(
  { directory, clock }: ProcessCourierOptions,
  effect: string,
  signal: AbortSignal,
): Promise<Delivery> {
  for (;;) {
    const owner = await takenBy(directory, effect);
    const answer = await readAnswer(directory, effect);
    if (answer !== undefined) return answered(answer);
    if (owner === undefined) return { kind: "absent" };
    if (hasEnded(owner)) {
      // It may have ended between the two looks.
      const last = await readAnswer(directory, effect);
      return last === undefined ? { kind: "unknown" } : answered(last);
    }
    await sleep(clock, lookEvery, signal);
  }
}

const answered = (answer: EffectAnswer): Delivery => ({ kind: "answer", answer });

function createSlots(width: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = width;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  };
}
