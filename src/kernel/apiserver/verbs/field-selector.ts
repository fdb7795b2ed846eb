import type { ServedResource } from "../kinds/served-resource.ts";
import type { Entry } from "../store/store.ts";
import { badRequest } from "./refusals.ts";
import { viewOf } from "./storage-view.ts";

/** A compiled field selector. `name` is set when only the object of that name can match. */
export interface FieldSelector {
  readonly name: string | undefined;
  matches(entry: Entry): boolean;
}

interface Term {
  readonly label: string;
  readonly value: string;
  readonly equal: boolean;
}

/** Compiles `a=b,c!=d`; undefined when it selects everything; 400 for bad syntax and for labels the kind does not support. */
export function parseFieldSelector(
  text: string,
  resource: ServedResource,
  maxLength: number,
): FieldSelector | undefined {
  if (text.length > maxLength) throw badRequest(`the field selector is longer than ${maxLength} characters`);
  if (text.trim() === "") return undefined;
  const terms = splitTerms(text).map(parseTerm);
  for (const { label } of terms) checkLabel(label, resource);
  return {
    name: terms.find(({ label, equal }) => equal && label === "metadata.name")?.value,
    matches: (entry) => terms.every((term) => (fieldOf(entry, term.label, resource) === term.value) === term.equal),
  };
}

function checkLabel(label: string, resource: ServedResource): void {
  if (label === "metadata.name" || label === "metadata.namespace" || resource.fieldLabels.includes(label)) return;
  throw badRequest(`field label not supported: ${label}`);
}

function fieldOf(entry: Entry, label: string, resource: ServedResource): string {
  if (label === "metadata.name") return entry.key.name;
  if (label === "metadata.namespace") return entry.key.namespace;
  return resource.fieldValue(viewOf(resource, entry), label) ?? "";
}

/** Splits at commas that no backslash precedes. Empty terms (a comma at the end) are dropped, as Kubernetes does. */
function splitTerms(text: string): readonly string[] {
  return (text.match(/(?:\\[^]|[^\\,])+/g) ?? []).filter((term) => term.trim() !== "");
}

function parseTerm(term: string): Term {
  const match = /^((?:\\[^]|[^\\=!])+)(==|!=|=)([^]*)$/.exec(term);
  if (match === null)
    throw badRequest(`invalid field selector ${JSON.stringify(term)}: expected name=value or name!=value`);
  const [, label = "", operator, value = ""] = match;
  return { label: label.trim(), value: unescape(value, term), equal: operator !== "!=" };
}

function unescape(value: string, term: string): string {
  if (!/^(?:\\[\\,=]|[^\\,=])*$/.test(value)) {
    throw badRequest(
      `invalid field selector ${JSON.stringify(term)}: "=" and "," in a value need a backslash before them`,
    );
  }
  return value.replaceAll(/\\([\\,=])/g, "$1");
}
