import type { Build, Project } from "../kinds.ts";
import { highestNumber } from "../schema/fields.ts";

// REST clients know builds and projects by number. Objects created over REST are named after it, so it is unique;
// others get one from the controller.

export class Numbers {
  #highest = 0;

  /** Numbers above the bound are ignored: nothing could follow them. */
  saw(number: number | undefined): void {
    if (number !== undefined && number > this.#highest && number <= highestNumber) this.#highest = number;
  }

  next(): number {
    this.#highest += 1;
    return this.#highest;
  }
}

export function numberIn(prefix: string, name: string | undefined): number | undefined {
  const digits = name?.startsWith(`${prefix}-`) === true ? name.slice(prefix.length + 1) : "";
  return /^[1-9]\d{0,12}$/.test(digits) && Number(digits) <= highestNumber ? Number(digits) : undefined;
}

export const buildPrefix = "build";
export const projectPrefix = "project";

export const numberOfBuild = ({ spec }: Build): number | undefined => spec.buildId;
export const numberOfProject = ({ spec }: Project): number | undefined => spec.projectId;
