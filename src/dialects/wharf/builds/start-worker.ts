import { isJsonObject, type JsonObject, type JsonValue, SlipwayError } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import { asJson, Secret, type Stored } from "#kernel/model/index.ts";
import { createdByAnnotation, startedByAnnotation } from "../build-annotations.ts";
import type { Build, Project } from "../kinds.ts";
import { secretOf } from "../rules.ts";
import { originAnnotation, originOf, tokenIsFor } from "../token-origin.ts";
import { type Engine, type Engines, engineOf } from "./engines.ts";
import { type InputValue, resolveInputs } from "./inputs.ts";
import { gitUrlOf, parametersOf } from "./parameters.ts";
import type { Records } from "./records.ts";
import { triggerWorker } from "./trigger.ts";

export interface StartParts {
  readonly client: ApiClient;
  readonly records: Records;
  readonly engines: Engines;
  readonly instance: string;
  readonly audit?: ((entry: JsonObject) => void) | undefined;
  readonly caller?: string;
}

/** Retrying would not help. */
const unstartable = (message: string): SlipwayError => new SlipwayError("wharf-unstartable", message);
export const isUnstartable = (thrown: unknown): boolean =>
  thrown instanceof SlipwayError && thrown.code === "wharf-unstartable";
/** No worker was started. After any other error one may run. */
export const isRefused = (thrown: unknown): boolean =>
  isUnstartable(thrown) || (thrown instanceof SlipwayError && thrown.code === "wharf-trigger");

/** A worker may run, and retrying would start another. */
export const isUnknown = (thrown: unknown): boolean =>
  thrown instanceof SlipwayError && thrown.code === "wharf-trigger-unknown";

/** Requests a worker and returns its id. Rejects with `wharf-unstartable` or like `triggerWorker`, whose `note` it
 * passes on. */
export async function startWorker(
  build: Stored<Build>,
  parts: StartParts,
  signal: AbortSignal,
  note: () => Promise<void>,
): Promise<string> {
  const { client, records, instance } = parts;
  const engine = engineFor(build, parts.engines);
  const project = records.projectOf(build);
  if (project === undefined)
    throw new SlipwayError("wharf-trigger", `there is no project "${build.spec.project ?? ""}"`);
  if (gitUrlOf(project) === "") throw unstartable(`project "${project.metadata.name}" has no spec.gitUrl to clone`);
  const { namespace = "" } = build.metadata;
  const inputs = await inputsOf(build, project, { client, namespace }, signal);
  const gitToken = await gitTokenOf(project, { client, namespace }, signal);
  const parameters = parametersOf({ build, project, inputs, gitToken, instance, engine });
  const worker = await triggerWorker(engine, parameters, signal, note);
  parts.audit?.({ ...startOf(build, project, parts.caller), worker });
  return worker;
}

function startOf(build: Stored<Build>, project: Stored<Project>, caller: string | undefined): JsonObject {
  const { annotations = {}, ownerReferences = [], namespace = "", name } = build.metadata;
  const owner = ownerReferences.map(({ kind, name: of }) => `${kind} ${of}`)[0];
  return {
    event: "build-started",
    user: caller ?? annotations[createdByAnnotation] ?? "system:slipway",
    via: annotations[startedByAnnotation] ?? owner ?? "API server",
    build: `${namespace}/${name}`,
    number: build.spec.buildId ?? 0,
    project: project.metadata.name,
    repository: withoutUser(gitUrlOf(project)),
  };
}

/** The user of an HTTP address is often a token. */
const withoutUser = (url: string): string => url.replace(/^(https?:\/\/)[^/?#]*@/i, "$1");

/** Only sent to the server it is bound to. */
async function gitTokenOf(project: Project, place: SecretPlace, signal: AbortSignal): Promise<string | undefined> {
  const { tokenSecretRef: reference } = project.spec;
  if (reference === undefined) return undefined;
  const { name, key } = reference;
  const secret = await bindToken(project, place, signal);
  const value = valueIn(secret, key, { namespace: place.namespace, name });
  const origin = originOf(gitUrlOf(project));
  const bound = secret?.metadata.annotations?.[originAnnotation];
  if (bound !== undefined && bound !== origin) throw unstartable(tokenIsFor(name, bound, origin));
  return value;
}

/** Binds a project's token to the project's server unless it is bound; returns its Secret, if any. */
export async function bindToken(
  project: Project,
  { client, namespace }: SecretPlace,
  signal: AbortSignal,
): Promise<Stored | undefined> {
  const { tokenSecretRef: reference } = project.spec;
  if (reference === undefined) return undefined;
  const ref = { type: Secret, namespace, name: reference.name };
  const secret = await getOrUndefined(client, ref, signal);
  const origin = originOf(gitUrlOf(project));
  if (secret === undefined || origin === "" || secret.metadata.annotations?.[originAnnotation] !== undefined)
    return secret;
  // Bound to the version that was read: a concurrent binding to another server fails.
  const { resourceVersion } = secret.metadata;
  const body = { metadata: { resourceVersion, annotations: { [originAnnotation]: origin } } };
  return await client.patch(ref, { type: "merge", body }, { signal });
}

export function engineFor({ spec }: Build, engines: Engines): Engine {
  const engine = engineOf(engines, spec.engine);
  if (engine !== undefined) return engine;
  throw unstartable(spec.engine === undefined ? "there is no engine" : `there is no engine "${spec.engine}"`);
}

interface SecretPlace {
  readonly client: ApiClient;
  readonly namespace: string;
}

async function inputsOf(
  { spec }: Build,
  project: Project,
  place: SecretPlace,
  signal: AbortSignal,
): Promise<Readonly<Record<string, JsonValue>>> {
  const given: Record<string, InputValue> = {};
  for (const [name, value] of Object.entries(spec.inputs ?? {})) {
    const reference = secretOf(value);
    if (reference !== undefined) given[name] = await secretValue(reference.name, reference.key, place, signal);
    else if (typeof value !== "object") given[name] = value;
  }
  const resolved = resolveInputs(spec.definition ?? project.spec.buildDefinition, given);
  if (!resolved.ok) throw unstartable(`inputs: ${resolved.error.join("; ")}`);
  return { ...resolved.value.plain, ...resolved.value.secret };
}

/** A missing value may appear: Secrets can be created after the build. */
async function secretValue(
  name: string,
  key: string,
  { client, namespace }: SecretPlace,
  signal: AbortSignal,
): Promise<string> {
  return valueIn(await getOrUndefined(client, { type: Secret, namespace, name }, signal), key, { namespace, name });
}

function valueIn(
  secret: Stored | undefined,
  key: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  const data = secret === undefined ? undefined : asJson(secret)["data"];
  const value = isJsonObject(data) ? data[key] : undefined;
  if (typeof value === "string") return Buffer.from(value, "base64").toString();
  throw new SlipwayError("wharf-trigger", `there is no key "${key}" in Secret ${namespace}/${name}`);
}
