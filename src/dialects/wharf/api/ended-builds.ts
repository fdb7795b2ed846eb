import type { Cancel } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { isOver, wordOf } from "../build-status.ts";
import { numberOfBuild } from "../builds/numbers.ts";
import type { Records } from "../builds/records.ts";
import type { Build } from "../kinds.ts";

/** Which builds have ended, for those who wait for it. One handler for all of them, however many builds and readers there are. */
export class EndedBuilds {
  readonly #records: Records;
  /** Who waits for an end, by build; empty sets are not kept. */
  readonly #waiting = new Map<number, Set<() => void>>();

  constructor(records: Records) {
    this.#records = records;
    const look = (build: Stored<Build>): void => {
      if (isOver(wordOf(build))) this.#end(build);
    };
    // Who follows a build that is deleted has seen everything of it.
    records.builds.addHandler({
      add: look,
      update: (_old, build) => look(build),
      delete: (build) => this.#end(build),
    });
  }

  /** A build that has gone is over, too. */
  isOver(buildId: number): boolean {
    const build = this.#records.build(buildId);
    return build === undefined || isOver(wordOf(build));
  }

  /** Calls `run` once when it is over. */
  onOver(buildId: number, run: () => void): Cancel {
    const waiting = this.#waiting.get(buildId) ?? new Set();
    this.#waiting.set(buildId, waiting.add(run));
    return () => {
      waiting.delete(run);
      if (waiting.size === 0 && this.#waiting.get(buildId) === waiting) this.#waiting.delete(buildId);
    };
  }

  /** Wakes everybody once. */
  #end(build: Stored<Build>): void {
    const buildId = numberOfBuild(build) ?? 0;
    const waiting = this.#waiting.get(buildId) ?? [];
    this.#waiting.delete(buildId);
    for (const run of waiting) run();
  }
}
