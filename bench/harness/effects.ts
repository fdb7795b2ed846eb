import { existsSync, readFileSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const pollMs = 2;
/** Whoever has carried out nothing for so long has ended, or waits for somebody who is dead. */
const quietMs = 500;
const patienceMs = 180_000;

/**
 * What steps have left in a file: one line `RUN STEP` each, written when it begins. Runs of this window are those whose names begin
 * with `prefix`.
 */
export class Effects {
  readonly prefix: string;
  readonly #path: string;

  constructor(path: string, prefix: string) {
    this.#path = path;
    this.prefix = prefix;
  }

  /** Waits until as many steps have begun. */
  async reach(count: number): Promise<void> {
    const end = performance.now() + patienceMs;
    let size = -1;
    for (;;) {
      const now = this.#size();
      // Read only when it has grown: it is looked at often.
      if (now !== size && this.#lines().length >= count) return;
      size = now;
      if (performance.now() > end)
        throw new Error(`${this.#lines().length} steps have begun, ${count} were waited for`);
      await sleep(pollMs);
    }
  }

  /** How many steps have begun when no more do. */
  async settled(): Promise<number> {
    let size = this.#size();
    for (let since = performance.now(); performance.now() - since < quietMs; ) {
      await sleep(pollMs);
      const now = this.#size();
      if (now === size) continue;
      size = now;
      since = performance.now();
    }
    return this.#lines().length;
  }

  /** Steps that have begun more than once. Throws when one of `runs` times `steps` never has. */
  repeatsOf(runs: number, steps: number): number {
    const lines = this.#lines();
    const distinct = new Set(lines);
    if (distinct.size !== runs * steps) throw new Error(`${distinct.size} of ${runs * steps} steps have ever begun`);
    return lines.length - distinct.size;
  }

  #size(): number {
    return existsSync(this.#path) ? statSync(this.#path).size : 0;
  }

  #lines(): readonly string[] {
    if (!existsSync(this.#path)) return [];
    return readFileSync(this.#path, "latin1")
      .split("\n")
      .filter((line) => line.startsWith(this.prefix));
  }
}
