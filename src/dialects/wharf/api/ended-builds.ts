import type { Cancel } from "#lib/base/index.ts";
import type { Stored } from "#kernel/model/index.ts";
import { isOver, wordOf } from "../state.ts";
import { numberOfBuild } from "../builds/numbers.ts";
import type { Records } from "../builds/records.ts";
import type { Build } from "../kinds.ts";

export class EndedBuilds {
  readonly #records: Records;
  readonly #waiting = new Map<number, Set<() => void>>();

  constructor(records: Records) {
    this.#records = records;
    const look = (build: Stored<Build>): void => {
      if (isOver(wordOf(build))) this.#end(build);
    };
    // Followers of a deleted build have seen all of it.
    records.builds.addHandler({
      add: look,
      update: (_old, build) => look(build),
      delete: (build) => this.#end(build),
    });
  }

  isOver(buildId: number): boolean {
    const build = this.#records.build(buildId);
    return build === undefined || isOver(wordOf(build));
  }

  onOver(buildId: number, run: () => void): Cancel {
    const waiting = this.#waiting.get(buildId) ?? new Set();
    this.#waiting.set(buildId, waiting.add(run));
    return () => {
      waiting.delete(run);
      if (waiting.size === 0 && this.#waiting.get(buildId) === waiting) this.#waiting.delete(buildId);
    };
  }

  #end(build: Stored<Build>): void {
    const buildId = numberOfBuild(build) ?? 0;
    const waiting = this.#waiting.get(buildId) ?? [];
    this.#waiting.delete(buildId);
    for (const run of waiting) run();
  }
}
