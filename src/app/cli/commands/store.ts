import type { JsonObject } from "#lib/base/index.ts";
import {
  command,
  defaultDataDirectory,
  exitCode,
  type Invocation,
  type Output,
  UsageError,
} from "#kernel/command/index.ts";

/** `dataDir` is that of `slipway up`; absent flags were not given. */
interface StoreOptions {
  readonly dataDir?: string;
  /** Of `backup`; `restore` never replaces anything. */
  readonly force?: boolean;
  /** Of a store whose Secrets are encrypted, for those verbs that read them. */
  readonly encryptionKeyFile?: string;
  readonly output?: "json" | "yaml";
}

const verbs = ["backup", "check", "export", "restore"] as const;
type Verb = (typeof verbs)[number];

/**
 * Works on files, not on a server: a data directory can be looked after while it is served and while it is not. Only
 * `restore` wants it unserved. Ends with 4 when a store, or a backup, contradicts itself.
 */
export const storeCommand = command<StoreOptions>({
  name: "store",
  args: ["<action>", "[file]"],
  summary: "Back up, check, export or restore the data of a control plane",
  group: "Control plane",
  examples: [
    "slipway store backup slipway.mdb",
    "slipway store check -o json",
    "slipway store export > objects.yaml",
    "slipway store restore slipway.mdb --data-dir ./restored",
  ],
  options: [
    { flags: "--data-dir <folder>", summary: "its data directory (default: $SLIPWAY_DATA_DIR or ~/.slipway)" },
    { flags: "--force", summary: "backup: replace an existing file" },
    { flags: "--encryption-key-file <file>", summary: "the key of a store whose Secrets are encrypted" },
    { flags: "-o, --output <format>", summary: "format: json, or yaml for export", choices: ["json", "yaml"] },
  ],
  completes: [verbs, "file"],
  async action(invocation) {
    const { args, options, environment } = invocation;
    const { actionWord } = await import("#kernel/command/index.ts");
    const verb = actionWord(verbs, args[0] ?? "");
    const path = await import("node:path");
    const directory = path.resolve(environment.directory, options.dataDir ?? defaultDataDirectory(environment));
    const file = fileOf(verb, args[1]);
    if (options.output === "yaml" && verb !== "export") throw new UsageError(`${verb} answers in words or in json`);
    const keyFile =
      options.encryptionKeyFile === undefined
        ? undefined
        : path.resolve(environment.directory, options.encryptionKeyFile);
    const place = file === undefined ? "" : path.resolve(environment.directory, file);
    switch (verb) {
      case "backup":
        return await backup(directory, place, invocation);
      case "check":
        return await check(directory, keyFile, invocation);
      case "export":
        return await exportObjects(directory, keyFile, invocation);
      case "restore":
        return await restore(place, directory, keyFile, invocation);
    }
  },
});

/** The file of the verbs that have one. */
function fileOf(verb: Verb, file: string | undefined): string | undefined {
  const wants = verb === "backup" || verb === "restore";
  if (wants && file === undefined)
    throw new UsageError(`${verb} needs the file of the backup: slipway store ${verb} FILE`);
  if (!wants && file !== undefined) throw new UsageError(`${verb} takes no file, found "${file}"`);
  return file;
}

/** Indented, with an end of line, as everywhere. */
const printJson = (value: unknown, out: Output): void => out.write(`${JSON.stringify(value, null, 2)}\n`);

/**
 * A file that is there is kept unless told otherwise: it may be the only good copy. In the store's own folder a copy
 * would be taken for part of it.
 */
async function backup(directory: string, file: string, { options, environment }: Invocation<StoreOptions>) {
  const { existsSync } = await import("node:fs");
  if (file.startsWith(`${directory}/store/`))
    throw new UsageError("a backup inside of the store would be lost with it");
  if (existsSync(file) && options.force !== true)
    throw new UsageError(`${file} is there already`, "--force replaces it");
  const server = await import("#app/server/index.ts");
  const made = await server.backup(directory, file);
  if (options.output === "json") printJson(made, environment.out);
  else environment.out.write(`${made.file}: ${made.bytes} bytes\n`);
  return exitCode.succeeded;
}

/** Findings are the data; they end with 4, as `up` would. */
async function check(
  directory: string,
  keyFile: string | undefined,
  { options, environment }: Invocation<StoreOptions>,
): Promise<number> {
  const server = await import("#app/server/index.ts");
  const report = await server.check(directory, keyFile);
  const { findings, objects, records, revision, isCopy } = report;
  const code = findings.length === 0 ? exitCode.succeeded : exitCode.corrupt;
  if (options.output === "json") printJson({ directory, ...report }, environment.out);
  else {
    for (const finding of findings) environment.out.write(`${finding}\n`);
    const what = `${objects} objects, ${records} records of changes, revision ${revision}`;
    const how = isCopy ? " (a copy, because a server uses the store)" : "";
    environment.err.write(`${directory}: ${findings.length === 0 ? "sound" : "not sound"}: ${what}${how}\n`);
    if (code !== exitCode.succeeded) environment.err.write("put back a backup with: slipway store restore FILE\n");
  }
  return code;
}

/** One document per object, or one List: what `kubectl` takes as well. */
async function exportObjects(
  directory: string,
  keyFile: string | undefined,
  { options, environment: { out } }: Invocation<StoreOptions>,
) {
  const server = await import("#app/server/index.ts");
  const objects = await server.exportAll(directory, keyFile);
  if (options.output === "json") printJson({ apiVersion: "v1", kind: "List", metadata: {}, items: objects }, out);
  else out.write(await documentsOf(objects));
  return exitCode.succeeded;
}

/** One YAML document per object, so that the text can be cut at the lines `---`. */
async function documentsOf(objects: readonly JsonObject[]): Promise<string> {
  const { writeYaml } = await import("#lib/yaml/index.ts");
  return objects.map((object) => writeYaml(object)).join("---\n");
}

/** Asks nothing: what was there is kept, and its place is told. */
async function restore(
  file: string,
  directory: string,
  keyFile: string | undefined,
  { options, environment }: Invocation<StoreOptions>,
) {
  const server = await import("#app/server/index.ts");
  const { replaced } = await server.restore(file, directory, keyFile);
  if (options.output === "json") printJson({ directory, replaced: replaced ?? null }, environment.out);
  else {
    const kept = replaced === undefined ? "" : `; what was there is now ${replaced}`;
    environment.out.write(`${directory} holds the objects of ${file}${kept}\n`);
  }
  return exitCode.succeeded;
}
