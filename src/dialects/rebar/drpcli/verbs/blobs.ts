import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { finished } from "node:stream/promises";
import { type JsonObject, type JsonValue, messageOf, objectAt, textAt } from "#lib/base/index.ts";
import type { CollectionRow } from "../collections.ts";
import { type Call, CliError, objectIn, type Runs } from "../verb.ts";

/** `files` and `isos`. */
export const blobRuns: Runs = {
  async list(call, { name }) {
    const [path] = call.args;
    call.print(await call.get([name], [...(path === undefined ? [] : [["path", path] as const]), ...call.query]));
  },
  download,
  show: download,
  get: download,
  async exists(call, { name }) {
    const [item = ""] = call.args;
    const { etag = "", "x-drp-sha256sum": sum } = await call.head([name, item]);
    call.write(`${item}: ${String(sum ?? etag.replaceAll('"', "").replace(/^\w+:/, ""))}\n`);
  },
  async upload(call, { name }) {
    const [source = "", , given] = call.args;
    const file = resolve(call.directory, source);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile() !== true) throw new CliError(`Error opening src file ${source}: Must specify a file`);
    const bytes = createReadStream(file) as AsyncIterable<Uint8Array>;
    const { query, signal } = call;
    const client = await call.client();
    call.print((await client.call("POST", [name, given ?? basename(source)], { bytes, query, signal })).json);
  },
  async uploadiso(call, { name }) {
    const [key = ""] = call.args;
    const needed = isosOf(objectIn(await call.get([name, key])));
    if (needed.size === 0) throw new CliError(`BootEnv ${key} does not require an iso`);
    const there = await call.get(["isos"]);
    const missing = [...needed].filter(([file]) => !Array.isArray(there) || !there.includes(file));
    if (missing.length === 0) return call.write(`BootEnv ${key} already has all required ISO files\n`);
    for (const [file, url] of missing) {
      if (url === "") call.write(`BootEnv ${key} has no IsoUrl for ${file}, skipping\n`);
      else call.print(await fetched(call, url, file));
    }
  },
  async destroy(call, { name }) {
    await call.send("DELETE", [name, call.args[0] ?? ""]);
    call.write(`Deleted ${call.args[0] ?? ""}`);
  },
};

/** URLs of ISO files by name: of the boot environment and of its architectures. */
function isosOf(bootEnv: JsonObject): ReadonlyMap<string, string> {
  const systems = [objectAt(bootEnv, "OS"), ...Object.values(objectAt(bootEnv, "OS", "SupportedArchitectures") ?? {})];
  const files = systems.map((system) => [textAt(system, "IsoFile") ?? "", textAt(system, "IsoUrl") ?? ""] as const);
  return new Map(files.filter(([file]) => file !== ""));
}

/** From there to the server, without a copy on this machine. */
async function fetched(call: Call, url: string, file: string): Promise<JsonValue> {
  const { signal } = call;
  const response = await fetch(url, { signal }).catch((thrown: unknown) => {
    throw new CliError(`Unable to connect to ${url}: ${causeOf(thrown)}`);
  });
  if (!response.ok || response.body === null)
    throw new CliError(`Unable to initiate download of ${url}: ${response.status} ${response.statusText}`);
  const bytes = response.body as AsyncIterable<Uint8Array>;
  return (await (await call.client()).call("POST", ["isos", file], { bytes, signal })).json;
}

/** `fetch` says little itself. */
const causeOf = (thrown: unknown): string =>
  messageOf(thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown);

async function download(call: Call, { name }: CollectionRow): Promise<void> {
  const [item = "", , to] = call.args;
  const blob = await (await call.client()).open("GET", [name, item], { signal: call.signal });
  if (to === undefined || to === "-") {
    for await (const piece of blob as AsyncIterable<Buffer>) call.write(piece);
    return;
  }
  const handle = await open(resolve(call.directory, to), "w", 0o644).catch((thrown: unknown) => {
    blob.destroy();
    throw new CliError(`Error opening dest file ${to}: ${String(thrown)}`);
  });
  await finished(blob.pipe(handle.createWriteStream()));
}
