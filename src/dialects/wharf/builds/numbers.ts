import type { Build, Project } from "../kinds.ts";
import { highestNumber } from "../schema/fields.ts";

// Clients of the REST API know builds and projects by numbers, which are one above the highest. Objects that were asked for over REST are named
// after theirs, so that no two can have one; others keep their names and are given a number by the controller.

/** Gives numbers above all that it has seen. */
export class Numbers {
  #highest = 0;

  /** What is above the bound is passed over: nothing could be given above it, and counting ends where numbers are no longer exact. */
  saw(number: number | undefined): void {
    if (number !== undefined && number > this.#highest && number <= highestNumber) this.#highest = number;
  }

  /** Given to nobody else by this process. */
  next(): number {
    this.#highest += 1;
    return this.#highest;
  }
}

/** The number that a name tells: `build-7` is 7. Undefined for a name that tells none, or one above the bound. */
export function numberIn(prefix: string, name: string | undefined): number | undefined {
  const digits = name?.startsWith(`${prefix}-`) === true ? name.slice(prefix.length + 1) : "";
  return /^[1-9]\d{0,12}$/.test(digits) && Number(digits) <= highestNumber ? Number(digits) : undefined;
}

export const buildPrefix = "build";
export const projectPrefix = "project";

/** The number of a build; undefined before it was given one. */
export const numberOfBuild = ({ spec }: Build): number | undefined => spec.buildId;
export const numberOfProject = ({ spec }: Project): number | undefined => spec.projectId;
