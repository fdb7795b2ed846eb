import { chmod, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { makeDirectories } from "#lib/base/index.node.ts";
import { readYaml, writeYaml } from "#lib/yaml/index.ts";

// The kubeconfig of this server. It holds the admin token, so only its owner may read it.

export interface KubeconfigContent {
  readonly url: string;
  /** Defaults to the system's authorities. */
  readonly caPem?: string;
  readonly token?: string;
  /** PEM. With both, the default context uses the certificate and `slipway-token` the token. */
  readonly client?: { readonly cert: string; readonly key: string };
  /** Name of the user entry, `slipway-admin` by default. */
  readonly user?: string;
}

const name = "slipway";
const tokenName = `${name}-token`;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

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

/** Writes the file atomically with mode 0600. It is Slipway's own file, never `~/.kube/config`. */
export async function writeKubeconfig(file: string, content: KubeconfigContent): Promise<void> {
  await makeDirectories(dirname(file), 0o700);
  const draft = `${file}.${process.pid}.tmp`;
  try {
    // In containers pids repeat: an earlier process may have died before the rename.
    await rm(draft, { force: true });
    await writeFile(draft, writeYaml(kubeconfigOf(content)), { mode: 0o600, flag: "wx" });
    await chmod(draft, 0o600);
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/** The token of a kubeconfig written earlier, if any. `ensureAdminToken` checks whether it is still valid. */
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
