import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import { parseFieldSelector } from "./field-selector.ts";
import { parseLabelSelector } from "./label-selector.ts";
import type { Limits } from "./limits.ts";

/** Which objects of a collection a list or watch is about. */
export interface Selector {
  readonly namespace: string | undefined;
  /** True when labels and fields select everything, so that counts and raw bytes can be used. */
  readonly everything: boolean;
  /** Set when only the object of that name can match. */
  readonly name: string | undefined;
  matches(entry: Entry): boolean;
  /** Equal for selectors that select the same, so that work can be shared. */
  readonly key: string;
}

export interface SelectorRequest {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Compiles both selectors; 400 when one cannot be read. */
export function selectorOf(request: SelectorRequest, resource: ServedResource, limits: Limits): Selector {
  const { labelSelector = "", fieldSelector = "" } = request;
  const namespace = resource.type.namespaced && request.namespace !== "" ? request.namespace : undefined;
  const byLabels = parseLabelSelector(labelSelector, limits.maxSelectorLength);
  const byFields = parseFieldSelector(fieldSelector, resource, limits.maxSelectorLength);
  return {
    namespace,
    everything: byLabels === undefined && byFields === undefined,
    name: byFields?.name,
    key: JSON.stringify([namespace ?? "", labelSelector, fieldSelector]),
    matches: (entry) =>
      (namespace === undefined || entry.key.namespace === namespace) &&
      (byLabels === undefined || byLabels(entry.labels)) &&
      (byFields === undefined || byFields.matches(entry)),
  };
}
