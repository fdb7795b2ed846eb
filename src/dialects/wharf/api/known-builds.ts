import type { Cancel } from "#lib/base/index.ts";
import type { Records } from "../builds/records.ts";
import { refuse } from "../http/index.ts";
import type { KnownBuilds, ResultsApiParts } from "../results-api/parts.ts";
import { EndedBuilds } from "./ended-builds.ts";
import { statusWords } from "./json.ts";
import { tellStatus } from "./routes/builds.ts";
import type { ApiParts } from "./routes/parts.ts";

export const resultsOf = (parts: ApiParts): ResultsApiParts => ({
  stores: parts.stores,
  builds: new MirroredBuilds(parts),
  clock: parts.clock,
  log: parts.log,
});

class MirroredBuilds implements KnownBuilds {
  readonly #parts: ApiParts;
  readonly #ended: EndedBuilds;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.#ended = new EndedBuilds(this.#records);
  }

  /** Mirrored like in other routes, so that a build just returned exists. */
  has(buildId: number): boolean {
    return this.#records.build(buildId) !== undefined;
  }

  /** Results of deleted builds are refused: they may arrive after the removal. */
  takes(buildId: number): boolean {
    const build = this.#records.build(buildId);
    return build !== undefined && build.metadata.deletionTimestamp === undefined;
  }

  isOver(buildId: number): boolean {
    return this.#ended.isOver(buildId);
  }

  onOver(buildId: number, run: () => void): Cancel {
    return this.#ended.onOver(buildId, run);
  }

  async tellStatus(buildId: number, text: string): Promise<void> {
    const word = statusWords.find((known) => known === text);
    if (word === undefined)
      throw refuse("invalid-param", `status: expected one of ${statusWords.join(", ")}, found ${JSON.stringify(text)}`);
    await tellStatus(buildId, word, {}, this.#parts);
  }

  get #records(): Records {
    return this.#parts.repository.records;
  }
}
