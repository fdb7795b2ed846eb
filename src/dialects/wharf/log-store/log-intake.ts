import type { BuildLog, Inserted } from "./build-log.ts";
import { logError } from "./errors.ts";
import type { NewLine } from "./record.ts";

/**
 * Who brings lines of one build and wants to know, once, that all of them are on the disk. While it is open the build's log stays open, so that
 * lines which the disk has refused in between are not forgotten. Close it.
 */
export class LogIntake {
  readonly #build: BuildLog;
  readonly #losses: number;
  /** Gives the build's log back. */
  readonly close: () => void;

  /** For `LogStore.intake`. */
  constructor(build: BuildLog, close: () => void) {
    this.#build = build;
    this.#losses = build.losses;
    this.close = close;
  }

  /** As `LogStore.insert`; resolves when the lines are accepted. */
  insert(lines: readonly NewLine[]): Promise<Inserted> {
    return this.#build.insert(lines);
  }

  /** Resolves when everything that was inserted here is written: the end of this process does not lose it. Rejects with `log-lost`. */
  async written(): Promise<void> {
    await this.#build.written();
    this.#check();
  }

  /** Resolves when everything that was inserted here is on the disk; rejects with `log-lost` when some of it may not be. */
  async flushed(): Promise<void> {
    await this.#build.flushed();
    this.#check();
  }

  /** Lines may have been lost while somebody else's were kept. */
  #check(): void {
    if (this.#build.losses === this.#losses) return;
    throw logError("log-lost", `log of build ${this.#build.buildId}: lines were lost on their way to the disk`, {
      hint: "send them again: those that are there are passed over",
    });
  }
}
