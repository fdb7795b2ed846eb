import { isJsonObject } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined, refTo } from "#kernel/kit/index.ts";
import { asJson, isAlreadyExists, Secret, type Stored } from "#kernel/model/index.ts";
import { isOver, wordOf } from "../state.ts";
import { Build } from "../kinds.ts";
import { secretOf } from "../rules.ts";
import type { InputValue } from "./inputs.ts";
import { inputReferences, inputsSecret, ownSecretName } from "./inputs-secret.ts";
import type { Records } from "./records.ts";
import { shownInputs } from "./shown-inputs.ts";

// Builds without a definition may be stored with passwords; they are moved to a Secret as soon as possible.

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** Moves secret inputs into the build's own Secret, as wharf-api does: passwords, and all inputs without a definition.
 * Values in another build's Secret are copied. True if the build changed. Repeatable. */
export async function hideInputs(
  build: Stored<Build>,
  { client, records }: { readonly client: ApiClient; readonly records: Records },
  signal: AbortSignal,
): Promise<boolean> {
  const project = records.projectOf(build);
  // Without its project it does not start, so it can wait.
  if (build.spec.definition === undefined && project === undefined && !isOver(wordOf(build))) return false;
  const shown = shownInputs(build.spec.definition ?? project?.spec.buildDefinition);
  const { name, namespace, uid, resourceVersion, annotations = {} } = build.metadata;
  const secret = ownSecretName(name, uid);
  const others = await secretsOfOthers(build, client, signal);
  const moved = Object.entries(build.spec.inputs ?? {}).flatMap(([input, value]): readonly [string, InputValue][] => {
    const reference = secretOf(value);
    if (reference === undefined) return shown.has(input) ? [] : [[input, value as InputValue]];
    const lent = others.get(reference.name)?.[reference.key];
    return typeof lent === "string" ? [[input, Buffer.from(lent, "base64").toString()]] : [];
  });
  if (moved.length === 0) return false;
  // Referenced keys keep their values.
  const references = Object.values(build.spec.inputs ?? {}).map((value) => secretOf(value));
  const used = new Set(references.flatMap((reference) => (reference?.name === secret ? [reference.key] : [])));
  const names = moved.map(([input]) => input);
  const values = moved.map(([, value]) => value);
  const own = inputsSecret(build, secret, values, used);
  await client.create(Secret, own, { signal }).catch(async (thrown: unknown) => {
    if (!isAlreadyExists(thrown)) throw thrown;
    // Created by an interrupted pass: the uid in the name makes it unique.
    await client.patch(
      { type: Secret, namespace: namespace ?? "", name: secret },
      { type: "merge", body: { data: own.data } },
      { signal },
    );
  });
  const forgotten = lastApplied in annotations ? { annotations: { [lastApplied]: null } } : {};
  const inputs = inputReferences(secret, names, used);
  const body = { metadata: { uid, resourceVersion, ...forgotten }, spec: { inputs } };
  await client.patch(refTo(Build, build), { type: "merge", body }, { signal });
  return true;
}

/** Data of Secrets that belong to other builds. Secrets without an owner are shared and left alone. */
async function secretsOfOthers(
  { metadata, spec }: Stored<Build>,
  client: ApiClient,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
  const { namespace = "", name: own, uid } = metadata;
  const named = Object.values(spec.inputs ?? {}).map((value) => secretOf(value)?.name);
  const found = new Map<string, Readonly<Record<string, unknown>>>();
  for (const name of new Set(named)) {
    if (name === undefined || name === ownSecretName(own, uid)) continue;
    const secret = await getOrUndefined(client, { type: Secret, namespace, name }, signal);
    const owners = (secret?.metadata.ownerReferences ?? []).filter(({ kind }) => kind === Build.kind);
    const data = secret === undefined ? undefined : asJson(secret)["data"];
    if (owners.length > 0 && owners.every((owner) => owner.uid !== uid) && isJsonObject(data)) found.set(name, data);
  }
  return found;
}
