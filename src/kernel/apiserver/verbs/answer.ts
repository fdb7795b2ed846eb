import type { JsonObject } from "#lib/base/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import { bytesOf, viewOf } from "./storage-view.ts";

/** The outcome of a verb on one object; a dry run has a `draft` instead of an entry. */
export type Answer = {
  readonly resource: ServedResource;
  readonly warnings: readonly string[];
  readonly created?: true;
} & ({ readonly entry: Entry } | { readonly entry?: undefined; readonly draft: JsonObject });

export const answerObject = (answer: Answer): JsonObject =>
  answer.entry === undefined ? answer.draft : viewOf(answer.resource, answer.entry);

/** Its JSON bytes, shared and not to be changed. */
export const answerBytes = (answer: Answer): Buffer =>
  answer.entry === undefined ? Buffer.from(JSON.stringify(answer.draft)) : bytesOf(answer.resource, answer.entry);
