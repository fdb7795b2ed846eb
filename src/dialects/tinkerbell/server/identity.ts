import { createHash } from "node:crypto";
import type { PeerCertificate } from "node:tls";
import { isJsonObject } from "#lib/base/index.ts";
import type { Informer, Manager } from "#kernel/kit/index.ts";
import { type KubeObject, Secret } from "#kernel/model/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";
import { isSameAgent } from "../state.ts";
import { anonymous, anybody, type Identify, never } from "./caller.ts";

/** How agents prove who they are. */
export type AgentAuth =
  /** Not at all: for tests. */
  | { readonly mode: "none" }
  | TokenAuth
  /** A name in the certificate is the agent's id. The listener has checked who has signed it. */
  | { readonly mode: "mtls" };

interface TokenAuth {
  readonly mode: "token";
  /** A Secret in this namespace maps the SHA-256 of a token, in hexadecimal digits, to the id it is for, or to `*` for any. */
  readonly namespace: string;
  /** The server's own token, which is for any id. */
  readonly token?: string;
  /** Callers without a token are let in as any id: released agents have none. */
  readonly allowsAnonymous?: boolean;
}

/** The Secret of tokens. */
export const tokenSecret = "tink-agent-tokens";

/** Only before the manager starts: tokens are read from a mirror of one Secret, so that a change counts at once. */
export function identifyBy(auth: AgentAuth, manager: Manager): Identify {
  if (auth.mode === "none") return anybody;
  if (auth.mode === "mtls") return byCertificate;
  const { namespace } = auth;
  const secrets = manager.mirror(Secret, { namespace, fieldSelector: `metadata.name=${tokenSecret}` });
  return byToken(secrets, `${namespace}/${tokenSecret}`, auth);
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex");

const bearer = /^bearer +(\S+)$/i;

/** Looked up by the hash, so that neither the Secret nor the time an answer takes tells of tokens. */
function byToken(
  secrets: Informer<KubeObject & { readonly data?: unknown }>,
  key: string,
  { token: own, allowsAnonymous = false }: TokenAuth,
): Identify {
  const ownHash = own === undefined ? undefined : hashOf(own);
  // Whoever holds a call open; there is one mirror for all.
  const observers = new Set<() => void>();
  const tell = (): void => {
    for (const changed of observers) changed();
  };
  secrets.addHandler({ update: tell, delete: tell });
  const ownerOf = (hash: string): string | undefined => {
    if (hash === ownHash) return "*";
    const data = secrets.get(key)?.data;
    const encoded = isJsonObject(data) && Object.hasOwn(data, hash) ? data[hash] : undefined;
    return typeof encoded === "string" ? Buffer.from(encoded, "base64").toString("utf8").trim() : undefined;
  };
  return (call) => {
    const header = call.header("authorization");
    if (header === "" && allowsAnonymous) return anonymous();
    const [, token] = bearer.exec(header) ?? [];
    if (token === undefined) throw new RpcError("UNAUTHENTICATED", "a token is required: authorization: Bearer TOKEN");
    const hash = hashOf(token);
    const known = ownerOf(hash);
    if (known === undefined) throw new RpcError("UNAUTHENTICATED", "the token is not known");
    return {
      name: `the owner of the token (${known})`,
      isIndividual: known !== "*",
      isAgent(agentID) {
        const owner = ownerOf(hash);
        return owner !== undefined && (owner === "*" || isSameAgent(owner, agentID));
      },
      onChange(changed) {
        const observer = (): void => changed();
        observers.add(observer);
        return () => void observers.delete(observer);
      },
    };
  };
}

const byCertificate: Identify = ({ certificate }) => {
  const names = certificate === undefined ? [] : namesIn(certificate);
  if (names.length === 0) throw new RpcError("UNAUTHENTICATED", "a client certificate with a name is needed");
  return {
    name: `the owner of the certificate (${names.join(", ")})`,
    isIndividual: true,
    isAgent: (agentID) => names.some((name) => isSameAgent(name, agentID)),
    onChange: never,
  };
};

/** The common name, and the alternative names that are names of a host or URIs. */
export function namesIn({
  subject,
  subjectaltname = "",
}: Pick<PeerCertificate, "subject" | "subjectaltname">): readonly string[] {
  const common: readonly string[] = [subject?.CN ?? []].flat();
  // Node writes a name that holds a comma or a quote as a text of JSON, so that none can pretend to be two.
  const alternatives = [...subjectaltname.matchAll(/(?:^|, )(DNS|URI):("(?:[^"\\]|\\.)*"|[^,"]*)/g)].map(
    ([, , text = ""]) => (text.startsWith('"') ? String(JSON.parse(text)) : text),
  );
  return [...new Set([...common, ...alternatives])].filter((name) => name !== "");
}
