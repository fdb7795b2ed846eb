import {
  err,
  type FieldPath,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ok,
  type Result,
} from "#lib/base/index.ts";
import type { CelReference } from "#lib/cel/index.ts";
import { subdomainRule } from "#kernel/model/index.ts";
import type { Param, WorkflowStep } from "../kinds.ts";
import type { Report } from "#kernel/dialect/index.ts";
import type { StepType } from "./step-source.ts";

// Values of secret parameters stay unknown here: an argument names a key of a Secret.

export const secretNames = (params: readonly Param[] = []): ReadonlySet<string> =>
  new Set(params.flatMap(({ name, secret }) => (secret === true ? [name] : [])));

/** Rules about values, which nobody reads. */
const meaningless = ["enum", "pattern", "minimum", "maximum", "items"] as const satisfies readonly (keyof Param)[];

export function checkSecretDeclaration(param: Param, at: FieldPath, report: Report): void {
  if (param.type !== undefined && param.type !== "string")
    report([...at, "type"], "forbidden", "a secret parameter is a text: its type must be absent or string");
  for (const field of meaningless)
    if (param[field] !== undefined) report([...at, field], "forbidden", "the value of a secret parameter is not read");
  if (param.default !== undefined)
    for (const problem of secretObjections(param.default)) report([...at, "default"], "invalid-default", problem);
}

const form = "{secretKeyRef: {name: SECRET, key: KEY}}";
const keyShape = /^[-._a-zA-Z0-9]{1,253}$/;

/** Never repeats the argument: it may be the secret itself. */
export function secretObjections(value: JsonValue): readonly string[] {
  const reference = isJsonObject(value) && Object.keys(value).length === 1 ? value["secretKeyRef"] : undefined;
  if (reference === undefined || !isJsonObject(reference))
    return [`expected a key of a Secret, ${form}: the parameter is secret, and its value is never written down`];
  const { name, key, optional, ...others } = reference;
  const found: string[] = [];
  if (typeof name !== "string" || subdomainRule(name) !== undefined)
    found.push(`expected the name of a Secret at secretKeyRef.name, as in ${form}`);
  if (typeof key !== "string" || !keyShape.test(key))
    found.push(`expected a key of a Secret at secretKeyRef.key: letters, digits, "-", "_" and "."`);
  if (optional !== undefined && typeof optional !== "boolean")
    found.push("expected true or false at secretKeyRef.optional");
  if (Object.keys(others).length > 0) found.push("expected name, key and optional in secretKeyRef, and nothing else");
  return found;
}

/** Reads `NAME/KEY`; neither can hold a slash. */
export function parseSecretArgument(text: string): Result<JsonValue, string> {
  const [name = "", key = "", ...rest] = text.split("/");
  const value: JsonObject = { secretKeyRef: { name, key } };
  const isRight = rest.length === 0 && secretObjections(value).length === 0;
  return isRight
    ? ok(value)
    : err("expected SECRET/KEY, the name of a Secret and a key in it: the parameter is secret");
}

/** The parameter in `${{ params.token }}`, if that is the whole text. */
export function wholeParam(text: JsonValue | undefined): string | undefined {
  if (typeof text !== "string") return undefined;
  const match = /^\$\{\{\s*params(?:\.([A-Za-z_]\w*)|\["([^"\\]*)"\]|\['([^'\\]*)'\])\s*\}\}$/.exec(text);
  return match?.slice(1).find((name) => name !== undefined);
}

/** Why a reference may not be here, if its parameter is secret. */
export function secretMisuse({ path }: CelReference, secrets: ReadonlySet<string>): string | undefined {
  if (secrets.size === 0) return undefined;
  const [name] = path;
  const places =
    "stands only as a whole, as valueFrom of a container's variable or as an argument for a secret parameter";
  if (name === undefined) return `params holds secret parameters (${[...secrets].join(", ")}), each of which ${places}`;
  return secrets.has(name) ? `the secret parameter "${name}" ${places}` : undefined;
}

export function secretPlaces(type: StepType, step: WorkflowStep): (path: FieldPath) => boolean {
  if (type === "workflow") return (path) => path.length === 1 && takesSecret(step.workflow?.spec, String(path[0]));
  if (type === "container") return (path) => isVariable(path);
  return type === "jobTemplate" || type === "template" ? (path) => isVariable(variableIn(path)) : () => false;
}

/** The template's parameters are unknown; they are checked when the child is created. */
function takesSecret(spec: JsonObject | undefined, name: string): boolean {
  const params: readonly JsonValue[] = Array.isArray(spec?.["params"]) ? spec["params"] : [];
  const declared = params.filter(isJsonObject).find((param) => param["name"] === name);
  return declared === undefined || declared["secret"] === true;
}

/** The field within a container of a Pod, at any depth. */
function variableIn(path: FieldPath): FieldPath {
  const [pod, list, index] = path.slice(-6, -3);
  const isContainer = pod === "spec" && (list === "containers" || list === "initContainers");
  return isContainer && typeof index === "number" ? path.slice(-3) : [];
}

/** `env[0].valueFrom` of a container. */
const isVariable = (path: FieldPath): boolean =>
  path.length === 3 && path[0] === "env" && typeof path[1] === "number" && path[2] === "valueFrom";
