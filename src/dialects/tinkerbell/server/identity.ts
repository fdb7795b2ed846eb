import { createHash } from "node:crypto";
import type { PeerCertificate } from "node:tls";
import { isJsonObject } from "#lib/base/index.ts";
import type { Informer, Manager } from "#kernel/kit/index.ts";
import { type KubeObject, Secret } from "#kernel/model/index.ts";
import { RpcError } from "#kernel/rpc/index.ts";
import { isSameAgent } from "../state.ts";
import { anonymous, anybody, type Identify, never } from "./caller.ts";

export type AgentAuth =
  /** For tests. */
  | { readonly mode: "none" }
  | TokenAuth
  /** A name in the verified certificate is the agent's id. */
  | { readonly mode: "mtls" };

interface TokenAuth {
  readonly mode: "token";
  /** A Secret in this namespace maps the hexadecimal SHA-256 of a token to its agent id, or `*` for any. */
  readonly namespace: string;
  /** The server's own token, valid for any id. */
  readonly token?: string;
  /** Admits callers without a token as any id, because released agents have none. */
  readonly allowsAnonymous?: boolean;
}

export const tokenSecret = "tink-agent-tokens";

/** Call it before the manager starts: tokens come from a mirror of the Secret, so that changes count at once. */
export function identifyBy(auth: AgentAuth, manager: Manager): Identify {
  if (auth.mode === "none") return anybody;
  if (auth.mode === "mtls") return byCertificate;
  const { namespace } = auth;
  const secrets = manager.mirror(Secret, { namespace, fieldSelector: `metadata.name=${tokenSecret}` });
  return byToken(secrets, `${namespace}/${tokenSecret}`, auth);
}

const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex");

const bearer = /^bearer +(\S+)$/i;

/** Looked up by hash, so that neither the Secret nor timing reveals tokens. */
function byToken(
  secrets: Informer<KubeObject & { readonly data?: unknown }>,
  key: string,
  { token: own, allowsAnonymous = false }: TokenAuth,
): Identify {
  const ownHash = own === undefined ? undefined : hashOf(own);
  // Open calls; they share one mirror.
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

/** The common name, and alternative names that are host names or URIs. */
export function namesIn({
  subject,
  subjectaltname = "",
}: Pick<PeerCertificate, "subject" | "subjectaltname">): readonly string[] {
  const common: readonly string[] = [subject?.CN ?? []].flat();
  // Node quotes a name with commas as JSON, so that it cannot pretend to be two.
  const alternatives = [...subjectaltname.matchAll(/(?:^|, )(DNS|URI):("(?:[^"\\]|\\.)*"|[^,"]*)/g)].map(
    ([, , text = ""]) => (text.startsWith('"') ? String(JSON.parse(text)) : text),
  );
  return [...new Set([...common, ...alternatives])].filter((name) => name !== "");
}
