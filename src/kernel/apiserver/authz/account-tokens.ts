import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import {
  type Clock,
  type Instant,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
  numberAt,
  objectAt,
  textAt,
} from "#lib/base/index.ts";
import { newUid } from "#lib/base/index.node.ts";
import type { Witness } from "../sessions/sessions.ts";
import type { Store, StoreKey } from "../store/store.ts";
import { authenticatedGroup, type Identity, type ReviewedToken } from "./identity.ts";
import { accountUser } from "./rbac/rule-index.ts";

// Tokens of ServiceAccounts: JWTs (RFC 7519) signed with ES256 (RFC 7518 3.4), with Kubernetes' claims. A token is
// valid only while its account, and the Pod or Secret it is bound to, exist.
//
//   iss  the issuer          sub  system:serviceaccount:<namespace>:<name>      aud  whom it may be shown to
//   exp iat nbf  seconds     jti  its own id
//   kubernetes.io            {namespace, serviceaccount: {name, uid}, pod?: {name, uid}, secret?: {name, uid}}

/** Kubernetes' default name for itself, and the audience of tokens for this server. */
export const issuer = "https://kubernetes.default.svc.cluster.local";
const algorithm = "ES256";
/** Bounds the cache of verified tokens; a check costs 0.1 ms. */
const maxKnown = 1000;

/** A token is invalid when this object is gone. */
export interface BoundObject {
  readonly kind: "Pod" | "Secret";
  readonly name: string;
  readonly uid: string;
}

export interface TokenClaims {
  readonly namespace: string;
  readonly account: { readonly name: string; readonly uid: string };
  readonly bound?: BoundObject;
  readonly audiences: readonly string[];
  readonly expiresAt: Instant;
}

interface Known {
  readonly claims: TokenClaims;
  readonly notBefore: Instant;
  readonly identity: Identity;
}

export class AccountTokens {
  readonly #store: Pick<Store, "get">;
  readonly #clock: Clock;
  readonly #pem: string | undefined;
  readonly #known = new Map<string, Known>();
  #keys: { readonly private: KeyObject; readonly public: KeyObject; readonly id: string } | undefined;

  /** `pem` is the private key (PKCS #8, P-256). Without one, tokens end with this process. */
  constructor(store: Pick<Store, "get">, clock: Clock, pem: string | undefined) {
    this.#store = store;
    this.#clock = clock;
    this.#pem = pem;
  }

  issue(claims: TokenClaims): string {
    const keys = this.#key();
    const now = Math.floor(this.#clock.now() / 1000);
    const { namespace, account, bound, audiences, expiresAt } = claims;
    const object = bound === undefined ? {} : { [bound.kind.toLowerCase()]: { name: bound.name, uid: bound.uid } };
    const payload: JsonObject = {
      aud: [...audiences],
      exp: Math.floor(expiresAt / 1000),
      iat: now,
      iss: issuer,
      jti: newUid(),
      "kubernetes.io": { namespace, serviceaccount: { name: account.name, uid: account.uid }, ...object },
      nbf: now,
      sub: accountUser(namespace, account.name),
    };
    const head = `${encode({ alg: algorithm, kid: keys.id })}.${encode(payload)}`;
    const signature = sign("sha256", Buffer.from(head), { key: keys.private, dsaEncoding: "ieee-p1363" });
    return `${head}.${signature.toString("base64url")}`;
  }

  /** The owner of a token valid for one of `audiences` (this server when empty). */
  review(token: string, audiences: readonly string[]): ReviewedToken | undefined {
    const known = this.#read(token);
    if (known === undefined || !this.#isGood(known)) return undefined;
    const { claims, identity } = known;
    const wanted = audiences.length === 0 ? [issuer] : audiences;
    const good = wanted.filter((audience) => claims.audiences.includes(audience));
    return good.length === 0 ? undefined : { identity, audiences: good };
  }

  /** Re-checks a token for this server later without keeping it; undefined for an invalid token. */
  witness(token: string): Witness | undefined {
    if (this.review(token, []) === undefined) return undefined;
    const known = this.#read(token);
    return () => (known !== undefined && this.#isGood(known) ? known.identity : undefined);
  }

  #isGood({ claims, notBefore }: Known): boolean {
    const now = this.#clock.now();
    return now >= notBefore && now < claims.expiresAt && this.#isAlive(claims);
  }

  /** Compares uids: namesakes do not count. */
  #isAlive({ namespace, account, bound }: TokenClaims): boolean {
    const isThere = (resource: string, { name, uid }: { readonly name: string; readonly uid: string }) => {
      const key: StoreKey = { group: "", resource, namespace, name };
      return this.#store.get(key)?.uid === uid;
    };
    if (!isThere("serviceaccounts", account)) return false;
    return bound === undefined || isThere(bound.kind === "Pod" ? "pods" : "secrets", bound);
  }

  #read(token: string): Known | undefined {
    // By hash, so that a heap dump holds no tokens.
    const hash = createHash("sha256").update(token).digest("base64");
    const found = this.#known.get(hash);
    if (found !== undefined) return found;
    const parts = token.split(".");
    const [head = "", payload = "", signature = ""] = parts;
    if (parts.length !== 3) return undefined;
    const keys = this.#key();
    const header = decode(head);
    if (textAt(header, "alg") !== algorithm || textAt(header, "kid") !== keys.id) return undefined;
    const bytes = Buffer.from(signature, "base64url");
    const signed = Buffer.from(`${head}.${payload}`);
    if (!verify("sha256", signed, { key: keys.public, dsaEncoding: "ieee-p1363" }, bytes)) return undefined;
    const read = readClaims(decode(payload));
    if (read === undefined) return undefined;
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.set(hash, read);
    return read;
  }

