import { labelMatcher, type LabelSelector, parseLabelSelector } from "#kernel/kit/index.ts";
import { badRequest } from "#kernel/model/index.ts";
import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import { compileFieldSelector } from "./field-selector.ts";
import type { Limits } from "./limits.ts";

export interface Selector {
  readonly namespace: string | undefined;
  /** True when everything matches, so that counts and raw bytes can be used. */
  readonly everything: boolean;
  /** Set when only the object of that name can match. */
  readonly name: string | undefined;
  matches(entry: Entry): boolean;
  /** Estimated time of matching in milliseconds, mostly for parsing. */
  costOf(entry: Entry): number;
  /** Equal for selectors that select the same, so that work can be shared. */
  readonly key: string;
}

/** An empty namespace means all; kinds without namespaces ignore it. */
export interface SelectorRequest {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** Bytes parsed, and labels looked up, in a millisecond. */
const parsedBytes = 64 * 1024;
const lookedUpLabels = 5000;

/** Compiles both selectors; 400 when one is invalid. */
export function selectorOf(request: SelectorRequest, resource: ServedResource, limits: Limits): Selector {
  const { labelSelector = "", fieldSelector = "" } = request;
  const namespace = resource.type.namespaced && request.namespace !== "" ? request.namespace : undefined;
  checkLength("label", labelSelector, limits);
  checkLength("field", fieldSelector, limits);
  const byLabels = readLabels(labelSelector);
  const matchesLabels = labelMatcher(byLabels);
  const byFields = compileFieldSelector(fieldSelector, resource);
  return {
    namespace,
    everything: byLabels.length === 0 && byFields === undefined,
    name: byFields?.name,
    costOf: (entry) =>
      (byFields?.readsObjects === true ? entry.bytes.length / parsedBytes : 0) +
      (byLabels.length > 0 ? Object.keys(entry.labels).length / lookedUpLabels : 0),
    key: JSON.stringify([namespace ?? "", labelSelector, fieldSelector]),
    matches: (entry) =>
      (namespace === undefined || entry.key.namespace === namespace) &&
      matchesLabels(entry.labels) &&
      (byFields === undefined || byFields.matches(entry)),
  };
}

/** Checked first: parsing costs grow with the length. */
function checkLength(which: string, text: string, { maxSelectorLength }: Limits): void {
  if (text.length <= maxSelectorLength) return;
  throw badRequest(`the ${which} selector is longer than ${maxSelectorLength} characters`);
}

function readLabels(text: string): LabelSelector {
  const parsed = parseLabelSelector(text);
  if (parsed.ok) return parsed.value;
  throw badRequest(`unable to parse the label selector ${JSON.stringify(text.slice(0, 200))}: ${parsed.error}`);
}
