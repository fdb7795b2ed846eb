import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Report } from "#kernel/dialect/index.ts";
import { inputsOf } from "./builds/inputs.ts";
import { hasPassword } from "#kernel/git/index.ts";
import { createReporter } from "./definition/diagnostics.ts";
import { readOutline } from "./definition/outline.ts";
import { movedToken } from "./token-origin.ts";

const isInput = (value: JsonValue | undefined): boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" || secretOf(value) !== undefined;

/** The Secret key that holds the value of a password input; undefined for other values. */
export function secretOf(value: JsonValue | undefined): { readonly name: string; readonly key: string } | undefined {
  const reference = isJsonObject(value) ? value["secretKeyRef"] : undefined;
  if (!isJsonObject(reference)) return undefined;
  const { name, key } = reference;
  return typeof name === "string" && typeof key === "string" && name !== "" && key !== "" ? { name, key } : undefined;
}

export function checkBuild(spec: JsonObject, report: Report, old?: JsonObject, ownSecret?: string): void {
  const { project, inputs } = spec;
  if (typeof project !== "string" || project === "")
    report(["spec", "project"], "required", "expected the name of a Project, whose repository is cloned");
  for (const [name, value] of Object.entries(isJsonObject(inputs) ? inputs : {}))
    if (!isInput(value))
      report(["spec", "inputs", name], "wrong-type", "expected a text, number, boolean or {secretKeyRef: {name, key}}");
  checkDefinition(spec, "definition", report);
  if (old === undefined) return checkPasswords(spec, report);
  for (const field of fixed)
    if (
      old[field] !== undefined &&
      !isSame(old[field], field === "inputs" ? shownAgain(spec, old, ownSecret) : spec[field])
    )
      report(["spec", field], "immutable", "a build is immutable; create another build");
  if (old["cancel"] === true && spec["cancel"] !== true)
    report(["spec", "cancel"], "immutable", "canceling cannot be undone; create another build");
}

const isSame = (a: JsonValue | undefined, b: JsonValue | undefined): boolean => JSON.stringify(a) === JSON.stringify(b);

function shownAgain({ inputs }: JsonObject, old: JsonObject, ownSecret: string | undefined): JsonValue | undefined {
  const before = old["inputs"];
  if (!isJsonObject(inputs) || !isJsonObject(before)) return inputs;
  const moved = Object.entries(inputs).map(([name, value]): [string, JsonValue | undefined] => {
    const was = before[name];
    const [from, to] = [secretOf(was), secretOf(value)];
    const isMoved = was !== undefined && to !== undefined && (from === undefined || to.name === ownSecret);
    return [name, isMoved ? was : value];
  });
  return Object.fromEntries<JsonValue | undefined>(moved);
}

/** Password values must not be in objects, which everyone who lists builds can read. Checked for new builds that bring
 * their definition. */
function checkPasswords({ definition, inputs }: JsonObject, report: Report): void {
  const declared = typeof definition === "string" && definition !== "" ? inputsOf(definition) : undefined;
  if (declared?.ok !== true || !isJsonObject(inputs)) return;
  for (const { name, type } of declared.value)
    if (type === "password" && inputs[name] !== undefined && secretOf(inputs[name]) === undefined)
      report(["spec", "inputs", name], "wrong-type", "expected {secretKeyRef: {name, key}}, because it is a password");
}

const fixed = ["project", "buildId", "ref", "commit", "stage", "environment", "inputs", "engine", "definition"];

export function checkProject(spec: JsonObject, report: Report, old?: JsonObject): void {
  const { branches } = spec;
  const defaults = (Array.isArray(branches) ? branches : []).filter(
    (one) => isJsonObject(one) && one["default"] === true,
  );
  if (defaults.length > 1) report(["spec", "branches"], "invalid-value", "expected one default branch at most");
  checkGitUrl(["spec", "gitUrl"], spec["gitUrl"], old?.["gitUrl"], report);
  const [overrides, before] = [spec["overrides"], old?.["overrides"]];
  const urlOf = (value: JsonValue | undefined) => (isJsonObject(value) ? value["gitUrl"] : undefined);
  checkGitUrl(["spec", "overrides", "gitUrl"], urlOf(overrides), urlOf(before), report);
  const moved = old && movedToken(old, spec);
  if (moved !== undefined) report(["spec", "gitUrl"], "invalid-value", moved);
  const id = old?.["projectId"];
  if (id !== undefined && id !== spec["projectId"])
    report(["spec", "projectId"], "immutable", "the id of a project stays as it is");
}

/** An address that was there before may stay, so that the rest of the object can be changed. */
function checkGitUrl(
  place: readonly string[],
  url: JsonValue | undefined,
  before: JsonValue | undefined,
  report: Report,
): void {
  if (typeof url === "string" && url !== before && hasPassword(url))
    report(
      place,
      "invalid-value",
      "expected an address without a password; spec.tokenSecretRef names a Secret with it",
    );
}

/** An error in the definition refuses builds, not projects: it may be repaired later. */
function checkDefinition(spec: JsonObject, field: string, report: Report): void {
  const text = spec[field];
  if (typeof text !== "string") return;
  const reporter = createReporter(".wharf-ci.yml");
  readOutline(text, reporter);
  for (const { severity, code, message, position } of reporter.diagnostics())
    if (severity === "error")
      report(["spec", field], code, `${position === undefined ? "" : `line ${position.line}: `}${message}`);
}