  #key() {
    this.#keys ??= keysOf(this.#pem);
    return this.#keys;
  }
}

export const newAccountKey = (): string =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();

/** The id is a hash of the public key, as in Kubernetes. */
function keysOf(pem: string | undefined) {
  const privateKey = createPrivateKey(pem ?? newAccountKey());
  const publicKey = createPublicKey(privateKey);
  const der = publicKey.export({ type: "spki", format: "der" });
  return { private: privateKey, public: publicKey, id: createHash("sha256").update(der).digest("base64url") };
}

const encode = (value: JsonObject): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function decode(text: string): JsonValue | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    return isJsonObject(value) ? value : undefined;
  } catch {
    // Not our header.
    return undefined;
  }
}

/** Reads a payload that we signed; undefined when a claim is missing. */
function readClaims(payload: JsonValue | undefined): Known | undefined {
  const own = objectAt(payload, "kubernetes.io");
  const namespace = textAt(own, "namespace");
  const name = textAt(own, "serviceaccount", "name");
  const uid = textAt(own, "serviceaccount", "uid");
  const expiry = numberAt(payload, "exp");
  const notBefore = numberAt(payload, "nbf");
  if (textAt(payload, "iss") !== issuer) return undefined;
  if (!namespace || !name || !uid || expiry === undefined || notBefore === undefined) return undefined;
  const bound = boundIn(own);
  const audiences = listAt(payload, "aud").filter((audience) => typeof audience === "string");
  const account = { name, uid };
  return {
    claims: { namespace, account, audiences, expiresAt: expiry * 1000, ...(bound === undefined ? {} : { bound }) },
    notBefore: notBefore * 1000,
    identity: identityOf(namespace, account, textAt(payload, "jti"), bound),
  };
}

function boundIn(own: JsonObject | undefined): BoundObject | undefined {
  for (const kind of ["Pod", "Secret"] as const) {
    const name = textAt(own, kind.toLowerCase(), "name");
    const uid = textAt(own, kind.toLowerCase(), "uid");
    if (name !== undefined && uid !== undefined) return { kind, name, uid };
  }
  return undefined;
}

export const accountGroups = (namespace: string): readonly string[] => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`,
  authenticatedGroup,
];

function identityOf(
  namespace: string,
  { name, uid }: TokenClaims["account"],
  id: string | undefined,
  bound: BoundObject | undefined,
): Identity {
  const pod = bound?.kind === "Pod" ? bound : undefined;
  const extra = {
    ...(id === undefined ? {} : { "authentication.kubernetes.io/credential-id": [`JTI=${id}`] }),
    ...(pod === undefined
      ? {}
      : {
          "authentication.kubernetes.io/pod-name": [pod.name],
          "authentication.kubernetes.io/pod-uid": [pod.uid],
        }),
  };
  return { user: accountUser(namespace, name), uid, groups: accountGroups(namespace), extra };
}
