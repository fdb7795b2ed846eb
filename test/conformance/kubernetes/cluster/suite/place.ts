import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readYaml } from "#lib/yaml/index.ts";
import { removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import type { Api } from "./api.ts";

/** A namespace and a directory of one case. */
export interface Place {
  readonly namespace: string;
  readonly directory: string;
  /** For `KUBECONFIG`: two files, the case's own in front. */
  readonly kubeconfig: string;
  /** Removes both; the namespace goes on ending by itself. */
  close(): Promise<void>;
}

export async function openPlace(api: Api, kubeconfig: string): Promise<Place> {
  const namespace = `conf-${randomBytes(4).toString("hex")}`;
  const directory = await temporaryDirectory();
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  const { status, text } = await api.ask("POST", "/api/v1/namespaces", { body });
  if (status !== 201) throw new Error(`the namespace of a case was refused with ${status}: ${text}`);
  const own = join(directory, "kubeconfig");
  await writeFile(own, inNamespace(await readFile(kubeconfig, "utf8"), namespace), { mode: 0o600 });
  return {
    namespace,
    directory,
    kubeconfig: `${own}:${kubeconfig}`,
    async close() {
      await api.ask("DELETE", `/api/v1/namespaces/${namespace}`);
      await removeDirectory(directory);
    },
  };
}

interface Config {
  readonly "current-context": string;
  readonly contexts: readonly { readonly name: string; readonly context: object }[];
}

/**
 * A kubeconfig to be merged in front of the given one: its current context with another namespace. A copy of the whole would lose
 * what relative paths in it mean.
 */
function inNamespace(text: string, namespace: string): string {
  const read = readYaml(text);
  const value: unknown = read.ok ? read.value.documents[0]?.value : undefined;
  const config = value as Config;
  const current = config.contexts.find(({ name }) => name === config["current-context"]);
  if (current === undefined) throw new Error("the kubeconfig under test has no current context");
  const context = { ...current.context, namespace };
  const own = { apiVersion: "v1", kind: "Config", "current-context": "case", contexts: [{ name: "case", context }] };
  return JSON.stringify(own);
}
