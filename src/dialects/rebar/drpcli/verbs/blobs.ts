import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { finished } from "node:stream/promises";
import { type Call, CliError, exactly, type Query, type Verb } from "../verb.ts";

/** `files` and `isos`. */
export const blobVerbs = (name: "files" | "isos"): readonly Verb[] => [
  {
    words: [name, "list"],
    usage: "[path]",
    summary: `List all ${name}`,
    arity: { least: 0, most: 1, complaint: ": Expected 0 or 1 argument" },
    flags: [{ name: "recurse", summary: "list all files of all folders" }],
    async run(call) {
      const [path] = call.args;
      const query: Query = [
        ...(path === undefined ? [] : [["path", path] as const]),
        ...(call.flags.has("recurse") ? [["all", "true"] as const] : []),
      ];
      call.print(await call.get([name], query));
    },
  },
  ...["download", "show", "get"].map(
    (verb): Verb => ({
      words: [name, verb],
      usage: "[item] to [dest]",
      summary: `Download the ${name} named [item] to [dest]`,
      arity: { least: 1, most: 3, complaint: "requires 1 or 2 arguments" },
      run: (call) => download(call, name),
    }),
  ),
  {
    words: [name, "exists"],
    usage: "[item]",
    summary: `Checks to see if [item] ${name} exists and prints its checksum`,
    arity: { ...exactly(1), complaint: "requires 1" },
    async run(call) {
      const [item = ""] = call.args;
      const { headers } = await call.request("HEAD", [name, item]);
      const tag = (headers.etag ?? "").replaceAll('"', "").replace(/^\w+:/, "");
      call.write(`${item}: ${String(headers["x-drp-sha256sum"] ?? tag)}\n`);
    },
  },
  {
    words: [name, "upload"],
    usage: "[src] as [dest]",
    summary: `Upload the ${name} [src] as [dest]`,
    arity: { least: 1, most: 3, complaint: "requires 1 or 2 arguments" },
    flags: [{ name: "explode", summary: "unpack the archive beside it" }],
    run: (call) => upload(call, name),
  },
  {
    words: [name, "destroy"],
    usage: "[item]",
    summary: `Delete the ${name} [item] on the DRP server`,
    arity: exactly(1),
    async run(call) {
      await call.request("DELETE", [name, call.args[0] ?? ""]);
      call.write(`Deleted ${call.args[0] ?? ""}`);
    },
  },
];

async function download(call: Call, name: string): Promise<void> {
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

async function upload(call: Call, name: string): Promise<void> {
  const [source = "", , given] = call.args;
  const file = resolve(call.directory, source);
  const found = await stat(file).catch(() => undefined);
  if (found?.isFile() !== true) throw new CliError(`Error opening src file ${source}: Must specify a file`);
  const query: Query = call.flags.has("explode") ? [["explode", "true"]] : [];
  const bytes = createReadStream(file) as AsyncIterable<Uint8Array>;
  const client = await call.client();
  const path = [name, given ?? basename(source)];
  call.print((await client.call("POST", path, { bytes, query, signal: call.signal })).json);
}
