import { chmod, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { readYaml, writeYaml } from "#lib/yaml/index.ts";

/** What a client needs to reach this server. */
export interface KubeconfigContent {
  readonly url: string;
  readonly caPem: string;
  readonly token: string;
}

const name = "slipway";

/** The kubeconfig as data: one cluster with the CA embedded, one token user, one context. */
export function kubeconfigOf({ url, caPem, token }: KubeconfigContent): JsonValue {
  const authority = Buffer.from(caPem).toString("base64");
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: url, "certificate-authority-data": authority } }],
    users: [{ name: `${name}-admin`, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: `${name}-admin`, namespace: "default" } }],
    "current-context": name,
  };
}

/** Writes the file for its owner only, and whole: a reader sees the old one or the new one. */
export async function writeKubeconfig(file: string, content: KubeconfigContent): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(draft, writeYaml(kubeconfigOf(content)), { mode: 0o600, flag: "wx" });
    await chmod(draft, 0o600);
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

/** The token of a kubeconfig this server wrote earlier; undefined when there is none or the file is something else. */
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
  const first: JsonValue | undefined = Array.isArray(users) ? users[0] : undefined;
  const user = isJsonObject(first) ? first["user"] : undefined;
  const token = isJsonObject(user) ? user["token"] : undefined;
  return typeof token === "string" ? token : undefined;
}
