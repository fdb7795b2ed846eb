import { hash, randomBytes } from "node:crypto";
import type { StatusCause } from "#kernel/model/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import {
  type Clock,
  formatTime,
  type Instant,
  isJsonObject,
  type JsonObject,
  parseInstant,
  systemClock,
  listAt,
  textAt,
} from "#lib/base/index.ts";
import { age, column, kind, type ObjectOf, s } from "#lib/schema/index.ts";
import type { KindAdmission } from "../crds/admission.ts";
import type { Store, StoreKey } from "../store/store.ts";
import { authenticatedGroup, type Identity } from "./identity.ts";

// Credentials are objects: listed, granted, audited and revoked like others. The secret never reaches the server, only
// its SHA-256. The object's name begins the hash, so no index is needed and deletion takes effect at once.

const forms = ["Token", "ClientCertificate"] as const;

export const Credential = kind({
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "Credential",
  plural: "credentials",
  scope: "Cluster",
  description: "Lets a user in until it is deleted or has ended. `slipway credential create` makes one.",
  spec: s.object({
    user: s.string({ minLength: 1, maxLength: 256, description: "The user that it authenticates." }),
    groups: s.optional(
      s.list(s.string({ minLength: 1, maxLength: 256 }), { maxItems: 64, description: "Groups of the user." }),
    ),
    form: s.oneOf(forms, { description: "What is shown at the door." }),
    sha256: s.string({
      pattern: "^[0-9a-f]{64}$",
      description:
        "Hash of the token's text or of the certificate's DER bytes; the name of the object is its beginning.",
    }),
    expiresAt: s.optional(s.time({ description: "It is invalid from then on." })),
    description: s.optional(s.string({ maxLength: 1024, description: "What it is for, for people." })),
  }),
  columns: [
    column("User", ".spec.user"),
    column("Groups", ".spec.groups"),
    column("Form", ".spec.form"),
    column("Expires", ".spec.expiresAt"),
    column("Description", ".spec.description", { priority: 1 }),
    age(),
  ],
});
export type Credential = ObjectOf<typeof Credential>;

/** In hexadecimal, as in `spec.sha256`. */
export const credentialHash = (shown: string | Buffer): string => hash("sha256", shown, "hex");

/** 64 bits; the whole hash is compared as well. */
export const credentialName = (sha256: string): string => sha256.slice(0, 16);

const keyOf = (sha256: string): StoreKey => ({
  group: Credential.group,
  resource: Credential.plural,
  namespace: "",
  name: credentialName(sha256),
});

/** The identity of a valid credential. Timing reveals only facts about the hash. */
export function findCredential(
  store: Pick<Store, "get">,
  form: Credential["spec"]["form"],
  sha256: string,
  now: Instant,
): Identity | undefined {
  const found = store.get(keyOf(sha256))?.object();
  if (found === undefined || textAt(found, "spec", "sha256") !== sha256) return undefined;
  const user = textAt(found, "spec", "user");
  if (user === undefined || textAt(found, "spec", "form") !== form || hasEnded(found, now)) return undefined;
  const groups = listAt(found, "spec", "groups").filter((group) => typeof group === "string");
  return { user, groups: [...new Set([...groups, authenticatedGroup])] };
}

/** An unreadable end has passed. */
function hasEnded(credential: JsonObject, now: Instant): boolean {
  const end = textAt(credential, "spec", "expiresAt");
  return end !== undefined && !((parseInstant(end) ?? 0) > now);
}

export function newCredential(spec: Omit<Credential["spec"], "expiresAt"> & { readonly until?: Instant }): Credential {
  const { until, ...rest } = spec;
  return {
    apiVersion: `${Credential.group}/${Credential.version}`,
    kind: Credential.kind,
    metadata: { name: credentialName(spec.sha256) },
    spec: { ...rest, ...(until === undefined ? {} : { expiresAt: formatTime(until) }) },
  };
}

/** A credential cannot be changed, only replaced. */
export const credentialAdmission: KindAdmission = {
  group: Credential.group,
  kind: Credential.kind,
  prepareForCreate: (object) => object,
  validate(object, old) {
    const spec = object["spec"];
    const sha256 = isJsonObject(spec) ? (textAt(spec, "sha256") ?? "") : "";
    const causes: StatusCause[] = [];
    if (old !== undefined && JSON.stringify(spec) !== JSON.stringify(old["spec"]))
      causes.push({
        reason: "FieldValueForbidden",
        message: "Forbidden: a credential cannot be changed; create another one and delete this",
        field: "spec",
      });
    const wanted = credentialName(sha256);
    const found = textAt(object, "metadata", "name") ?? "";
    if (found !== wanted)
      causes.push({
        reason: "FieldValueInvalid",
        message: `Invalid value: ${JSON.stringify(found)}: must be ${JSON.stringify(wanted)}, the first 16 characters of spec.sha256`,
        field: "metadata.name",
      });
    return { causes, warnings: [] };
  },
};

/** 256 random bits. */
export const newToken = (): string => randomBytes(32).toString("base64url");

/** Stores a token without checking permissions. Durable when resolved. */
export async function createStaticToken(
  store: Pick<Store, "write">,
  user: string,
  groups: readonly string[],
  clock: Clock = systemClock,
): Promise<string> {
  const token = newToken();
  const made = newCredential({ user, groups, form: "Token", sha256: credentialHash(token) });
  const { name = "" } = made.metadata;
  const birth = { name, uid: newUid(), creationTimestamp: formatTime(clock.now()), generation: 1 };
  const object: unknown = { ...made, metadata: birth };
  if (!isJsonObject(object)) throw new Error("a credential is an object");
  const key = { group: Credential.group, resource: Credential.plural, namespace: "", name };
  await store.write((transaction) => transaction.put(key, object));
  return token;
}
