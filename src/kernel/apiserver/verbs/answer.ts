import type { JsonObject } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import { bytesOf, viewOf } from "./storage-view.ts";

/** The outcome of a verb on one object. `entry` is absent for a dry run, whose `draft` was never stored. */
export type Answer = {
  readonly resource: ServedResource;
  readonly warnings: readonly string[];
  readonly created?: true;
} & ({ readonly entry: Entry } | { readonly entry?: undefined; readonly draft: JsonObject });

/** The object in the form its version serves. */
export const answerObject = (answer: Answer): JsonObject =>
  answer.entry === undefined ? answer.draft : viewOf(answer.resource, answer.entry);

/** The same as JSON bytes, which are shared and must not be changed. */
export const answerBytes = (answer: Answer): Buffer =>
  answer.entry === undefined ? Buffer.from(JSON.stringify(answer.draft)) : bytesOf(answer.resource, answer.entry);
