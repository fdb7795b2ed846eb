import { closeSync, fdatasyncSync, fsyncSync, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { sized } from "./sizes.ts";
import { median } from "./statistics.ts";

/** How long a fixed piece of work took, in milliseconds: what the machine can give at this moment. */
export interface Probe {
  /** A fixed loop over integers, about 50 ms on an idle core. */
  readonly loop: number;
  /** Twenty flushes of 4 KiB. */
  readonly flush: number;
}

const loopTurns = sized(40_000_000);
const flushes = sized(20);
const block = Buffer.alloc(4096, "x");

/** Measures the machine itself, before and after every window. */
export class Probes {
  readonly taken: Probe[] = [];
  readonly #file: number;

  constructor(directory: string) {
    const path = join(directory, "probe");
    this.#file = openSync(path, "w+");
    // Preallocated: a growing file is flushed half as fast.
    writeSync(this.#file, Buffer.alloc(block.length * flushes), 0, block.length * flushes, 0);
    fsyncSync(this.#file);
    unlinkSync(path);
  }

  take(): Probe {
    const probe = { loop: timed(spin), flush: timed(() => this.#flush()) };
    this.taken.push(probe);
    return probe;
  }

  /** The middle of all probes so far. */
  get median(): Probe {
    return { loop: median(this.taken.map(({ loop }) => loop)), flush: median(this.taken.map(({ flush }) => flush)) };
  }

  close(): void {
    closeSync(this.#file);
  }

  #flush(): void {
    for (let index = 0; index < flushes; index++) {
      writeSync(this.#file, block, 0, block.length, index * block.length);
      fdatasyncSync(this.#file);
    }
  }
}

/** True when a probe differs from the usual by more than the factor two: somebody else is using the machine. */
export function isDisturbed(probe: Probe, usual: Probe): boolean {
  const differs = (a: number, b: number) => a > 2 * b || b > 2 * a;
  return differs(probe.loop, usual.loop) || differs(probe.flush, usual.flush);
}

function timed(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

function spin(): number {
  let sum = 0;
  for (let turn = 0; turn < loopTurns; turn++) sum = (sum + (turn ^ (sum << 1))) | 0;
  return sum;
}
