import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { finished } from "node:stream/promises";
import type { CollectionRow } from "../collections.ts";
import { type Call, CliError, type Runs } from "../verb.ts";

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
  async destroy(call, { name }) {
    await call.send("DELETE", [name, call.args[0] ?? ""]);
    call.write(`Deleted ${call.args[0] ?? ""}`);
  },
};

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
