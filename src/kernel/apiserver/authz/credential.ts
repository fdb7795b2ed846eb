import { hash } from "node:crypto";
import {
  formatTime,
  isJsonObject,
  type JsonObject,
  parseInstant,
  type Instant,
  listAt,
  textAt,
} from "#lib/base/index.ts";
import { age, column, kind, type ObjectOf, s } from "#lib/schema/index.ts";
import type { StatusCause } from "#kernel/model/index.ts";
import type { KindAdmission } from "../crds/admission.ts";
import type { Store, StoreKey } from "../store/store.ts";
import { authenticatedGroup, type Identity } from "./identity.ts";

// Credentials are objects, so that they are listed, granted, written down and taken back like everything else. What lets somebody in is
// made by whoever asks for it and never reaches the server: it is sent the SHA-256 alone. The name of the object begins the hash, so
// that a credential is found by it without an index, and a deleted one is refused from the next request on.

/** What an object of the kind lets in with. */
const forms = ["Token", "ClientCertificate"] as const;

/** A way in for a user: a token, or a client certificate of the server's own authority that can be taken back. */
export const Credential = kind({
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "Credential",
  plural: "credentials",
  scope: "Cluster",
  description: "Lets a user in until it is deleted or has ended. `slipway credential create` makes one.",
  spec: s.object({
    user: s.string({ minLength: 1, maxLength: 256, description: "Who comes in with it." }),
    groups: s.optional(
      s.list(s.string({ minLength: 1, maxLength: 256 }), { maxItems: 64, description: "Groups of the user." }),
    ),
    form: s.oneOf(forms, { description: "What is shown at the door." }),
    sha256: s.string({
      pattern: "^[0-9a-f]{64}$",
      description:
        "Hash of the token's text or of the certificate's DER bytes; the name of the object is its beginning.",
    }),
    expiresAt: s.optional(s.time({ description: "It lets nobody in from then on." })),
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

/** In hexadecimal, as `spec.sha256` has it. In one call: each request pays for it. */
export const credentialHash = (shown: string | Buffer): string => hash("sha256", shown, "hex");

/** 64 bits: two credentials of one name would be refused as a conflict, and the whole hash is compared anyway. */
export const credentialName = (sha256: string): string => sha256.slice(0, 16);

const keyOf = (sha256: string): StoreKey => ({
  group: Credential.group,
  resource: Credential.plural,
  namespace: "",
  name: credentialName(sha256),
});

/** Whom a token, or a certificate, lets in now. How long the search takes tells about the hash and nothing about what was shown. */
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

/** An end that cannot be read is one that has passed. */
function hasEnded(credential: JsonObject, now: Instant): boolean {
  const end = textAt(credential, "spec", "expiresAt");
  return end !== undefined && !((parseInstant(end) ?? 0) > now);
}

/** The object for something that was just made. */
export function newCredential(spec: Omit<Credential["spec"], "expiresAt"> & { readonly until?: Instant }): Credential {
  const { until, ...rest } = spec;
  return {
    apiVersion: `${Credential.group}/${Credential.version}`,
    kind: Credential.kind,
    metadata: { name: credentialName(spec.sha256) },
    spec: { ...rest, ...(until === undefined ? {} : { expiresAt: formatTime(until) }) },
  };
}

/** A credential says what it was made for, for ever: what is to be another one is made anew. */
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
