import type { KubeObject, Stored } from "#kernel/model/index.ts";
import type { Build } from "../kinds.ts";
import type { InputValue } from "./inputs.ts";

type InputReference = { readonly secretKeyRef: { readonly name: string; readonly key: string } };

/** The name of the build's own Secret. The end of the uid is random, unlike its beginning. */
export const ownSecretName = (name: string, uid: string): string => `${name}-inputs-${uid.slice(-12)}`;

export function inputReferences(
  secret: string,
  names: readonly string[],
  used?: ReadonlySet<string>,
): Readonly<Record<string, InputReference>> {
  const keys = freeKeys(names.length, used);
  return Object.fromEntries(names.map((name, at) => [name, { secretKeyRef: { name: secret, key: keys[at] ?? "" } }]));
}

export function inputsSecret(
  { metadata, apiVersion, kind }: Stored<Build>,
  secretName: string,
  values: readonly InputValue[],
  used?: ReadonlySet<string>,
): KubeObject & { readonly data: Readonly<Record<string, string>> } {
  const { name, uid, namespace } = metadata;
  const keys = freeKeys(values.length, used);
  const data = Object.fromEntries(
    values.map((value, at) => [keys[at] ?? "", Buffer.from(String(value)).toString("base64")]),
  );
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: secretName,
      ...(namespace === undefined ? {} : { namespace }),
      ownerReferences: [{ apiVersion, kind, name, uid }],
    },
    data,
  };
}

/** Names of inputs may be no valid keys. */
function freeKeys(count: number, used: ReadonlySet<string> = new Set()): readonly string[] {
  const all = Array.from({ length: count + used.size }, (_, at) => `input-${at + 1}`);
  return all.filter((key) => !used.has(key)).slice(0, count);
}
