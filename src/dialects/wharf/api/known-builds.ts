import type { Cancel } from "#lib/base/index.ts";
import type { Records } from "../builds/records.ts";
import { refuse } from "../http/index.ts";
import type { KnownBuilds, ResultsApiParts } from "../results-api/parts.ts";
import { EndedBuilds } from "./ended-builds.ts";
import { statusWords } from "./json.ts";
import { tellStatus } from "./routes/builds.ts";
import type { ApiParts } from "./routes/parts.ts";

/** What routes of results know of builds: what is mirrored. */
export const resultsOf = (parts: ApiParts): ResultsApiParts => ({
  stores: parts.stores,
  builds: new MirroredBuilds(parts),
  clock: parts.clock,
  log: parts.log,
});

/** Builds as they are mirrored. */
class MirroredBuilds implements KnownBuilds {
  readonly #parts: ApiParts;
  readonly #ended: EndedBuilds;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.#ended = new EndedBuilds(this.#records);
  }

  /** As other routes see it, so that a build that was just answered is there. */
  has(buildId: number): boolean {
    return this.#records.build(buildId) !== undefined;
  }

  /** What comes of a deleted build is not kept: it may come after everything of it was removed. */
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

  /** As `PUT /status`, with the word alone. */
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
