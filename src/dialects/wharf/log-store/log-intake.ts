import type { BuildLog, Inserted } from "./build-log.ts";
import { logError } from "./errors.ts";
import type { NewLine } from "./record.ts";

/** Keeps a build's log open for a sender, so that lines lost in between are noticed. Must be closed. */
export class LogIntake {
  readonly #build: BuildLog;
  readonly #losses: number;
  readonly close: () => void;

  constructor(build: BuildLog, close: () => void) {
    this.#build = build;
    this.#losses = build.losses;
    this.close = close;
  }

  insert(lines: readonly NewLine[]): Promise<Inserted> {
    return this.#build.insert(lines);
  }

  async written(): Promise<void> {
    await this.#build.written();
    this.#check();
  }

  async flushed(): Promise<void> {
    await this.#build.flushed();
    this.#check();
  }

  #check(): void {
    if (this.#build.losses === this.#losses) return;
    throw logError("log-lost", `log of build ${this.#build.buildId}: lines were lost on their way to the disk`, {
      hint: "send them again; lines that are already stored are skipped",
    });
  }
}
