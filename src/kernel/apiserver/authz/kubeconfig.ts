import { chmod, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { readYaml, writeYaml } from "#lib/yaml/index.ts";

// The file by which kubectl, our own command line and every other Kubernetes client find this server. It holds the admin token, so it is
// its owner's alone.

/** What a client needs to reach this server. */
export interface KubeconfigContent {
  readonly url: string;
  /** Whom clients trust; the system's authorities when absent. */
  readonly caPem?: string;
  readonly token?: string;
  /** PEM. With both the default context uses the certificate, and `slipway-token` the token. */
  readonly client?: { readonly cert: string; readonly key: string };
  /** What the file calls whom it lets in; `slipway-admin` when absent. */
  readonly user?: string;
}

/** Cluster and context. */
const name = "slipway";
const tokenName = `${name}-token`;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The kubeconfig as data: one cluster with the CA embedded, one or two users, a context for each. */
export function kubeconfigOf(content: KubeconfigContent): JsonValue {
  const { url, caPem, token, client, user = `${name}-admin` } = content;
  const trust = caPem === undefined ? {} : { "certificate-authority-data": base64(caPem) };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: url, ...trust } }],
    users: usersOf(content, user),
    contexts: [
      { name, context: { cluster: name, user, namespace: "default" } },
      ...(client === undefined || token === undefined
        ? []
        : [{ name: tokenName, context: { cluster: name, user: tokenName, namespace: "default" } }]),
    ],
    "current-context": name,
  };
}

function usersOf({ token, client }: KubeconfigContent, user: string): readonly JsonValue[] {
  if (client === undefined) return [{ name: user, user: { token: token ?? "" } }];
  const certificate = {
    "client-certificate-data": base64(client.cert),
    "client-key-data": base64(client.key),
  };
  const own = { name: user, user: certificate };
  return token === undefined ? [own] : [own, { name: tokenName, user: { token } }];
}

/**
 * Writes the file for its owner only, and whole: a reader sees the old one or the new one. What was in it before is gone: the file is
 * ours, never the user's own `~/.kube/config`.
 */
export async function writeKubeconfig(file: string, content: KubeconfigContent): Promise<void> {
  await makeDirectories(dirname(file), 0o700);
  const draft = `${file}.${process.pid}.tmp`;
  try {
    // In containers every life has the same pid: an earlier one may have died before the rename.
    await rm(draft, { force: true });
    await writeFile(draft, writeYaml(kubeconfigOf(content)), { mode: 0o600, flag: "wx" });
    await chmod(draft, 0o600);
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * The token of a kubeconfig this server wrote earlier; undefined when there is none or the file is something else. Whether it is still
 * good is for `ensureAdminToken` to say: the store knows its hash.
 */
export async function readKubeconfigToken(file: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (thrown) {
    if (codeOf(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
  const read = readYaml(text, { file });
  const config = read.ok ? read.value.documents[0]?.value : undefined;
  const users = isJsonObject(config) ? config["users"] : undefined;
  const tokens = (Array.isArray(users) ? users : []).flatMap((entry: JsonValue) => {
    const user = isJsonObject(entry) ? entry["user"] : undefined;
    const token = isJsonObject(user) ? user["token"] : undefined;
    return typeof token === "string" ? [token] : [];
  });
  return tokens[0];
}
