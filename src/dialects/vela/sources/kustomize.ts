import { spawn } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { err, isJsonObject, type JsonObject, ok, oneLine, type Result } from "#lib/base/index.ts";
import { childEnd } from "#lib/base/index.node.ts";
import { readYaml } from "#lib/yaml/index.ts";
import type { ActionScope, Provider } from "../ops/provider.ts";
import { failure } from "../ops/form.ts";
import { inputOf, returning } from "../ops/use-case-value.ts";
import { buildKustomization, foreignReference } from "./kustomization.ts";
import { type OpenedSource, withSource } from "./open-source.ts";
import type { UseCaseParts } from "./parts.ts";

/** `render/kustomize`: by kustomize or kubectl if the machine has one of them, else by the built-in subset. */
export const renderKustomize =
  (parts: UseCaseParts): Provider =>
  async (value, scope) => {
    const rendered = await withSource(inputOf(value), scope, parts, (source) => build(source, scope, parts));
    return rendered.ok ? returning({ objects: [...rendered.value] }) : failure(rendered.error);
  };

async function build(
  { tree, folder }: OpenedSource,
  scope: ActionScope,
  parts: UseCaseParts,
): Promise<Result<readonly JsonObject[], string>> {
  if (tree.directory !== undefined) {
    const foreign = foreignReference(tree.files, folder);
    if (foreign !== undefined) return err(foreign);
    const directory = join(tree.directory, folder);
    for (const words of [
      ["kustomize", "build"],
      ["kubectl", "kustomize"],
    ]) {
      const output = await run([...words, directory], scope, parts);
      if (output !== undefined) return output.ok ? objectsIn(output.value) : output;
    }
  }
  return buildKustomization(tree.files, folder);
}

function objectsIn(text: string): Result<readonly JsonObject[], string> {
  const read = readYaml(text);
  if (!read.ok) return err(`kustomize: ${read.error.map(({ message }) => message).join("; ")}`);
  return ok(read.value.documents.map(({ value }) => value).filter(isJsonObject));
}

const mostBytes = 16 * 1024 * 1024;
const longestRun = 60_000;

const nowhere = "/nonexistent";
/** Nobody answers on this port. */
const noProxy = "http://127.0.0.1:1";

/**
 * What `foreignReference` does not find is not fetched either: there is no Git to start, no proxy that answers, and no
 * configuration of the server's user.
 */
const confined: Readonly<Record<string, string>> = {
  PATH: nowhere,
  HOME: nowhere,
  XDG_CONFIG_HOME: nowhere,
  KUBECONFIG: nowhere,
  http_proxy: noProxy,
  https_proxy: noProxy,
  no_proxy: "",
};

/** Undefined if the machine has no such program. */
async function run(
  [program = "", ...words]: readonly string[],
  { clock, signal }: ActionScope,
  { environment }: UseCaseParts,
): Promise<Result<string, string> | undefined> {
  const path = await programOn(environment["PATH"] ?? "", program);
  if (path === undefined) return undefined;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(longestRun)]);
  const child = spawn(path, words, { env: confined, signal: limit, stdio: ["ignore", "pipe", "pipe"] });
  const chunks = { out: [] as Buffer[], err: [] as Buffer[], size: 0 };
  const take = (to: Buffer[]) => (chunk: Buffer) => void ((chunks.size += chunk.length) <= mostBytes && to.push(chunk));
  child.stdout.on("data", take(chunks.out));
  child.stderr.on("data", take(chunks.err));
  const code = await childEnd(child, clock);
  if (chunks.size > mostBytes) return err(`${program}: more than ${mostBytes} bytes of output`);
  if (code === 0) return ok(Buffer.concat(chunks.out).toString());
  return err(`${program}: ${oneLine(Buffer.concat(chunks.err).toString().trim()).slice(-500)}`);
}

async function programOn(path: string, name: string): Promise<string | undefined> {
  for (const directory of path.split(delimiter).filter((one) => isAbsolute(one))) {
    const file = join(directory, name);
    const isProgram = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isProgram) return file;
  }
  return undefined;
}
