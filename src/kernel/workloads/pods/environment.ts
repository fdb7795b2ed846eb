import { err, ok, type Result } from "#lib/base/index.ts";
import { expandVariables } from "#lib/text/index.ts";
import type { Container, EnvSource, EnvVar, KeySelector, PodObject } from "../pod-types.ts";
import { sourceKey, type Sources } from "./config-sources.ts";
import { fieldValue, type Node, resourceValue } from "./pod-fields.ts";

// The variables of a container. Later sources win: first the base (PATH, HOME, HOSTNAME, SLIPWAY_OUTPUT), then
// `envFrom` (whole ConfigMaps and Secrets), then `env`, in which only `value` is expanded. Kubernetes also adds
// variables for Services.

type Variables = Readonly<Record<string, string>>;

export interface EnvironmentInput {
  readonly pod: PodObject;
  readonly container: Container;
  readonly node: Node;
  readonly sources: Sources;
  readonly base: Variables;
}

/** A container's environment, or every reason against it. Later variables see earlier ones as `$(NAME)`. */
export function containerEnvironment(input: EnvironmentInput): Result<Variables, readonly string[]> {
  // Without a prototype: `constructor` and `__proto__` are ordinary names.
  const env: Record<string, string> = Object.assign(Object.create(null), input.base);
  const problems: string[] = [];
  for (const source of input.container.envFrom ?? []) {
    const values = valuesOf(source, input.sources);
    if (!values.ok) problems.push(values.error);
    else for (const [name, value] of values.value) env[name] = value;
  }
  for (const variable of input.container.env ?? []) {
    const value = valueOf(variable, env, input);
    if (!value.ok) problems.push(value.error);
    else if (value.value !== undefined) env[variable.name] = value.value;
  }
  return problems.length === 0 ? ok(env) : err(problems);
}

function valueOf(variable: EnvVar, env: Variables, input: EnvironmentInput): Result<string | undefined, string> {
  const from = variable.valueFrom;
  if (from === undefined) return ok(expandVariables(variable.value ?? "", (name) => env[name]));
  const { pod, node, container, sources } = input;
  if (from.fieldRef !== undefined) return fieldValue(pod, from.fieldRef.fieldPath, node);
  if (from.resourceFieldRef !== undefined) return resourceValue(pod, from.resourceFieldRef, container, node);
  if (from.configMapKeyRef !== undefined) return keyValue("ConfigMap", from.configMapKeyRef, sources);
  if (from.secretKeyRef !== undefined) return keyValue("Secret", from.secretKeyRef, sources);
  return err(`variable ${variable.name}: its valueFrom is not supported`);
}

function keyValue(
  kind: "ConfigMap" | "Secret",
  selector: KeySelector,
  sources: Sources,
): Result<string | undefined, string> {
  const name = selector.name ?? "";
  const contents = sources.get(sourceKey({ kind, name }));
  const value = contents?.get(selector.key);
  if (value !== undefined) return ok(value.toString("utf8"));
  if (selector.optional === true) return ok(undefined);
  if (contents === undefined) return err(notFound(kind, name));
  return err(`couldn't find key ${selector.key} in ${kind} ${name}`);
}

export const notFound = (kind: "ConfigMap" | "Secret", name: string): string =>
  `${kind === "ConfigMap" ? "configmap" : "secret"} "${name}" not found`;

// Other keys are skipped, as in Kubernetes.
const variableName = /^[A-Za-z_.-][A-Za-z0-9_.-]*$/;

function valuesOf(source: EnvSource, sources: Sources): Result<readonly (readonly [string, string])[], string> {
  const kind = source.configMapRef === undefined ? "Secret" : "ConfigMap";
  const reference = source.configMapRef ?? source.secretRef;
  const name = reference?.name ?? "";
  const contents = sources.get(sourceKey({ kind, name }));
  if (contents === undefined) return reference?.optional === true ? ok([]) : err(notFound(kind, name));
  const values = [...contents].map(([key, value]) => [`${source.prefix ?? ""}${key}`, value.toString("utf8")] as const);
  return ok(values.filter(([full]) => variableName.test(full)));
}
