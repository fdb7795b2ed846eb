// Runs inside the child process of one engine and answers questions of the harness: a closed loop of load per question.
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Steps of a chain, and of a fan-out. */
export const steps = 10;
export const fan = 100;

/** Steps that have run since the last load began. */
let effects = 0;

/** The body of every step. */
export function effect() {
  effects++;
}

/** The body of a step whose engine may be killed: what it has left in the file is what was carried out. */
export function lastingEffect(run, step) {
  appendFileSync(process.env.EFFECTS, `${run} ${step}\n`);
}

/** Names of the runs of a question `startMany` or `waitMany`. */
export const namesOf = ({ runs, prefix }) => Array.from({ length: runs }, (_, index) => `${prefix}${index}`);

const quantile = (sorted, p) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))];

async function load(engine, { kind, inFlight, ms, pauseMs = 0, run }) {
  const took = [];
  effects = 0;
  const start = performance.now();
  const end = start + ms;
  let id = 0;
  const call = async (caller) => {
    do {
      const begin = performance.now();
      await engine[kind](`${run}-${id++}`, caller);
      took.push(performance.now() - begin);
      if (pauseMs > 0) await sleep(pauseMs);
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: inFlight }, (_, caller) => call(caller)));
  const elapsed = performance.now() - start;
  took.sort((a, b) => a - b);
  return { ops: took.length, ms: elapsed, p50: quantile(took, 0.5), p99: quantile(took, 0.99), effects };
}

/**
 * Each of the engine's functions carries out ONE operation of its kind and resolves when the caller knows the end of it.
 * `methods` are further questions that it answers.
 */
export function serve(engine, methods = {}) {
  const all = { ...methods, load: (options) => load(engine, options) };
  process.on("message", async ({ method, argument }) => {
    if (method === "exit") process.exit(0);
    try {
      process.send({ value: await all[method](argument) });
    } catch (error) {
      process.send({ error: String(error?.stack ?? error).slice(0, 1000) });
    }
  });
  // Nobody is left to ask.
  process.on("disconnect", () => process.exit(0));
  process.send({ ready: true });
}
