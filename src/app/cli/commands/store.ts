import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  actionWord,
  command,
  dataDirectoryOf,
  exitCode,
  type Invocation,
  type Output,
  UsageError,
} from "#kernel/command/index.ts";

interface StoreOptions {
  readonly dataDir?: string;
  /** For `backup`; `restore` never replaces files. */
  readonly force?: boolean;
  /** For verbs that read encrypted Secrets. */
  readonly encryptionKeyFile?: string;
  readonly output?: "json" | "yaml";
}

const verbs = ["backup", "check", "export", "restore"] as const;
type Verb = (typeof verbs)[number];

/**
 * Works on the files of a data directory, whether or not a server uses it; only `restore` requires that none does.
 * Exits with 4 for a corrupt store or backup.
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
    const verb = actionWord(verbs, args[0] ?? "");
    const directory = dataDirectoryOf(environment, options.dataDir);
    const file = fileOf(verb, args[1]);
    if (options.output === "yaml" && verb !== "export") throw new UsageError(`${verb} prints text or json`);
    const { encryptionKeyFile } = options;
    const keyFile = encryptionKeyFile && resolve(environment.directory, encryptionKeyFile);
    const place = resolve(environment.directory, file ?? "");
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

function fileOf(verb: Verb, file: string | undefined): string | undefined {
  const wants = verb === "backup" || verb === "restore";
  if (wants && file === undefined) throw new UsageError(`${verb} requires a backup file: slipway store ${verb} FILE`);
  if (!wants && file !== undefined) throw new UsageError(`${verb} takes no file, found "${file}"`);
  return file;
}

const printJson = (value: unknown, out: Output): void => out.write(`${JSON.stringify(value, null, 2)}\n`);

/** An existing file is kept without --force: it may be the only good copy. */
async function backup(directory: string, file: string, { options, environment }: Invocation<StoreOptions>) {
  if (file.startsWith(`${directory}/store/`)) throw new UsageError("the backup must be outside the store's directory");
  if (existsSync(file) && options.force !== true) throw new UsageError(`${file} already exists`, "--force replaces it");
  const server = await import("#app/server/index.ts");
  const made = await server.backup(directory, file);
  if (options.output === "json") printJson(made, environment.out);
  else environment.out.write(`${made.file}: ${made.bytes} bytes\n`);
  return exitCode.succeeded;
}

/** Prints findings on stdout; they exit with 4, as for `up`. */
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
    const how = isCopy ? " (checked a copy, because a server uses the store)" : "";
    environment.err.write(`${directory}: ${findings.length === 0 ? "sound" : "not sound"}: ${what}${how}\n`);
    if (code !== exitCode.succeeded) environment.err.write("restore a backup with: slipway store restore FILE\n");
  }
  return code;
}

/** Prints one YAML document for each object, or one JSON List. */
async function exportObjects(
  directory: string,
  keyFile: string | undefined,
  { options, environment: { out } }: Invocation<StoreOptions>,
) {
  const server = await import("#app/server/index.ts");
  const objects = await server.exportAll(directory, keyFile);
  if (options.output === "json") printJson({ apiVersion: "v1", kind: "List", metadata: {}, items: objects }, out);
  else {
    const { writeYaml } = await import("#lib/yaml/index.ts");
    out.write(objects.map((object) => writeYaml(object)).join("---\n"));
  }
  return exitCode.succeeded;
}

/** Keeps the replaced store and prints its place. */
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
    const kept = replaced === undefined ? "" : `; the previous store is now ${replaced}`;
    environment.out.write(`${directory} holds the objects of ${file}${kept}\n`);
  }
  return exitCode.succeeded;
}
