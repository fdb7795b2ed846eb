import { createHmac, randomBytes } from "node:crypto";
import { type ApiClient, createOrUpdate, getOrUndefined } from "#kernel/kit/index.ts";
import { asJson, type KubeObject, type OwnerReference, Secret, type Stored } from "#kernel/model/index.ts";
import { type Clock, textAt } from "#lib/base/index.ts";

// What must not be in a spec: hashes and keys. Secrets go with their owners.

export interface SecretParts {
  readonly client: ApiClient;
  readonly namespace: string;
  readonly clock: Clock;
}

/** Keeps an object only as long as its owner. */
export const ownerOf = ({ apiVersion, kind, metadata }: Stored): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
});

export async function readSecret(
  { client, namespace }: SecretParts,
  name: string,
  member: string,
): Promise<Buffer | undefined> {
  const object = await getOrUndefined(client, { type: Secret, namespace, name });
  const text = object === undefined ? undefined : textAt(asJson(object), "data", member);
  return text === undefined ? undefined : Buffer.from(text, "base64");
}

export async function writeSecret(
  { client, namespace, clock }: SecretParts,
  name: string,
  members: Readonly<Record<string, Uint8Array>>,
  owner?: OwnerReference,
): Promise<void> {
  const data = Object.fromEntries(
    Object.entries(members).map(([member, bytes]) => [member, Buffer.from(bytes).toString("base64")]),
  );
  const ownerReferences = owner === undefined ? {} : { ownerReferences: [owner] };
  await createOrUpdate<KubeObject & { readonly data?: Readonly<Record<string, string>> }>(
    client,
    { type: Secret, namespace, name },
    (present) => ({
      ...(present ?? { apiVersion: "v1", kind: Secret.kind, metadata: { name, namespace, ...ownerReferences } }),
      data: { ...present?.data, ...data },
    }),
    { clock },
  );
}

/** 32 random bytes that are made once. */
export async function keptKey(
  parts: SecretParts,
  name: string,
  member: string,
  owner?: OwnerReference,
): Promise<Buffer> {
  const present = await readSecret(parts, name, member);
  if (present !== undefined) return present;
  await writeSecret(parts, name, { [member]: randomBytes(32) }, owner);
  // Another process may have been faster: what is stored counts.
  return (await readSecret(parts, name, member)) ?? Buffer.alloc(0);
}

const tokenSecret = "rebar-tokens";

/** Signs tokens; another key invalidates all of them. */
export class TokenKey {
  readonly #parts: SecretParts;
  #key: Uint8Array = new Uint8Array();

  constructor(parts: SecretParts) {
    this.#parts = parts;
  }

  get key(): Uint8Array {
    return this.#key;
  }

  async read(): Promise<void> {
    this.#key = await keptKey(this.#parts, tokenSecret, "key");
  }

  /** `text` is what an administrator has chosen. */
  async renew(text: string): Promise<void> {
    const key = createHmac("sha256", this.#key).update(text).digest();
    await writeSecret(this.#parts, tokenSecret, { key });
    this.#key = key;
  }
}
