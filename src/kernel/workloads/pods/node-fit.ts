import type { NodeRequirement, NodeTerm, PodSpec } from "../pod-types.ts";
import type { Node } from "./pod-fields.ts";

// Whether a pod may run on this machine, as the scheduler decides it; preferences have no effect.

/** All labels of the selector and one of the required terms. */
export function fitsNode({ nodeSelector, affinity }: PodSpec, { name, labels }: Node): boolean {
  const selected = Object.entries(nodeSelector ?? {}).every(([label, value]) => valueIn(labels, label) === value);
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const fields = { "metadata.name": name };
  return selected && (terms === undefined || terms.some((term) => meets(term, labels, fields)));
}

type Values = Readonly<Record<string, string>>;

const valueIn = (values: Values, key: string): string | undefined =>
  Object.hasOwn(values, key) ? values[key] : undefined;

function meets({ matchExpressions = [], matchFields = [] }: NodeTerm, labels: Values, fields: Values): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((one) => isMet(one, valueIn(labels, one.key))) &&
    matchFields.every((one) => isMet(one, valueIn(fields, one.key)))
  );
}

function isMet({ operator, values = [] }: NodeRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
      return isNumber(value) && isNumber(values[0]) && BigInt(value) > BigInt(values[0]);
    case "Lt":
      return isNumber(value) && isNumber(values[0]) && BigInt(value) < BigInt(values[0]);
  }
}

const isNumber = (text: string | undefined): text is string => text !== undefined && /^-?\d+$/.test(text);
