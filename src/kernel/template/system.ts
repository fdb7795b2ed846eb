import { randomFillSync } from "node:crypto";
import { type Clock, systemClock } from "#lib/base/index.ts";

/** A call of WASI preview 1; 64-bit numbers are BigInt. */
type Call = (...given: never[]) => number;

/** WASI error numbers: success, bad file descriptor, not supported. */
const success = 0;
const badFile = 8;
const notSupported = 58;
const standardError = 2;
const realtime = 0;

/** Go exits when out of memory and on bugs. The module is unusable afterwards. */
class ModuleExit extends Error {}

/** Of Go's output before it ends; the beginning has the reason. */
const maxLastWords = 4096;

/**
 * What the module sees of a system: two clocks, random bytes, sleep, stderr and exit. No files, arguments or variables.
 * Not `node:wasi`, whose `poll_oneoff` can crash the process by collecting garbage (docs/decisions/0042).
 */
export class ModuleSystem {
  readonly #memory: () => ArrayBuffer;
  readonly #clock: Clock;
  #lastWords = "";

  /** `memory` exists only after the module, and changes when it grows. */
  constructor(memory: () => ArrayBuffer, clock: Clock = systemClock) {
    this.#memory = memory;
    this.#clock = clock;
  }

  get lastWords(): string {
    return this.#lastWords;
  }

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
    // Too large for a number.
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
   * Go waits only for a time: a subscription of 48 bytes with the owner's mark at 0 and nanoseconds at 24. The
   * answering event of 32 bytes repeats the mark; its error and kind are 0.
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

  /** Keeps the beginning of Go's last words. A part is an address and a length. */
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
