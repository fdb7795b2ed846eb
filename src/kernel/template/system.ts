import { randomFillSync } from "node:crypto";
import { type Clock, systemClock } from "#lib/base/index.ts";

/** What the module asks of its system (WASI preview 1) as WebAssembly calls it: 64-bit numbers are BigInt. */
type Call = (...given: never[]) => number;

/** WASI's error numbers: none, a file that is not open, a call that is not there. */
const success = 0;
const badFile = 8;
const notSupported = 58;

const standardError = 2;
const realtime = 0;

/** The module has ended itself: Go does so when it runs out of memory, and for bugs. No call of it is possible any more. */
class ModuleExit extends Error {}

/** Go prints why it ends before anything else; of a trace of calls the beginning is enough. */
const maxLastWords = 4096;

/**
 * The system that the module sees: two clocks, random bytes, sleep, a place for last words, and an exit. No file is open, there are
 * neither arguments nor variables, and no other call is supported. Not `node:wasi`, whose `poll_oneoff` lets V8 collect garbage where
 * it must not, which ends the process (docs/decisions/0042).
 */
export class ModuleSystem {
  readonly #memory: () => ArrayBuffer;
  readonly #clock: Clock;
  #lastWords = "";

  /** `memory` is the module's, which is there once the module is, and another one whenever it has grown. */
  constructor(memory: () => ArrayBuffer, clock: Clock = systemClock) {
    this.#memory = memory;
    this.#clock = clock;
  }

  /** The beginning of what the module has written to its standard error. */
  get lastWords(): string {
    return this.#lastWords;
  }

  /** For each name that the module imports, what it calls. */
  imports(names: readonly string[]): Record<string, Call> {
    const calls: Readonly<Record<string, Call>> = {
      clock_time_get: (clock: number, _precision: bigint, to: number) => this.#tellTime(clock, to),
      random_get: (to: number, length: number) => this.#fillRandomly(to, length),
      poll_oneoff: (from: number, to: number, _count: number, events: number) => this.#sleep(from, to, events),
      fd_write: (file: number, parts: number, count: number, written: number) =>
        this.#write(file, parts, count, written),
      proc_exit: (code: number) => {
        throw new ModuleExit(`the module has exited with ${code}`);
      },
      args_sizes_get: (count: number, size: number) => this.#tellNone(count, size),
      environ_sizes_get: (count: number, size: number) => this.#tellNone(count, size),
      args_get: () => success,
      environ_get: () => success,
      sched_yield: () => success,
      fd_prestat_get: () => badFile,
      fd_fdstat_get: () => badFile,
    };
    return Object.fromEntries(names.map((name) => [name, calls[name] ?? (() => notSupported)]));
  }

  get #view(): DataView {
    return new DataView(this.#memory());
  }

  #tellTime(clock: number, to: number): number {
    const ms = clock === realtime ? this.#clock.now() : this.#clock.monotonic();
    // Nanoseconds since 1970 are more than a number holds.
    const nanoseconds = BigInt(Math.trunc(ms)) * 1_000_000n + BigInt(Math.round((ms % 1) * 1e6));
    this.#view.setBigUint64(to, nanoseconds, true);
    return success;
  }

  #fillRandomly(to: number, length: number): number {
    randomFillSync(new Uint8Array(this.#memory(), to, length));
    return success;
  }

  #tellNone(count: number, size: number): number {
    this.#view.setUint32(count, 0, true);
    this.#view.setUint32(size, 0, true);
    return success;
  }

  /**
   * Go waits for one thing only, a time: a subscription of 48 bytes, with the mark of its owner at 0 and the nanoseconds at 24. The
   * event of 32 bytes that answers it repeats the mark, and its error and kind are 0.
   */
  #sleep(from: number, to: number, events: number): number {
    const view = this.#view;
    const ms = Number(view.getBigUint64(from + 24, true)) / 1e6;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    new Uint8Array(this.#memory(), to, 32).fill(0);
    view.setBigUint64(to, view.getBigUint64(from, true), true);
    view.setUint32(events, 1, true);
    return success;
  }

  /** Keeps the beginning of what Go has to say before it ends, and shows nobody. A part is an address and a length. */
  #write(file: number, parts: number, count: number, written: number): number {
    const view = this.#view;
    let total = 0;
    for (let at = parts; at < parts + count * 8; at += 8) {
      const length = view.getUint32(at + 4, true);
      const kept = file === standardError ? Math.min(length, maxLastWords - this.#lastWords.length) : 0;
      this.#lastWords += Buffer.from(this.#memory(), view.getUint32(at, true), kept).toString("latin1");
      total += length;
    }
    view.setUint32(written, total, true);
    return success;
  }
}
