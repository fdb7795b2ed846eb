import type { KubeObject, Stored } from "#kernel/model/index.ts";
import type { Build } from "../kinds.ts";
import type { InputValue } from "./inputs.ts";

/** Where a build finds the value of an input that is nobody's to see. */
type InputReference = { readonly secretKeyRef: { readonly name: string; readonly key: string } };

/**
 * What the Secret is called in which the controller keeps inputs of a build. The beginning of a uid is a clock, which an earlier build of this name can
 * share, and the Secret of that one may not have gone yet.
 */
export const ownSecretName = (name: string, uid: string): string => `${name}-inputs-${uid.slice(-12)}`;

/** References to the values of these inputs in a Secret, under its first keys that are not in `used`. */
export function inputReferences(
  secret: string,
  names: readonly string[],
  used?: ReadonlySet<string>,
): Readonly<Record<string, InputReference>> {
  const keys = freeKeys(names.length, used);
  return Object.fromEntries(names.map((name, at) => [name, { secretKeyRef: { name: secret, key: keys[at] ?? "" } }]));
}

/** The Secret behind such references, with the values in the same order. It goes with the build. */
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

/** Names of inputs may be no keys, hence numbers. */
function freeKeys(count: number, used: ReadonlySet<string> = new Set()): readonly string[] {
  const all = Array.from({ length: count + used.size }, (_, at) => `input-${at + 1}`);
  return all.filter((key) => !used.has(key)).slice(0, count);
}
