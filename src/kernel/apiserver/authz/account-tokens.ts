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
import { authenticatedGroup, type Identity } from "./identity.ts";
import { accountUser } from "./rbac/rule-index.ts";
import type { ReviewedToken } from "./token-reviewer.ts";

// Tokens of ServiceAccounts: JWTs (RFC 7519) signed with ES256 (RFC 7518 3.4), with the claims of Kubernetes. A token is bound to its
// account and may be bound to a Pod or a Secret: it is good only while these very objects exist, whatever its expiry says.
//
//   iss  the issuer          sub  system:serviceaccount:<namespace>:<name>      aud  whom it may be shown to
//   exp iat nbf  seconds     jti  its own id
//   kubernetes.io            {namespace, serviceaccount: {name, uid}, pod?: {name, uid}, secret?: {name, uid}}

/** As Kubernetes names itself by default; also the audience of tokens for this server. */
export const issuer = "https://kubernetes.default.svc.cluster.local";
const algorithm = "ES256";
/** Tokens whose signature was found right; a check costs 0.1 ms, and clients send the same token with every request. */
const maxKnown = 1000;

/** An object that a token dies with. */
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

/** A token that was signed by us, read. */
interface Known {
  readonly claims: TokenClaims;
  readonly notBefore: Instant;
  readonly identity: Identity;
}

/** Makes and checks tokens of accounts. */
export class AccountTokens {
  readonly #store: Pick<Store, "get">;
  readonly #clock: Clock;
  readonly #pem: string | undefined;
  readonly #known = new Map<string, Known>();
  #keys: { readonly private: KeyObject; readonly public: KeyObject; readonly id: string } | undefined;

  /** `pem` is the private key (PKCS #8, P-256). Without one a key is made, and tokens die with this process. */
  constructor(store: Pick<Store, "get">, clock: Clock, pem: string | undefined) {
    this.#store = store;
    this.#clock = clock;
    this.#pem = pem;
  }

  /** A token with these claims, valid from now on. */
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

  /**
   * Whose the token is, when it is good now for one of `audiences` (this server when empty); undefined for everything else. The
   * signature comes first: nothing of a text that we did not sign is believed.
   */
  review(token: string, audiences: readonly string[]): ReviewedToken | undefined {
    const known = this.#read(token);
    if (known === undefined || !this.#isGood(known)) return undefined;
    const { claims, identity } = known;
    const wanted = audiences.length === 0 ? [issuer] : audiences;
    const good = wanted.filter((audience) => claims.audiences.includes(audience));
    return good.length === 0 ? undefined : { identity, audiences: good };
  }

  /** Asks anew whose a token for this server is, without keeping it; undefined for one that is good for nothing now. */
  witness(token: string): Witness | undefined {
    if (this.review(token, []) === undefined) return undefined;
    const known = this.#read(token);
    return () => (known !== undefined && this.#isGood(known) ? known.identity : undefined);
  }

  #isGood({ claims, notBefore }: Known): boolean {
    const now = this.#clock.now();
    return now >= notBefore && now < claims.expiresAt && this.#isAlive(claims);
  }

  /** The account and what the token is bound to must be the very objects it was made for. */
  #isAlive({ namespace, account, bound }: TokenClaims): boolean {
    const isThere = (resource: string, { name, uid }: { readonly name: string; readonly uid: string }) => {
      const key: StoreKey = { group: "", resource, namespace, name };
      return this.#store.get(key)?.uid === uid;
    };
    if (!isThere("serviceaccounts", account)) return false;
    return bound === undefined || isThere(bound.kind === "Pod" ? "pods" : "secrets", bound);
  }

  #read(token: string): Known | undefined {
    // Not by the token itself: a heap dump need not hold a thousand of them.
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

/** A new private key for tokens, PEM. */
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

/** What is no JSON is nothing. */
function decode(text: string): JsonValue | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    return isJsonObject(value) ? value : undefined;
  } catch {
    // A header that cannot be read is not ours.
    return undefined;
  }
}

/** Of a payload that we have signed; undefined when a claim is missing, which an older version may have left out. */
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

/** The groups of accounts: all, those of the namespace, and everybody with credentials. */
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
